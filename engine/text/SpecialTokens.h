// The ids of added tokens, and the special tokens that transformers adds to those of a tokenizer's files.
#pragma once

#include "engine/text/Pipeline.h"
#include "engine/text/TokenizerConfig.h"

namespace npar::engine {

/// A token to add to those of a tokenizer.
struct Addition {
  AddedToken token;
  bool stated = false;  ///< a file states the id, which must be the one that the token gets
  bool replaces = true; ///< changes what a token of the same text is like
  bool ordered = true;  ///< false: npar does not know which one of such tokens comes first
};

/// Adds tokens in order. A token has its id in the vocabulary; the others are numbered on, as the tokenizers package does it. Refuses other
/// ids that are stated. `where`: the file, for messages.
Status addTokens(const std::vector<Addition> &additions, const std::string &where, PipelineParts &parts);

/// The special tokens of a class, by role; null without one.
using ClassTokens = std::array<const char *, TokenizerConfig::roles>;

/// Makes the tokens of a class those that no file names.
void completeSpecial(const ClassTokens &tokens, TokenizerConfig &config);

/// Adds what TokenizersBackend of the transformers package adds: the added tokens of the files, then the special ones.
Status addSpecialTokens(const TokenizerConfig &config, PipelineParts &parts);

} // namespace npar::engine
