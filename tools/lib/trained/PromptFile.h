// A file with several prompts.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npar::trained {

/// A prompt as its line gives it.
struct PromptLine {
  std::string place;               ///< FILE:LINE
  std::optional<std::string> text; ///< nothing: `tokens` are given
  std::vector<int32_t> tokens;
};

/// Reads one prompt per line: text, or in a file whose name ends in .jsonl an object {"prompt": TEXT} or {"tokens": [1, 2, 3]}. Refuses an
/// empty file, empty lines and other objects with file, line and column.
engine::Result<std::vector<PromptLine>> readPromptFile(const std::string &path);

} // namespace npar::trained
