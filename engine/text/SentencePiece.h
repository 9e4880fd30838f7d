// SentencePiece models: `tokenizer.model` of Llama 2, Mistral and Gemma, `spiece.model` of T5 and ALBERT, `sentencepiece.bpe.model` of
// XLM-RoBERTa.
#pragma once

#include "engine/text/Pipeline.h"
#include "engine/text/TokenizerConfig.h"

namespace npar::engine {

/// Encodes as the `sentencepiece` package, with the ids and the tokens around every text that the class in `config` asks for. Tokens that
/// the config adds to the model's are found in the text first; the model's own control tokens are plain text. Refuses other classes by
/// name.
Result<PipelineParts> partsOfSentencePiece(std::string_view bytes, const TokenizerConfig &config);

} // namespace npar::engine
