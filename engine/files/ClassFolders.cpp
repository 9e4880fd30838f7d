#include "engine/files/ClassFolders.h"

#include "engine/files/Folders.h"

#include <algorithm>

namespace npar::files {

bool isClassFolder(const std::string &folder, const std::string &name) { return name[0] != '.' && isFolder(folder + "/" + name); }

engine::Result<std::vector<std::string>> classesIn(const std::string &folder) {
  TRY(std::vector<std::string> names, namesIn(folder));
  names.erase(std::remove_if(names.begin(), names.end(), [&](const std::string &name) { return !isClassFolder(folder, name); }),
              names.end());
  return names;
}

} // namespace npar::files
