// Files named by an index must be below its own folder, or be refused.
#include "tests/fuzz/FuzzTargets.h"

#include "engine/checkpoint/HuggingFaceStore.h"
#include "engine/files/InsideFolder.h"

#include <cstdlib>

namespace npar::fuzz {

void fuzzIndex(const uint8_t *bytes, size_t size) {
  auto index = engine::parseShardIndex(std::string(reinterpret_cast<const char *>(bytes), size));
  if (!index.ok()) {
    if (index.status().message().empty())
      std::abort();
    return;
  }
  for (const auto &[name, file] : *index) {
    auto path = files::pathInside("/nonexistent", file);
    bool leaves = file.find("..") == 0 || file.find("/..") != std::string::npos || file.empty() || file[0] == '/';
    if (path.ok() && (leaves || path->rfind("/nonexistent/", 0) != 0))
      std::abort();
  }
}

} // namespace npar::fuzz
