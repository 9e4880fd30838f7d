// The "decoder" of a tokenizer.json: what text the tokens become again.
#pragma once

#include "engine/json/Json.h"
#include "engine/text/TokenText.h"

namespace npar::engine {

/// Refuses other kinds, other orders and unknown fields by name. `bytes`: the model's words are bytes; null is then their plain decoding.
Result<Spelling> readDecoder(const Json &component, bool bytes);

} // namespace npar::engine
