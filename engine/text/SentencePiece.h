// SentencePiece models (Llama 2's tokenizer.model), over libsentencepiece where this npar was built with it.
#pragma once

#include "engine/text/AddedTokens.h"
#include "engine/text/Tokenizer.h"

namespace npar::engine {

/// `added`: tokens that a tokenizer.json beside it adds, which must be pieces of the model. Refuses, without libsentencepiece, with what to
/// install.
Result<std::shared_ptr<const Tokenizer>> openSentencePiece(const std::string &path, const std::vector<AddedToken> &added = {});

} // namespace npar::engine
