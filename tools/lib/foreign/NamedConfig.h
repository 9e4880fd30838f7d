// Finds the configuration of the standard library that a public name of a model means: "openai-community/gpt2",
// "TinyLlama/TinyLlama-1.1B-Chat-v0.6".
#pragma once

#include "tools/lib/foreign/ImportConfig.h"

#include <optional>

namespace npar::foreign {

struct NamedConfig {
  ImportedConfig imported;
  std::string config; ///< its name in the text: "TinyLlama-1.1B"
};

/// Compares names without their owner, without regard to case, points and dashes. A name without an equal is tried again without the words
/// that say how the weights were trained ("Chat", "Instruct", "hf"), which leave the sizes as they are, and then without its version.
/// `head`: as in ImportOptions. Nothing for an unknown name.
engine::Result<std::optional<NamedConfig>> namedConfig(const std::string &name, const std::string &head);

/// The names to compare, in the order in which they are tried.
std::vector<std::string> comparableNames(const std::string &name);

} // namespace npar::foreign
