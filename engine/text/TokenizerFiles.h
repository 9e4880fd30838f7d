// Lists the files from which a tokenizer is read.
#pragma once

#include <string>
#include <vector>

namespace npar::engine {

/// The existing files that openTokenizer may read for this path: outputs must not overwrite them.
std::vector<std::string> tokenizerFiles(const std::string &path);

} // namespace npar::engine
