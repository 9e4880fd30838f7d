// A tokenizer's file in memory.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <string>

namespace npar::engine {

constexpr size_t mostTokens = size_t{1} << 22; ///< of a vocabulary, and merges of a tokenizer; the largest published one has 2^18

/// "cannot read tokenizer 'PATH': WHY".
Status tokenizerFailure(const std::string &path, const std::string &why);
/// Refuses what is no regular file, and one of more than 256 MiB.
Result<std::string> readTokenizerFile(const std::string &path);

} // namespace npar::engine
