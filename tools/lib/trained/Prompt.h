// The text that a model continues, as tokens.
#pragma once

#include "engine/text/Tokenizer.h"
#include "tools/lib/trained/NamedModel.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npar::trained {

/// Source of a prompt: exactly one of text, file and tokens is set.
struct PromptSource {
  std::optional<std::string> text;
  std::string file, tokens; ///< tokens: "1,2,3"
  std::string tokenizer;    ///< a folder or file, or "bytes"; empty: the files next to the weights
};

/// The prompt as tokens, and the tokenizer, null if unknown.
struct Prompt {
  std::shared_ptr<const engine::Tokenizer> tokenizer;
  std::vector<int32_t> tokens;
};

/// Reads the prompt of a model with `classes` classes. Usage or BadInput if it is not one or more of them.
engine::Result<Prompt> readPrompt(const PromptSource &source, const NamedModel &named, int64_t classes, engine::Observer &observer);

/// The number of classes of the logits that the loss compares with targets; 0 if the loss has no logits.
int64_t classesOf(const dsl::Model &model);

/// Settings for one sample per data-parallel rank. On one rank the sequence is only as long as needed, if the model has a constant for its
/// length; other plans may need a length that they can split.
models::SettingsList settingsFor(const dsl::Program &program, int64_t needed);

} // namespace npar::trained
