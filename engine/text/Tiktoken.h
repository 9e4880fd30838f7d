// Llama 3's `tokenizer.model`: lines of a token's bytes in base64 and its rank.
#pragma once

#include "engine/text/Pipeline.h"
#include "engine/text/TokenizerConfig.h"

namespace npar::engine {

/// True if a file begins with such a line. SentencePiece models do not.
bool isTiktoken(std::string_view bytes);

/// Llama 3's tokenizer, with its pattern, its begin of text, and its special tokens after the ranks unless `config` lists others. Refuses
/// lines that are damaged and ranks that are not 0, 1, 2 and so on.
Result<PipelineParts> partsOfTiktoken(std::string_view bytes, const TokenizerConfig &config);

} // namespace npar::engine
