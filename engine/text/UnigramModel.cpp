// The best path through the text, character by character (Viterbi), as SentencePiece's EncodeOptimized computes it.
#include "engine/text/UnigramModel.h"

#include "engine/text/PrefixTrie.h"
#include "engine/text/Utf8.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace npar::engine {
namespace {

constexpr double unknownPenalty = 10;
constexpr float mostSum = 100'000; ///< SentencePiece sets larger sums back, so that their last bits do not get lost

class UnigramModel : public WordModel, public std::enable_shared_from_this<UnigramModel> {
public:
  UnigramModel(VocabularyPointer given, UnigramSettings settings, size_t bytes)
      : vocabulary(std::move(given)), settings(std::move(settings)), trie(bytes), byteTokens(*vocabulary), isWhole(vocabulary->size()) {
    const auto &scores = this->settings.scores;
    double least = std::numeric_limits<double>::infinity();
    std::vector<bool> hidden(vocabulary->size());
    for (int32_t id : this->settings.unused)
      hidden[static_cast<size_t>(id)] = true;
    for (int32_t id : this->settings.whole)
      isWhole[static_cast<size_t>(id)] = true;
    for (size_t id = 0; id < vocabulary->size(); ++id)
      if (!hidden[id]) {
        trie.add(vocabulary->text(id), static_cast<int32_t>(id));
        if (!isWhole[id])
          least = std::min(least, scores[id]);
      }
    unknownScore = least - unknownPenalty;
    fallsBack = this->settings.byteFallback && byteTokens.complete();
  }
  std::unique_ptr<WordEncoder> encoder() const override;

  VocabularyPointer vocabulary;
  UnigramSettings settings;
  PrefixTrie trie;
  ByteTokens byteTokens;
  std::vector<bool> isWhole;
  double unknownScore = 0;
  bool fallsBack = false;
};

/// `Sum`: the type of the sums of scores.
template <typename Sum> class UnigramEncoder : public WordEncoder {
public:
  explicit UnigramEncoder(std::shared_ptr<const UnigramModel> given) : model(std::move(given)) {}

  Status encode(std::string_view word, std::vector<int32_t> &ids) override {
    TRY_STATUS(findPath(word));
    path.clear();
    for (size_t end = word.size(); end > 0; end = nodes[end].begin)
      path.push_back(end);
    for (size_t i = path.size(), begin = 0; i-- > 0; begin = path[i]) {
      bool unknown = nodes[path[i]].id == model->settings.unknown;
      while (fuses && unknown && i > 0 && nodes[path[i - 1]].id == model->settings.unknown)
        --i; // unknown characters next to each other are one piece
      append(word.substr(begin, path[i] - begin), nodes[path[i]].id, ids);
    }
    return {};
  }

private:
  struct Node {
    Sum score = 0;
    uint32_t begin = none; ///< of the token that ends here
    int32_t id = -1;
  };
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr bool fuses = true;

  /// Tokens that must be found have a score above all others, and the longest the most.
  Sum scoreOf(int32_t id, size_t length) const {
    if (model->isWhole[static_cast<size_t>(id)])
      return static_cast<Sum>(0.1 * static_cast<double>(length - 1));
    return static_cast<Sum>(model->settings.scores[static_cast<size_t>(id)]);
  }

  void offer(size_t begin, size_t end, int32_t id, Sum score) {
    farthest = std::max(farthest, end);
    Node &node = nodes[end];
    if (node.begin == none || score > node.score)
      node = {score, static_cast<uint32_t>(begin), id};
  }

  void setBack(size_t at) {
    const Sum by = nodes[at].score;
    for (size_t i = at; i <= farthest; ++i)
      if (i == at || nodes[i].begin != none)
        nodes[i].score -= by;
  }

  Status findPath(std::string_view word) {
    nodes.assign(word.size() + 1, Node());
    farthest = 0;
    for (size_t at = 0; at < word.size();) {
      size_t after = at;
      characterAt(word, after); // the text was checked
      if (std::is_same_v<Sum, float> && std::abs(nodes[at].score) > mostSum)
        setBack(at);
      const Sum score = nodes[at].score;
      bool single = false;
      uint32_t node = model->trie.root();
      for (size_t i = at; i < word.size() && (node = model->trie.next(node, static_cast<uint8_t>(word[i]))) != PrefixTrie::none; ++i)
        if (int32_t id = model->trie.value(node); id >= 0) {
          offer(at, i + 1, id, scoreOf(id, i + 1 - at) + score);
          single |= i + 1 == after;
        }
      if (!single) {
        if (model->settings.unknown < 0)
          return Status::badInput("a character has no token, and there is no 'unk_id', in the word");
        offer(at, after, model->settings.unknown, static_cast<Sum>(model->unknownScore) + score);
      }
      at = after;
    }
    return {};
  }

  void append(std::string_view piece, int32_t id, std::vector<int32_t> &ids) {
    if (id == model->settings.unknown && model->settings.sums == UnigramSettings::Sums::TokenizersPackage)
      if (int32_t whole = model->vocabulary->find(piece); whole >= 0) // the package looks its pieces up once more
        id = whole;
    if (id != model->settings.unknown || !model->fallsBack) {
      ids.push_back(id);
      return;
    }
    for (char byte : piece)
      ids.push_back(model->byteTokens.ids[static_cast<uint8_t>(byte)]);
  }

  std::shared_ptr<const UnigramModel> model;
  std::vector<Node> nodes;
  size_t farthest = 0; ///< node that a token ends at
  std::vector<size_t> path;
};

std::unique_ptr<WordEncoder> UnigramModel::encoder() const {
  if (settings.sums == UnigramSettings::Sums::TokenizersPackage)
    return std::make_unique<UnigramEncoder<double>>(shared_from_this());
  return std::make_unique<UnigramEncoder<float>>(shared_from_this());
}

} // namespace

Result<ModelPointer> unigramModel(VocabularyPointer vocabulary, UnigramSettings settings) {
  TRY(size_t bytes, trieBytes(*vocabulary));
  return ModelPointer(std::make_shared<UnigramModel>(std::move(vocabulary), std::move(settings), bytes));
}

} // namespace npar::engine
