// A tokenizer's file in memory.
#pragma once

#include "engine/status/Status.h"

#include <string>

namespace npar::engine {

/// "cannot read tokenizer 'PATH': WHY".
Status tokenizerFailure(const std::string &path, const std::string &why);
/// Refuses what is no regular file, and one of more than 256 MiB.
Result<std::string> readTokenizerFile(const std::string &path);

} // namespace npar::engine
