// What an engine needs from a device: memory, copies, reductions, kernels and matrix products. Clone null/ to add one.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

/// All calls are thread-safe once `load` has returned, and none of them allocates memory for tensors.
class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// False when no arithmetic happens and pointers must not be followed (null): time is then the plan's.
  virtual bool computes() const = 0;

  /// Takes over kernels and matrix products of a verified program; refuses what this device cannot run, or what would need more
  /// scratch memory than planned. Called once, before anything runs.
  virtual Status load(const program::Program &program) = 0;

  /// `bytes` of zeroed memory aligned to 64, or an error with the number. Freed by `release`.
  virtual Result<uint8_t *> allocate(uint64_t bytes) = 0;
  virtual void release(uint8_t *memory, uint64_t bytes) = 0;

  virtual void zero(void *target, uint64_t bytes) = 0;
  /// The ranges may be the same, not otherwise overlap.
  virtual void copy(void *target, const void *source, uint64_t bytes) = 0;
  /// targets[i][j] = sources[0][j] op sources[1][j] op ... in this order for every i (N5). A target may be one of the sources.
  virtual void reduce(program::ElementType type, program::ReduceOp op, const void *const *sources, size_t sourceCount, void *const *targets,
                      size_t targetCount, uint64_t count) = 0;

  /// Runs a whole kernel; `bytes` moved by it tell whether splitting it over workers pays.
  virtual Status runKernel(uint32_t kernel, void *const *buffers, const int64_t *context, uint64_t bytes) = 0;
  /// C (+)= A B for every index of the batch list. `scratch` has the planned size.
  virtual Status runMatmul(uint32_t matmul, const void *a, const void *b, void *c, void *scratch) = 0;
};

/// How a backend may spread one step over the workers.
struct Spread {
  int threads = 1;
  bool splitSteps = false; ///< pays only where there are few ranks per worker
};

/// "cpu" or "null"; anything else is refused with the list.
Result<std::unique_ptr<Backend>> createBackend(const std::string &name, const Spread &spread);

} // namespace npar::engine
