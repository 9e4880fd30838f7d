// The matrix products of a program on this processor: batches of engine/product's, spread over workers.
#pragma once

#include "engine/backends/cpu/WorkerScratch.h"
#include "engine/device/Backend.h"
#include "engine/product/Product.h"

#include <vector>

namespace npar::engine {

class Products {
public:
  Products();
  ~Products();
  /// Refuses what is no product: empty ones, element types that are not multiplied, operands of which no stride is 1. `order` is that of
  /// bf16, and not Fastest. NPAR_INSTRUCTIONS masks instruction sets; no bit depends on it, nor on `spread`.
  Status load(const program::Program &program, const Spread &spread, program::ProductOrder order);
  /// C (+)= A B for every index of the batch list.
  void run(uint32_t index, const void *a, const void *b, void *c, WorkerScratch &scratch) const;
  /// Packed operands and sums that a worker holds while it multiplies: the most that any product of the program takes.
  uint64_t bytesPerWorker() const { return scratchBytes; }

private:
  struct Batched;
  Status add(const program::Matmul &matmul, ProductType type, const std::string &what, const Spread &spread, InstructionSet set);

  std::vector<Batched> products;
  uint64_t scratchBytes = 0;
};

} // namespace npar::engine
