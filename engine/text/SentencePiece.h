// Opens SentencePiece models (Llama 2's tokenizer.model), with libsentencepiece if this npar was built with it.
#pragma once

#include "engine/text/AddedTokens.h"
#include "engine/text/Tokenizer.h"

namespace npar::engine {

/// `added`: tokens added by the tokenizer.json in the same folder, which must be pieces of the model. Without libsentencepiece, refuses and
/// names the package to install.
Result<std::shared_ptr<const Tokenizer>> openSentencePiece(const std::string &path, const std::vector<AddedToken> &added = {});

} // namespace npar::engine
