// Words -> smallest tokens -> merged tokens.
#include "engine/text/BpeModel.h"

#include "engine/text/AddedTokens.h"
#include "engine/text/ByteCharacters.h"
#include "engine/text/Quoted.h"
#include "engine/text/SpaceMark.h"
#include "engine/text/Utf8.h"

#include <array>
#include <cstdio>

namespace npar::engine {
namespace {

class BpeModel : public WordModel, public std::enable_shared_from_this<BpeModel> {
public:
  BpeModel(VocabularyPointer given, BpeSettings settings)
      : vocabulary(std::move(given)), settings(std::move(settings)), merges(this->settings.merges.size()), byteTokens(*vocabulary),
        joined({}) {}
  Status prepare();
  std::unique_ptr<WordEncoder> encoder() const override;
  const CharacterSet *joinedToMark() const override { return cuttable ? &joined : nullptr; }

  /// Appends the smallest tokens of a word.
  Status smallest(std::string_view word, std::vector<int32_t> &found) const;
  const Vocabulary &tokens() const { return *vocabulary; }
  const MergeTable &table() const { return merges; }
  bool wholeWords() const { return settings.wholeWords; }
  Alphabet alphabet() const { return settings.alphabet; }

private:
  Status characters(std::string_view word, std::vector<int32_t> &found) const;
  int32_t characterToken(std::string_view character, bool first, bool last) const;
  Status prepareCharacters();

  VocabularyPointer vocabulary;
  BpeSettings settings;
  MergeTable merges;
  ByteTokens byteTokens;            ///< names of bytes, if the alphabet is Characters
  std::array<int32_t, 256> bytes{}; ///< tokens of single bytes, if it is Bytes
  std::array<int32_t, 128> ascii{}; ///< tokens of single characters
  TokenTrie whole;
  int32_t unknown = -1;
  bool cuttable = false;
  CharacterSet joined;
};

Status BpeModel::prepare() {
  for (const PairMerge &merge : settings.merges)
    if (!merges.add(merge.left, merge.right, merge.merge))
      return Status::badInput("the merge of " + inQuotes(vocabulary->text(static_cast<size_t>(merge.left))) + " and " +
                              inQuotes(vocabulary->text(static_cast<size_t>(merge.right))) + " is there twice");
  settings.merges = {};
  for (size_t byte = 0; byte < bytes.size(); ++byte)
    bytes[byte] = vocabulary->find(characterOfByte(static_cast<uint8_t>(byte)));
  return settings.alphabet == Alphabet::Characters ? prepareCharacters() : Status();
}

Status BpeModel::prepareCharacters() {
  for (size_t c = 0; c < ascii.size(); ++c)
    ascii[c] = vocabulary->find(std::string(1, static_cast<char>(c)));
  if (settings.byteFallback)
    for (size_t byte = 0; byte < 256; ++byte)
      if (byteTokens.ids[byte] < 0)
        return Status::badInput("its vocabulary lacks the byte token " + ByteTokens::nameOf(static_cast<uint8_t>(byte)));
  if (!settings.unknown.empty())
    unknown = vocabulary->find(settings.unknown);
  for (int32_t id : settings.whole)
    whole.add(vocabulary->text(static_cast<size_t>(id)), {id, false, false, false});
  cuttable = settings.byteFallback && !settings.wholeWords && settings.prefix.empty() && settings.suffix.empty();
  std::vector<CharacterSet::Range> before = {{spaceMarkCharacter, spaceMarkCharacter}};
  for (size_t id = 0; id < vocabulary->size() && cuttable; ++id) {
    const std::string &text = vocabulary->text(id);
    for (size_t at = text.find(spaceMark, 1); at != std::string::npos; at = text.find(spaceMark, at + 1)) {
      size_t begin = at;
      while (begin > 0 && (static_cast<uint8_t>(text[--begin]) & 0xc0) == 0x80)
        ;
      char32_t c = *characterAt(text, begin);
      before.emplace_back(c, c);
    }
  }
  joined = CharacterSet(std::move(before));
  return {};
}

int32_t BpeModel::characterToken(std::string_view character, bool first, bool last) const {
  const bool spelled = (!first && !settings.prefix.empty()) || (last && !settings.suffix.empty());
  if (!spelled)
    return character.size() == 1 ? ascii[static_cast<uint8_t>(character[0])] : vocabulary->find(character);
  return vocabulary->find((first ? "" : settings.prefix) + std::string(character) + (last ? settings.suffix : ""));
}

Status BpeModel::smallest(std::string_view word, std::vector<int32_t> &found) const {
  if (settings.alphabet == Alphabet::Characters)
    return characters(word, found);
  for (char c : word) {
    found.push_back(bytes[static_cast<uint8_t>(c)]);
    if (found.back() < 0) {
      char text[8];
      std::snprintf(text, sizeof(text), "0x%02x", static_cast<unsigned>(static_cast<uint8_t>(c)));
      return Status::badInput(std::string("the vocabulary has no token for the byte ") + text + ", in the word");
    }
  }
  return {};
}

Status BpeModel::characters(std::string_view word, std::vector<int32_t> &found) const {
  bool waiting = false; // an unknown token that further unknown characters may join
  for (size_t at = 0; at < word.size();) {
    Span span;
    if (const TokenTrie::Token *token = whole.empty() ? nullptr : whole.find(word, at, at + 1, span)) {
      found.push_back(token->id);
      at = span.end, waiting = false;
      continue;
    }
    size_t from = at;
    characterAt(word, at); // the text was checked
    std::string_view character = word.substr(from, at - from);
    int32_t id = characterToken(character, from == 0, at == word.size());
    if (id >= 0) {
      found.push_back(id);
      waiting = false;
    } else if (settings.byteFallback) {
      for (char byte : character)
        found.push_back(byteTokens.ids[static_cast<uint8_t>(byte)]);
    } else if (unknown < 0) {
      return Status::badInput("the vocabulary has no token for the character " + inQuotes(character) + ", in the word");
    } else if (!waiting || !settings.fuseUnknown) {
      found.push_back(unknown);
      waiting = true;
    }
  }
  return {};
}

class BpeWordEncoder : public WordEncoder {
public:
  explicit BpeWordEncoder(std::shared_ptr<const BpeModel> given) : model(std::move(given)), merger(model->table()) {}
  Status encode(std::string_view word, std::vector<int32_t> &ids) override {
    if (model->wholeWords())
      if (int32_t whole = model->tokens().find(spelled(word)); whole >= 0) {
        ids.push_back(whole);
        return {};
      }
    found.clear();
    TRY_STATUS(model->smallest(word, found));
    merger.merge(found);
    ids.insert(ids.end(), found.begin(), found.end());
    return {};
  }

private:
  /// The word as the vocabulary spells it.
  std::string_view spelled(std::string_view word) {
    if (model->alphabet() == Alphabet::Characters)
      return word;
    spelling.clear();
    for (char c : word)
      spelling += characterOfByte(static_cast<uint8_t>(c));
    return spelling;
  }
  std::shared_ptr<const BpeModel> model;
  WordMerger merger;
  std::vector<int32_t> found;
  std::string spelling;
};

std::unique_ptr<WordEncoder> BpeModel::encoder() const { return std::make_unique<BpeWordEncoder>(shared_from_this()); }

} // namespace

Result<ModelPointer> bpeModel(VocabularyPointer vocabulary, BpeSettings settings) {
  auto model = std::make_shared<BpeModel>(std::move(vocabulary), std::move(settings));
  TRY_STATUS(model->prepare());
  return ModelPointer(std::move(model));
}

Result<std::vector<PairMerge>> listedMerges(const Vocabulary &vocabulary, const std::vector<std::pair<std::string, std::string>> &merges,
                                            const std::string &prefix) {
  std::vector<PairMerge> made;
  for (const auto &[left, right] : merges) {
    std::string number = std::to_string(made.size());
    if (right.compare(0, prefix.size(), prefix) != 0)
      return Status::badInput("merge " + number + " (from 0) has the right token " + inQuotes(right) + ", which does not begin with " +
                              inQuotes(prefix));
    const std::string whole = left + right.substr(prefix.size());
    int32_t found[3];
    const std::string *names[3] = {&left, &right, &whole};
    for (int i = 0; i < 3; ++i)
      if ((found[i] = vocabulary.find(*names[i])) < 0)
        return Status::badInput("merge " + number + " (from 0) needs the token " + inQuotes(*names[i]) + ", which the vocabulary lacks");
    made.push_back({found[0], found[1], {static_cast<int32_t>(made.size()), found[2]}});
  }
  return made;
}

Result<std::vector<PairMerge>> mergesInto(const Vocabulary &vocabulary, const std::vector<std::pair<int32_t, int32_t>> &resultsAndRanks) {
  constexpr uint64_t mostWork = uint64_t{1} << 30; // bytes of all halves
  uint64_t work = 0;
  std::vector<PairMerge> made;
  for (auto [token, rank] : resultsAndRanks) {
    std::string_view text = vocabulary.text(static_cast<size_t>(token));
    work += text.size() * text.size();
    if (work > mostWork)
      return Status::badInput("its tokens are too long, up to " + inQuotes(text) + ": npar would look up too many pairs");
    for (size_t at = 1; at < text.size(); ++at) {
      if ((static_cast<uint8_t>(text[at]) & 0xc0) == 0x80)
        continue; // within a character
      int32_t left = vocabulary.find(text.substr(0, at)), right = left < 0 ? -1 : vocabulary.find(text.substr(at));
      if (right >= 0)
        made.push_back({left, right, {rank, token}});
    }
  }
  return made;
}

} // namespace npar::engine
