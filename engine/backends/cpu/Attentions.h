// The attentions of a program on this processor: engine/attention's, for every index of a batch, spread over workers.
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
  /// NPAR_INSTRUCTIONS masks instruction sets; no bit depends on it, nor on `spread`.
  /// Without `kernels` nothing that they change can run.
  Status load(const program::Program &program, const Spread &spread, const KernelTable &kernels = {});
  /// `buffers`: the operands of the step in their order; `context`: that of kernels, whose coordinates say which piece of the sequence is
  /// the rank's.
  void run(uint32_t index, void *const *buffers, const int64_t *context, WorkerScratch &scratch) const;
  /// Packed operands and sums that a worker holds: the most that any attention of the program takes.
  uint64_t bytesPerWorker() const { return scratchBytes; }

private:
  struct Batched;
  Status add(const program::Program &program, const program::Attention &attention, const Spread &spread, InstructionSet set,
             const KernelTable &kernels);
  static void runPart(const Batched &batched, int64_t piece, int64_t item, void *const *buffers, const int64_t *context, void *scratch);

  std::vector<Batched> attentions;
  uint64_t scratchBytes = 0;
};

} // namespace npar::engine
