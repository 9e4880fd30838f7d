// BERT's model: the longest token that a word begins with, then the longest one that continues it, and so on.
#pragma once

#include "engine/text/WordModel.h"

namespace npar::engine {

struct WordPieceSettings {
  std::string unknown = "[UNK]"; ///< for a word that has no such tokens
  std::string prefix = "##";     ///< spelling of tokens that continue a word
  int64_t longestWord = 100;     ///< in characters; longer ones are unknown
};
/// Refuses a vocabulary without the unknown token.
Result<ModelPointer> wordPieceModel(VocabularyPointer vocabulary, WordPieceSettings settings);

/// Words that are tokens, and nothing else.
Result<ModelPointer> wordLevelModel(VocabularyPointer vocabulary, const std::string &unknown);

} // namespace npar::engine
