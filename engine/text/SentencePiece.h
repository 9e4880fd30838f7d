// SentencePiece models (Llama 2's tokenizer.model), over libsentencepiece where this npar was built with it.
#pragma once

#include "engine/text/Tokenizer.h"

namespace npar::engine {

/// Refuses, without libsentencepiece, with what to install.
Result<std::shared_ptr<const Tokenizer>> openSentencePiece(const std::string &path);

} // namespace npar::engine
