// The small files of a Hugging Face folder that checkpoints keep and exports carry: the configuration and the tokenizer.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace npar::training {

/// The name of the file that describes the model of such a folder.
constexpr const char *configName = "config.json";

struct FolderFiles {
  std::vector<std::pair<std::string, std::string>> files; ///< name and content
  std::vector<std::string> problems;                      ///< files that are there and were not read, each a sentence with the reason
};

/// Reads config.json and the tokenizer's files of a folder, which may be a checkpoint; none if it is not a folder. A file must fit a
/// checkpoint (ManifestFile::largestText).
FolderFiles filesOfFolder(const std::string &folder);

} // namespace npar::training
