// What each process of a job tells the others at the end of a training step: whether it would stop, and which samples it has seen.
#pragma once

#include "engine/runtime/Batch.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::training {

/// XXH3-128 over one sample of a batch, input by input.
struct RowHash {
  int64_t row = 0;
  uint64_t low = 0, high = 0;
};

struct StepNote {
  /// Why the training should end here, for all processes alike: a signal's name, or `cannotWrite`; empty: it should go on.
  std::string stop;
  std::vector<RowHash> rows; ///< that this process has read; empty: nobody wants to know

  static constexpr const char *cannotWrite = "!";
};

std::vector<uint8_t> pack(const StepNote &note);
/// Of bytes that `pack` made.
StepNote unpackNote(const std::vector<uint8_t> &bytes);

/// Of a batch that holds these of its samples, or all where `rows` is as long as the batch.
std::vector<RowHash> hashRows(const engine::BatchShape &shape, const engine::Batch &batch, const std::vector<int64_t> &rows);

/// Of the whole batch, by what the processes have read of it: the same however it was shared out. 32 hex digits; empty for no rows.
std::string hashOfBatch(const std::vector<StepNote> &notes);

} // namespace npar::training
