// The same work on the processor and on a GPU, from the same bytes.
#pragma once

#include "engine/device/Backend.h"
#include "tests/engine/backends/gpu/RandomBuffer.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace npar::testing {

/// "f32", as kernels' texts have it.
const char *wordOf(program::ElementType type);

/// Elements that go to both backends, drawn; an eighth of floats are infinities, NaNs, denormals and the like where `special`. Integers are
/// below 100.
struct BothBuffer {
  BothBuffer(program::ElementType type, size_t count, uint64_t seed, bool special = false);
  engine::cuda::KernelBuffer described() const;

  program::ElementType type;
  std::vector<char> bytes;
};

/// "cpu" or "cuda", entered by this thread; `products` and `attention` of the latter: who computes them.
std::unique_ptr<engine::Backend> makeBackend(const char *name, const char *products = "own", const char *attention = "own");

/// Work of a backend on the addresses of all buffers.
using BackendWork = std::function<void(engine::Backend &, const std::vector<engine::DeviceAddress> &)>;
/// Copies buffers to the backend's devices in turn, runs the work and returns their contents.
std::vector<BothBuffer> after(engine::Backend &backend, std::vector<BothBuffer> all, const BackendWork &work);

/// Compares every bit, except that any two NaNs are equal.
void expectSameBits(std::vector<BothBuffer> &left, std::vector<BothBuffer> &right, const std::string &what);

} // namespace npar::testing
