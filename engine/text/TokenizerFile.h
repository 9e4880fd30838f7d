// A `tokenizer.json`, as Python's `tokenizers` writes it, read into the parts of a byte-level tokenizer.
#pragma once

#include "engine/text/BpeTokenizer.h"
#include "engine/text/JsonFile.h"

namespace npar::engine {

/// Refuses by name every kind of model, normalizer, pre-tokenizer, post-processor and decoder, and every setting, that would make other ids
/// than what npar computes. `json` loses its vocabulary and merges.
Result<BpeParts> partsOfTokenizerJson(TokenizerJson &json);

/// The tokens that a tokenizer.json adds to its model's.
Result<std::vector<AddedToken>> addedTokensOf(const Json &file);

/// An added token: of the list in tokenizer.json, or of `added_tokens_decoder` in tokenizer_config.json.
Result<AddedToken> addedTokenOf(const Json &entry, int64_t id);

/// GPT-2's own pattern: English contractions, letters, numbers, other characters, each with a space before it, and white space.
extern const char *const gpt2Pattern;

} // namespace npar::engine
