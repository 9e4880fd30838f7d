// Chooses the number of samples that an evaluation takes at a time, by speed, memory and the size of the data.
#pragma once

#include <cstdint>
#include <string>

namespace npar::training {

enum class BatchReason {
  Given,   ///< by a setting
  Program, ///< it is compiled already
  Plan,    ///< the plan's micro-batches, no more of them than the data need
  Data,    ///< all samples at once
  Memory,  ///< more would take too much
  Time     ///< more would be hardly faster
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
  /// "12 of 300 samples at a time: more would take over 512 MiB". `there`: how many samples the data have, 0: unknown; `room`: bytes.
  std::string text(int64_t there, uint64_t room) const;
};

/// Between steps of two sizes bytes and seconds are taken to be linear. The batch is so large that what a step costs whatever its size is a
/// twentieth at most, unless `there` samples are fewer (0: unknown) or would take more than `room` bytes. All steps have about
/// the same size, so that the last one is not nearly empty.
EvaluationBatch chooseBatch(const StepCost &one, const StepCost &several, int64_t there, uint64_t room);

} // namespace npar::training
