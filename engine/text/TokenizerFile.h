// A `tokenizer.json`, as Python's `tokenizers` writes it, read into the parts of a Pipeline.
#pragma once

#include "engine/text/JsonFile.h"
#include "engine/text/Pipeline.h"
#include "engine/text/Tokenizer.h"

namespace npar::engine {

/// Refuses by name every kind of model, normalizer, pre-tokenizer, post-processor and decoder, and every setting, that would make other ids
/// than what npar computes. `json` loses its vocabulary and merges.
Result<PipelineParts> partsOfTokenizerJson(TokenizerJson &json, StatedLength length = StatedLength::Refused);

/// An added token: of the list in tokenizer.json, or of `added_tokens_decoder` in tokenizer_config.json.
Result<AddedToken> addedTokenOf(const Json &entry, int64_t id);

} // namespace npar::engine
