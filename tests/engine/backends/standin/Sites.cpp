// Names sites by the call and the caller's offset in its own file, which does not depend on where the file was loaded.
#include "tests/engine/backends/standin/Sites.h"

#include <cstdio>
#include <dlfcn.h>

namespace npar::standin {

bool Sites::leavesOut(const char *call, const void *returnAddress) {
  if (leftOut.empty() && !counts)
    return false;
  Dl_info file = {};
  char place[32] = "?";
  if (::dladdr(returnAddress, &file) != 0)
    std::snprintf(
        place, sizeof place, "%llx",
        static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(returnAddress) - reinterpret_cast<uintptr_t>(file.dli_fbase)));
  std::string site = std::string(call) + "@" + place;
  std::lock_guard<std::mutex> lock(mutex);
  ++calls[site];
  return site == leftOut;
}

} // namespace npar::standin
