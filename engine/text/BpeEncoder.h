// Encodes one text with byte-level BPE.
#pragma once

#include "engine/text/BpeTokenizer.h"

namespace npar::engine {

/// Keeps the undecided end of the text (the last word, an added token that may have begun), and the ids of words seen before.
class BpeEncoder : public TextEncoder {
public:
  BpeEncoder(const BpeTokenizer &tokenizer, bool additions);
  Status push(std::string_view part, std::vector<int32_t> &ids) override;
  Status finish(std::vector<int32_t> &ids) override;

private:
  struct Known {
    std::string word;
    std::vector<int32_t> ids;
  };
  Status advance(bool goesOn, std::vector<int32_t> &ids);
  Status segment(size_t begin, size_t end, bool goesOn, std::vector<int32_t> &ids, size_t &done);
  Status encodeWord(std::string_view word, std::vector<int32_t> &ids);
  Status failure(const std::string &what, size_t position) const;

  const BpeTokenizer &tokenizer;
  bool additions, begun = false; ///< a text begins with its additions
  WordCutter cutter;
  AddedTokenScan scan;
  WordMerger merger;
  std::string text;         ///< text that is not encoded yet
  size_t valid = 0;         ///< length of its part that is known to be UTF-8
  size_t enough = 0;        ///< bytes needed before it is scanned again
  uint64_t encoded = 0;     ///< bytes of the text before it
  bool inSegment = false;   ///< a word was given out since the text or the last added token began
  std::vector<Known> known; ///< by hash of the word
  std::vector<int32_t> merged;
};

} // namespace npar::engine
