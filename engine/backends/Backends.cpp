// The list of backends: one line each.
#include "engine/backends/Backends.h"

#include "engine/backends/cpu/CpuBackend.h"
#include "engine/backends/cuda/program/OpenGpus.h"
#include "engine/backends/null/NullBackend.h"

namespace npar::engine {

Result<std::unique_ptr<Backend>> createBackend(const std::string &name, const Spread &spread, const std::string &products,
                                               const std::string &attention) {
  if (name == "cpu")
    return std::unique_ptr<Backend>(new CpuBackend(spread));
  if (name == "null")
    return std::unique_ptr<Backend>(new NullBackend());
  if (name == "cuda")
    return cuda::openGpus(spread, products, attention);
  return Status::badInput("unknown backend '" + name + "': use cpu, cuda or null");
}

uint64_t bytesPerWorker(const std::string &name, const program::Program &program, const Spread &spread) {
  return name == "cpu" ? CpuBackend::bytesPerWorker(program, spread) : 0;
}

} // namespace npar::engine
