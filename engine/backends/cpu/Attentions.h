// Runs the attentions of a program on this processor: engine/attention's, for every index of a batch, spread over workers.
#pragma once

#include "engine/backends/cpu/BatchLoops.h"
#include "engine/backends/cpu/Scores.h"
#include "engine/backends/cpu/WorkerScratch.h"

#include <vector>

namespace npar::engine {

class Attention;

class Attentions {
public:
  Attentions();
  ~Attentions();
  /// `order` is that of products of bf16, and not Fastest. NPAR_INSTRUCTIONS masks instruction sets; no bit depends on it, nor on `spread`.
  /// If `kernels` is empty, attentions whose scores they change cannot run.
  Status load(const program::Program &program, const Spread &spread, program::ProductOrder order, const KernelTable &kernels = {});
  /// `buffers`: the operands of the step in their order. `context`: that of kernels, whose coordinates give the rank's piece of the
  /// sequence.
  void run(uint32_t index, void *const *buffers, const int64_t *context, WorkerScratch &scratch) const;
  /// Bytes of packed operands and sums per worker: the maximum over all attentions of the program.
  uint64_t bytesPerWorker() const { return scratchBytes; }

private:
  struct Batched;
  Status add(const program::Program &program, const program::Attention &attention, ProductType type, const Spread &spread,
             InstructionSet set, const KernelTable &kernels);
  static void runPart(const Batched &batched, int64_t piece, int64_t item, void *const *buffers, const int64_t *context, void *scratch);

  std::vector<Batched> attentions;
  uint64_t scratchBytes = 0;
};

} // namespace npar::engine
