// Loads kernels and returns them by name.
#include "engine/backends/cuda/program/KernelTexts.h"

#include "engine/backends/cuda/ptx/Ptx.h"

namespace npar::engine::cuda {

Result<KernelEntries> KernelTexts::load(CudaDevice &device, const std::string &what) {
  if (names.empty())
    return entries;
  Result<std::vector<Handle>> loaded = device.load(moduleText(texts), what, names);
  if (!loaded.ok())
    return loaded.status();
  for (size_t i = 0; i < names.size(); ++i)
    entries[names[i]] = (*loaded)[i];
  return entries;
}

} // namespace npar::engine::cuda
