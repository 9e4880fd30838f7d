// Byte-pair encoding of words: of bytes, as GPT-2 and Llama 3 use it, or of characters, as Llama 2 does.
#pragma once

#include "engine/text/Merges.h"
#include "engine/text/WordModel.h"

#include <optional>

namespace npar::engine {

/// The smallest tokens of a word, and their spelling in the vocabulary.
enum class Alphabet {
  Bytes,     ///< in byte characters (ByteCharacters.h); words come as bytes
  Characters ///< as they are
};

/// A pair of tokens that becomes one; the lowest rank goes first.
struct PairMerge {
  int32_t left, right;
  MergeTable::Merge merge;
};

struct BpeSettings {
  Alphabet alphabet = Alphabet::Bytes;
  std::vector<PairMerge> merges;
  bool byteFallback = false;  ///< characters without a token are made of byte tokens
  bool fuseUnknown = false;   ///< unknown characters next to each other are one token
  bool wholeWords = false;    ///< a word that is a token becomes that token, whatever its merges (`ignore_merges`)
  std::string unknown;        ///< the token of unknown characters; if the vocabulary lacks it, they are refused
  std::string prefix, suffix; ///< spelling of characters that do not begin, or that end a word
  std::vector<int32_t> whole; ///< tokens that are found in a text first, the longest first, and take part in no merge
};

/// Refuses duplicate merges, and a byte fallback without all byte tokens.
Result<ModelPointer> bpeModel(VocabularyPointer vocabulary, BpeSettings settings);

/// Merges as files list them, in order of priority. `prefix`: what the right token loses. Refuses tokens that are not in the vocabulary,
/// and duplicates.
Result<std::vector<PairMerge>> listedMerges(const Vocabulary &vocabulary, const std::vector<std::pair<std::string, std::string>> &merges,
                                            const std::string &prefix);
/// All pairs of tokens that together are one of `results`, whose ranks are given.
Result<std::vector<PairMerge>> mergesInto(const Vocabulary &vocabulary, const std::vector<std::pair<int32_t, int32_t>> &resultsAndRanks);

} // namespace npar::engine
