// Chooses the number of samples that an evaluation takes at a time, by speed, memory and the size of the data.
#pragma once

#include <cstdint>
#include <string>

namespace npar::training {

enum class BatchReason {
  Given,   ///< set explicitly
  Program, ///< fixed by a program that is compiled already
  Plan,    ///< the plan's micro-batches, no more of them than the data need
  Data,    ///< all samples at once
  Memory,  ///< a larger batch would need too much memory
  Time     ///< a larger batch would hardly be faster
};

/// The planned cost of a program's step.
struct StepCost {
  int64_t batch = 0;
  uint64_t bytes = 0;
  double seconds = 0;
};

struct EvaluationBatch {
  int64_t samples = 0;
  BatchReason reason = BatchReason::Given;

  /// The word of the reason, for --json.
  const char *word() const;
  /// "12 of 300 samples at a time: more would take over 512 MiB". `there`: samples in the data, 0: unknown; `room`: bytes.
  std::string text(int64_t there, uint64_t room) const;
};

/// Memory and time are taken to be linear in the batch size, through the two given steps. The batch is large enough that the fixed cost of
/// a step is at most a twentieth of its time, unless the data have fewer samples (`there`; 0: unknown) or the batch would need more than
/// `room` bytes. All steps have about the same size, so that the last one is not nearly empty.
EvaluationBatch chooseBatch(const StepCost &one, const StepCost &several, int64_t there, uint64_t room);

} // namespace npar::training
