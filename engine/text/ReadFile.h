// Reads a tokenizer's file into memory.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <string>

namespace npar::engine {

constexpr size_t mostTokens = size_t{1} << 22; ///< limit for a vocabulary, and for merges; the largest published one has 2^18

/// "cannot read tokenizer 'PATH': WHY".
Status tokenizerFailure(const std::string &path, const std::string &why);
/// Reads a regular file of at most 256 MiB; refuses anything else.
Result<std::string> readTokenizerFile(const std::string &path);

} // namespace npar::engine
