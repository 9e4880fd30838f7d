// The parameters of a kernel that are one structure of 64-bit words here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace npar::engine::cuda {

/// Copies the structure and has a pointer to each of its words, as cuLaunchKernel expects them.
template <class Parameters> class LaunchWords {
public:
  explicit LaunchWords(const Parameters &given) : parameters(given) {
    static_assert(sizeof(Parameters) % sizeof(uint64_t) == 0, "each parameter has 64 bits");
    auto *words = reinterpret_cast<uint64_t *>(&parameters);
    for (size_t i = 0; i < count; ++i)
      all[i] = words + i;
  }
  LaunchWords(const LaunchWords &) = delete;
  void **pointers() { return all; }

private:
  static constexpr size_t count = sizeof(Parameters) / sizeof(uint64_t);
  Parameters parameters;
  void *all[count];
};

} // namespace npar::engine::cuda
