// Lists the files from which a tokenizer is read.
#pragma once

#include <string>
#include <vector>

namespace npar::engine {

/// Names of the files that describe a tokenizer in a folder. `config.json`, which may name its class, is not among them.
const std::vector<std::string> &tokenizerFileNames();

/// The existing files that openTokenizer may read for this path: outputs must not overwrite them.
std::vector<std::string> tokenizerFiles(const std::string &path);

/// The name under which a folder must have one of `tokenizerFiles(path)`, so that the folder opens as the same tokenizer: tokenizer.json
/// for 'my.json', tokenizer.model for 'my.model'. Empty for a file of another tokenizer in the same folder.
std::string tokenizerFileName(const std::string &path, const std::string &file);

/// The folder with the tokenizer that belongs to a folder of weights: the folder itself, or `model` of a checkpoint. Empty without a
/// tokenizer.
std::string tokenizerFolder(const std::string &folder);

} // namespace npar::engine
