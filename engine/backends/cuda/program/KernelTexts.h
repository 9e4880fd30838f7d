// The kernels that npar writes for a program, loaded as one module.
#pragma once

#include "engine/backends/cuda/driver/CudaDevice.h"
#include "engine/backends/cuda/ptx/Ptx.h"

#include <map>

namespace npar::engine::cuda {

/// Kernels by their names.
using KernelEntries = std::map<std::string, Handle>;

/// Collects kernels by their kinds. A kind has a name, which is the kernel's, and each kernel is written once.
class KernelTexts {
public:
  template <class Kind> void add(const Kind &kind, std::string (*textOf)(const Kind &kind)) {
    if (entries.try_emplace(kind.name(), nullptr).second) {
      names.push_back(kind.name());
      texts.push_back(textOf(kind));
    }
  }
  /// Loads the kernels, if there are any; `what` names them in an error.
  Result<KernelEntries> load(CudaDevice &device, const std::string &what) {
    if (names.empty())
      return entries;
    Result<std::vector<Handle>> loaded = device.load(moduleText(texts), what, names);
    if (!loaded.ok())
      return loaded.status();
    for (size_t i = 0; i < names.size(); ++i)
      entries[names[i]] = (*loaded)[i];
    return entries;
  }

private:
  std::vector<std::string> names, texts;
  KernelEntries entries;
};

} // namespace npar::engine::cuda
