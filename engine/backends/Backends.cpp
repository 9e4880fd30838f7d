// The list of backends: one line each.
#include "engine/backends/Backends.h"

#include "engine/backends/cpu/CpuBackend.h"
#include "engine/backends/cuda/program/OpenGpus.h"
#include "engine/backends/null/NullBackend.h"

namespace npar::engine {

Result<std::unique_ptr<Backend>> createBackend(const std::string &name, const Spread &spread, const std::string &products,
                                               const std::string &attention, program::ProductOrder order) {
  if (name == "cpu")
    return std::unique_ptr<Backend>(new CpuBackend(spread, order));
  if (name == "null")
    return std::unique_ptr<Backend>(new NullBackend());
  if (name == "cuda")
    return cuda::openGpus(spread, products, attention);
  return Status::badInput("unknown backend '" + name + "': use cpu, cuda or null");
}

Result<program::ProductOrder> productOrder(const std::string &name, program::ProductOrder asked) {
  if (asked == program::ProductOrder::Pairs && name == "cuda")
    return Status::badInput("GPUs multiply bf16 in the portable order only: leave out 'products pairs'");
  if (asked != program::ProductOrder::Fastest)
    return asked;
  return name == "cpu" ? fastestOrder() : program::ProductOrder::Portable;
}

uint64_t bytesPerWorker(const std::string &name, const program::Program &program, const Spread &spread) {
  return name == "cpu" ? CpuBackend::bytesPerWorker(program, spread) : 0;
}

} // namespace npar::engine
