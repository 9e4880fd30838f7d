// Looks the files up by their names.
#include "engine/training/FolderFiles.h"

#include "engine/checkpoint/Manifest.h"
#include "engine/files/AtomicFile.h"
#include "engine/text/TokenizerFiles.h"

#include <filesystem>

namespace npar::training {

namespace fs = std::filesystem;

FolderFiles filesOfFolder(const std::string &folder) {
  std::vector<std::string> names = {configName, "chat_template.jinja"}; // the second is for other programs only
  const std::vector<std::string> &ofTokenizer = engine::tokenizerFileNames();
  names.insert(names.end(), ofTokenizer.begin(), ofTokenizer.end());
  FolderFiles found;
  std::error_code unknown;
  for (const std::string &name : folder.empty() ? std::vector<std::string>() : names) {
    const std::string path = (fs::path(folder) / (engine::hasManifest(folder) ? "model" : "") / name).string();
    if (!fs::exists(path, unknown))
      continue;
    engine::Result<std::vector<uint8_t>> content = files::readFile(path, engine::ManifestFile::largestText);
    if (content.ok())
      found.files.emplace_back(name, std::string(content->begin(), content->end()));
    else
      found.problems.push_back(content.status().message());
  }
  return found;
}

} // namespace npar::training
