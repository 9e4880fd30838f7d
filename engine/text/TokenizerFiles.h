// Which files a tokenizer is read from.
#pragma once

#include <string>
#include <vector>

namespace npar::engine {

/// The files that openTokenizer may read for this path, of those that are there: whoever writes must not write to them.
std::vector<std::string> tokenizerFiles(const std::string &path);

} // namespace npar::engine
