// Text -> parts between added tokens -> words -> bytes -> merged tokens.
#include "engine/text/BpeEncoder.h"

#include "engine/text/Utf8.h"

#include <algorithm>
#include <functional>

namespace npar::engine {
namespace {

constexpr size_t leastPart = 1 << 16;           // bytes that are encoded together
constexpr size_t longestWord = size_t{1} << 30; // its symbols have 32-bit numbers
constexpr size_t knownWords = 1 << 15, longestKnown = 64;

std::string tooLong() { return "a word has more than " + std::to_string(longestWord) + " bytes"; }

} // namespace

BpeEncoder::BpeEncoder(const BpeTokenizer &tokenizer, bool additions)
    : tokenizer(tokenizer), additions(additions), cutter(tokenizer.words), scan(tokenizer.added), merger(tokenizer.merges),
      enough(leastPart), known(knownWords) {}

Status BpeEncoder::failure(const std::string &what, size_t position) const {
  return Status::badInput(what + " at byte " + std::to_string(encoded + position));
}

Status BpeEncoder::push(std::string_view part, std::vector<int32_t> &ids) {
  text += part;
  if (text.size() < enough)
    return {};
  Status status = advance(/*goesOn=*/true, ids);
  enough = std::max(leastPart, 2 * text.size()); // so that a long word is scanned only a few times
  return status;
}

Status BpeEncoder::finish(std::vector<int32_t> &ids) {
  if (Status status = advance(/*goesOn=*/false, ids); !status.ok())
    return status;
  if (additions)
    ids.insert(ids.end(), tokenizer.after.begin(), tokenizer.after.end());
  return {};
}

Status BpeEncoder::advance(bool goesOn, std::vector<int32_t> &ids) {
  if (!begun && additions)
    ids.insert(ids.end(), tokenizer.before.begin(), tokenizer.before.end());
  begun = true;
  Utf8Extent extent = utf8Extent(text, valid);
  if (extent.damaged || (!goesOn && extent.end < text.size()))
    return notUtf8(static_cast<uint8_t>(text[extent.end]), encoded + extent.end);
  valid = extent.end;

  std::string_view sure(text.data(), valid);
  size_t from = 0, decided = 0, done = 0;
  Span token;
  int32_t id;
  while (scan.next(sure, from, goesOn, token, id, decided)) {
    if (Status status = segment(from, token.begin, /*goesOn=*/false, ids, done); !status.ok())
      return status;
    ids.push_back(id);
    from = token.end, inSegment = false;
  }
  if (Status status = segment(from, std::max(from, decided), goesOn, ids, done); !status.ok())
    return status;
  from += done;
  if (text.size() - from > longestWord)
    return failure(tooLong(), from);
  text.erase(0, from);
  scan.shift(from);
  valid -= from, encoded += from;
  return {};
}

Status BpeEncoder::segment(size_t begin, size_t end, bool goesOn, std::vector<int32_t> &ids, size_t &done) {
  auto word = [&](std::string_view bytes) {
    inSegment = true;
    return encodeWord(bytes, ids);
  };
  WordCutter::Place place = inSegment              ? WordCutter::Place::Within
                            : encoded + begin == 0 ? WordCutter::Place::Text
                                                   : WordCutter::Place::Piece;
  Status status = cutter.cut(std::string_view(text.data() + begin, end - begin), place, goesOn, word, done);
  return status.ok() ? status : failure(status.message(), begin + done);
}

Status BpeEncoder::encodeWord(std::string_view word, std::vector<int32_t> &ids) {
  Known *entry = word.size() <= longestKnown ? &known[std::hash<std::string_view>()(word) % knownWords] : nullptr;
  if (entry && entry->word == word) {
    ids.insert(ids.end(), entry->ids.begin(), entry->ids.end());
    return {};
  }
  if (word.size() > longestWord)
    return Status::badInput(tooLong());
  merged.clear();
  if (!tokenizer.wholeWords.empty())
    if (auto whole = tokenizer.wholeWords.find(std::string(word)); whole != tokenizer.wholeWords.end())
      merged.push_back(whole->second);
  if (merged.empty()) {
    if (Status status = tokenizer.smallest(word, merged); !status.ok())
      return status;
    merger.merge(merged);
  }
  ids.insert(ids.end(), merged.begin(), merged.end());
  if (entry)
    entry->word = word, entry->ids = merged;
  return {};
}

} // namespace npar::engine
