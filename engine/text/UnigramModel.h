// SentencePiece's unigram model: the tokens whose scores have the largest sum.
#pragma once

#include "engine/text/WordModel.h"

namespace npar::engine {

struct UnigramSettings {
  /// Sums are rounded as in the package that the file is for.
  enum class Sums { TokenizersPackage, SentencePiece };
  Sums sums = Sums::TokenizersPackage;
  std::vector<double> scores;  ///< by id
  int32_t unknown = -1;        ///< id of the token of unknown characters; -1: they are refused
  bool byteFallback = false;   ///< unknown characters are made of byte tokens, if all of them exist
  std::vector<int32_t> unused; ///< tokens that are not found in texts
  std::vector<int32_t> whole;  ///< tokens that are preferred to all others
};
/// `scores` has an entry for each token.
Result<ModelPointer> unigramModel(VocabularyPointer vocabulary, UnigramSettings settings);

} // namespace npar::engine
