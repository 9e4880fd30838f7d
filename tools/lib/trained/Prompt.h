// The texts that a model continues, as tokens.
#pragma once

#include "engine/text/Tokenizer.h"
#include "tools/lib/trained/NamedModel.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npar::trained {

/// Source of the prompts: exactly one of text, file, tokens and list is set.
struct PromptSource {
  std::optional<std::string> text;
  std::string file, tokens; ///< tokens: "1,2,3"
  std::string list;         ///< a file with several prompts (PromptFile.h)
  std::string tokenizer;    ///< a folder or file, or "bytes"; empty: the files next to the weights
};

struct Prompt {
  std::string place; ///< FILE:LINE in a file with several; else empty
  std::vector<int32_t> tokens;
  /// "FILE:LINE:1: " in front of messages about a prompt of several; else nothing.
  std::string where() const { return place.empty() ? "" : place + ":1: "; }
};

/// The prompts as tokens, at least one, and the tokenizer, null if unknown.
struct Prompts {
  std::shared_ptr<const engine::Tokenizer> tokenizer;
  std::vector<Prompt> list;
  /// The one with the most tokens.
  const Prompt &longest() const;
};

/// Reads the prompts of a model with `classes` classes. Usage or BadInput if one of them has no token or another one.
engine::Result<Prompts> readPrompts(const PromptSource &source, const NamedModel &named, int64_t classes, engine::Observer &observer);

/// The number of classes of the logits that the loss compares with targets; 0 if the loss has no logits.
int64_t classesOf(const dsl::Model &model);

/// Settings for at least `samples` samples, as many on each data-parallel rank. On one rank the sequence is only as long as needed, if the
/// model has a constant for its length; other plans may need a length that they can split.
models::SettingsList settingsFor(const dsl::Program &program, int64_t samples, int64_t needed);

} // namespace npar::trained
