// A 2-D matrix product by oneDNN with given strides, made once per shape and run with the caller's scratch memory.
#pragma once

#include "engine/backends/cpu/MatmulWorkspace.h"
#include "engine/status/Status.h"

#include <memory>
#include <string>

namespace npar::engine {

/// Products of 16-bit floats are added in float32, with C's old value where they accumulate, and rounded once.
/// Thread-safe to run. One OpenMP thread per call: call `useOneOpenMpThread` on every worker first.
class Matmul {
public:
  /// Equal shapes share one primitive. An error when oneDNN has no implementation.
  static Result<std::shared_ptr<Matmul>> create(const MatmulShape &shape);
  virtual ~Matmul() = default;
  virtual uint64_t scratchBytes() const = 0;
  /// `scratch` has at least scratchBytes(), aligned to 64; may be null when that is 0.
  virtual Status run(const void *a, const void *b, void *c, void *scratch) const = 0;
};

/// oneDNN is threaded with OpenMP, whose thread count belongs to the calling thread.
void useOneOpenMpThread();

} // namespace npar::engine
