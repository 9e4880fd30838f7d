// Asks the dynamic loader which file holds a function.
#include "engine/files/CodeFile.h"

#include <dlfcn.h>
#include <link.h>

namespace npar::files {

std::string fileOfCode(const void *code) {
  Dl_info info;
  void *map = nullptr;
  bool found = ::dladdr1(code, &info, &map, RTLD_DL_LINKMAP) != 0 && map;
  std::string library = found ? static_cast<const link_map *>(map)->l_name : ""; // empty for the program
  return library.empty() ? "/proc/self/exe" : library;
}

std::filesystem::path prefixOfCode(const void *code) {
  std::error_code failed;
  std::filesystem::path file = std::filesystem::canonical(fileOfCode(code), failed);
  return failed ? std::filesystem::path() : file.parent_path().parent_path();
}

} // namespace npar::files
