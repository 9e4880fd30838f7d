// Two tries: of the tokens that begin words, and of those that continue them.
#include "engine/text/WordPieceModel.h"

#include "engine/text/PrefixTrie.h"
#include "engine/text/Quoted.h"

namespace npar::engine {
namespace {

class WordPieceModel : public WordModel, public std::enable_shared_from_this<WordPieceModel> {
public:
  WordPieceModel(const Vocabulary &vocabulary, const WordPieceSettings &settings, int32_t unknown, size_t bytes)
      : begins(bytes), continues(bytes), unknown(unknown), longest(static_cast<size_t>(settings.longestWord)) {
    for (size_t id = 0; id < vocabulary.size(); ++id) {
      std::string_view text = vocabulary.text(id);
      if (text.empty())
        continue;
      begins.add(text, static_cast<int32_t>(id));
      if (text.size() > settings.prefix.size() && text.substr(0, settings.prefix.size()) == settings.prefix)
        continues.add(text.substr(settings.prefix.size()), static_cast<int32_t>(id));
    }
  }
  std::unique_ptr<WordEncoder> encoder() const override;

  void encode(std::string_view word, std::vector<int32_t> &ids) const {
    const size_t before = ids.size();
    size_t at = 0;
    while (isShort(word) && at < word.size()) {
      const PrefixTrie &trie = at == 0 ? begins : continues;
      int32_t found = -1;
      size_t end = at;
      uint32_t node = trie.root();
      for (size_t i = at; i < word.size() && (node = trie.next(node, static_cast<uint8_t>(word[i]))) != PrefixTrie::none; ++i)
        if (trie.value(node) >= 0)
          found = trie.value(node), end = i + 1;
      if (found < 0)
        break;
      ids.push_back(found);
      at = end;
    }
    if (at == word.size())
      return;
    ids.resize(before);
    ids.push_back(unknown);
  }

private:
  bool isShort(std::string_view word) const {
    if (word.size() <= longest)
      return true;
    size_t characters = 0;
    for (char c : word)
      characters += (static_cast<uint8_t>(c) & 0xc0) != 0x80;
    return characters <= longest;
  }
  PrefixTrie begins, continues;
  int32_t unknown;
  size_t longest;
};

class WordPieceEncoder : public WordEncoder {
public:
  explicit WordPieceEncoder(std::shared_ptr<const WordPieceModel> model) : model(std::move(model)) {}
  Status encode(std::string_view word, std::vector<int32_t> &ids) override {
    model->encode(word, ids);
    return {};
  }

private:
  std::shared_ptr<const WordPieceModel> model;
};

std::unique_ptr<WordEncoder> WordPieceModel::encoder() const { return std::make_unique<WordPieceEncoder>(shared_from_this()); }

class WordLevelModel : public WordModel {
public:
  WordLevelModel(VocabularyPointer vocabulary, int32_t unknown) : vocabulary(std::move(vocabulary)), unknown(unknown) {}
  std::unique_ptr<WordEncoder> encoder() const override;

private:
  VocabularyPointer vocabulary;
  int32_t unknown;
};

class WordLevelEncoder : public WordEncoder {
public:
  WordLevelEncoder(VocabularyPointer vocabulary, int32_t unknown) : vocabulary(std::move(vocabulary)), unknown(unknown) {}
  Status encode(std::string_view word, std::vector<int32_t> &ids) override {
    int32_t id = vocabulary->find(word);
    ids.push_back(id < 0 ? unknown : id);
    return {};
  }

private:
  VocabularyPointer vocabulary;
  int32_t unknown;
};

std::unique_ptr<WordEncoder> WordLevelModel::encoder() const { return std::make_unique<WordLevelEncoder>(vocabulary, unknown); }

Result<int32_t> unknownIn(const Vocabulary &vocabulary, const std::string &token) {
  int32_t id = vocabulary.find(token);
  if (id < 0)
    return Status::badInput("its unknown token " + inQuotes(token) + " is not in the vocabulary");
  return id;
}

} // namespace

Result<ModelPointer> wordPieceModel(VocabularyPointer vocabulary, WordPieceSettings settings) {
  constexpr int64_t mostCharacters = 1000;
  if (settings.longestWord < 0 || settings.longestWord > mostCharacters)
    return Status::badInput("its 'max_input_chars_per_word' is " + std::to_string(settings.longestWord) + ": 0 to " +
                            std::to_string(mostCharacters) + " are possible");
  TRY(int32_t unknown, unknownIn(*vocabulary, settings.unknown));
  TRY(size_t bytes, trieBytes(*vocabulary));
  return ModelPointer(std::make_shared<WordPieceModel>(*vocabulary, settings, unknown, bytes));
}

Result<ModelPointer> wordLevelModel(VocabularyPointer vocabulary, const std::string &unknownToken) {
  TRY(int32_t unknown, unknownIn(*vocabulary, unknownToken));
  return ModelPointer(std::make_shared<WordLevelModel>(std::move(vocabulary), unknown));
}

} // namespace npar::engine
