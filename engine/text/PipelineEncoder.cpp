// The stages call each other through AddedTokenSink.
#include "engine/text/PipelineEncoder.h"

#include "engine/text/Utf8.h"

#include <algorithm>
#include <functional>

namespace npar::engine {
namespace {

constexpr size_t leastPart = 1 << 16;           // bytes that are encoded together
constexpr size_t longestWord = size_t{1} << 28; // a model has numbers of 32 bits and several of them for each byte
constexpr size_t fewWords = 1 << 8, knownWords = 1 << 16, longestKnown = 48; // short texts need no large table

} // namespace

/// The last stages: words of normalized text between added tokens.
class PipelineEncoder::Cutting : public AddedTokenSink {
public:
  explicit Cutting(const Pipeline &tokenizer)
      : cutter(tokenizer.parts.cuts), model(tokenizer.model->encoder()), known(fewWords), encodeWord([this](std::string_view word) {
          inPiece = true;
          return encode(word);
        }),
        textName(tokenizer.parts.normalizers.empty() ? "" : " of the normalized text") {}

  std::vector<int32_t> *ids = nullptr; ///< receives the ids

  Status between(std::string_view part, bool ends) override {
    bool direct = waiting.empty() && ends; // most parts need no copy
    if (!direct)
      waiting += part;
    std::string_view text = direct ? part : waiting;
    if (ends || text.size() >= enough) {
      size_t done = 0;
      WordCutter::Place place = inPiece ? WordCutter::Place::Within : atBegin ? WordCutter::Place::Text : WordCutter::Place::Piece;
      if (Status status = cutter.cut(text, place, !ends, encodeWord, done); !status.ok())
        return failure(status.message(), done);
      atBegin &= done == 0;
      passed += done;
      if (passed > leastPart && known.size() == fewWords)
        known.assign(knownWords, {});
      waiting.erase(0, std::min(done, waiting.size()));
      enough = std::max(leastPart, 2 * waiting.size());
      if (waiting.size() > longestWord)
        return failure(tooLong(), 0);
    }
    if (ends)
      waiting.clear(), enough = leastPart, inPiece = false;
    return {};
  }

  Status token(int32_t id, size_t bytes) override {
    ids->push_back(id);
    passed += bytes;
    atBegin = false;
    return {};
  }

private:
  /// The ids of a word, in a table of words that were seen before.
  struct Known {
    uint8_t length = 0, count = 0;
    char word[longestKnown] = {};
    int32_t ids[longestKnown / 4] = {};
  };

  static std::string tooLong() { return "a word has more than " + std::to_string(longestWord) + " bytes"; }
  Status failure(const std::string &what, size_t position) const {
    return Status::badInput(what + " at byte " + std::to_string(passed + position) + textName);
  }

  Status encode(std::string_view word) {
    if (word.size() > longestWord)
      return Status::badInput(tooLong());
    if (word.size() > longestKnown)
      return model->encode(word, *ids);
    Known &entry = known[std::hash<std::string_view>()(word) & (known.size() - 1)];
    if (std::string_view(entry.word, entry.length) == word) {
      ids->insert(ids->end(), entry.ids, entry.ids + entry.count);
      return {};
    }
    size_t before = ids->size();
    TRY_STATUS(model->encode(word, *ids));
    size_t count = ids->size() - before;
    if (count <= std::size(entry.ids)) {
      entry.length = static_cast<uint8_t>(word.copy(entry.word, word.size())), entry.count = static_cast<uint8_t>(count);
      std::copy(ids->end() - static_cast<ptrdiff_t>(count), ids->end(), entry.ids);
    }
    return {};
  }

  WordCutter cutter;
  std::unique_ptr<WordEncoder> model;
  std::vector<Known> known;
  WordCutter::Word encodeWord;
  std::string waiting;
  size_t enough = leastPart;
  const char *textName; ///< in messages
  uint64_t passed = 0;  ///< bytes of the text before `waiting`
  bool atBegin = true;  ///< no token and no text was found before
  bool inPiece = false; ///< words of the present piece were passed on
};

/// The middle stages: normalizes the text between added tokens of the first kind, and finds those of the second kind.
class PipelineEncoder::Normalizing : public AddedTokenSink {
public:
  Normalizing(const Pipeline &tokenizer, Cutting &next) : chain(tokenizer.parts.normalizers), scan(tokenizer.second), next(next) {}

  Status between(std::string_view part, bool ends) override {
    if (chain.empty())
      return scan.push(part, ends, next);
    made.clear();
    TRY_STATUS(chain.push(part, ends, made));
    return scan.push(made, ends, next);
  }
  Status token(int32_t id, size_t bytes) override { return next.token(id, bytes); }

private:
  NormalizerChain chain;
  AddedTokenScan scan;
  Cutting &next;
  std::string made;
};

PipelineEncoder::PipelineEncoder(std::shared_ptr<const Pipeline> given, bool additions)
    : tokenizer(std::move(given)), additions(additions), scan(tokenizer->first), cutting(std::make_unique<Cutting>(*tokenizer)),
      normalizing(std::make_unique<Normalizing>(*tokenizer, *cutting)) {}

PipelineEncoder::~PipelineEncoder() = default;

Status PipelineEncoder::push(std::string_view part, std::vector<int32_t> &ids) {
  text += part;
  return text.size() < leastPart ? Status() : advance(/*goesOn=*/true, ids);
}

Status PipelineEncoder::finish(std::vector<int32_t> &ids) {
  TRY_STATUS(advance(/*goesOn=*/false, ids));
  if (additions)
    ids.insert(ids.end(), tokenizer->after.begin(), tokenizer->after.end());
  return {};
}

Status PipelineEncoder::advance(bool goesOn, std::vector<int32_t> &ids) {
  if (!begun && additions)
    ids.insert(ids.end(), tokenizer->before.begin(), tokenizer->before.end());
  begun = true;
  Utf8Extent extent = utf8Extent(text);
  if (extent.damaged || (!goesOn && extent.end < text.size()))
    return notUtf8(static_cast<uint8_t>(text[extent.end]), encoded + extent.end);
  cutting->ids = &ids;
  TRY_STATUS(scan.push(std::string_view(text).substr(0, extent.end), !goesOn, *normalizing));
  text.erase(0, extent.end);
  encoded += extent.end;
  return {};
}

} // namespace npar::engine
