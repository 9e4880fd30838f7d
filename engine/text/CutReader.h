// The "pre_tokenizer" of a tokenizer.json.
#pragma once

#include "engine/json/Json.h"
#include "engine/text/WordCutter.h"

namespace npar::engine {

struct Cuts {
  std::vector<CutRule> rules;
  bool bytes = false; ///< the last one is ByteLevel: words are bytes, whose tokens are spelled in byte characters
};
/// Refuses other kinds and unknown fields by name. Null is no pre-tokenizer.
Result<Cuts> readCuts(const Json &component);

/// GPT-2's own pattern: English contractions, letters, numbers, other characters, each with a space before it, and white space.
extern const char *const gpt2Pattern;

} // namespace npar::engine
