// Looks the files up by their names.
#include "engine/training/FolderFiles.h"

#include "engine/checkpoint/Manifest.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/InsideFolder.h"
#include "engine/text/TokenizerFiles.h"

#include <unistd.h>

namespace npar::training {

FolderFiles filesOfFolder(const std::string &folder) {
  std::vector<std::string> names = {configName, "chat_template.jinja"}; // the second is for other programs only
  const std::vector<std::string> &ofTokenizer = engine::tokenizerFileNames();
  names.insert(names.end(), ofTokenizer.begin(), ofTokenizer.end());
  FolderFiles found;
  if (folder.empty())
    return found;
  const std::string inside = engine::hasManifest(folder) ? files::joined(folder, "model") : folder;
  for (const std::string &name : names) {
    const std::string path = files::joined(inside, name);
    if (::access(path.c_str(), F_OK) != 0)
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
