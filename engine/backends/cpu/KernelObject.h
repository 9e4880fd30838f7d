// Loads the native code that travels inside a compiled program, from memory.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <memory>
#include <string>

namespace npar::engine {

/// The kernel ABI: operands in order then results; context = {data step, micro index, seed, coordinate of mesh axis 0, ...};
/// [begin, end) of the kernel's extent; every partition of the extent gives the same bits.
using KernelFunction = void (*)(void *const *buffers, const int64_t *context, int64_t begin, int64_t end);

/// A shared object that stays loaded as long as this lives. Equal bytes are loaded once per process.
class KernelObject {
public:
  static Result<std::shared_ptr<KernelObject>> load(const uint8_t *bytes, size_t size);
  KernelObject(const KernelObject &) = delete;
  ~KernelObject();
  /// The function of this name; null when the object has none.
  KernelFunction find(const std::string &symbol) const;

private:
  KernelObject(void *handle, int file) : handle(handle), file(file) {}
  void *handle;
  int file; ///< kept open: the loader knows objects by path, and a number used again would name the old object
};

} // namespace npar::engine
