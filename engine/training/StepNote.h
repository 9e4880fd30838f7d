// The note that each process of a job sends to the others after a training step: whether it wants to stop, and hashes of its samples.
#pragma once

#include "engine/runtime/Batch.h"
#include "engine/training/StepNote_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::training {

using wire::RowHash;

struct StepNote {
  /// Why training should end after this step in all processes: a signal's name, or `cannotWrite`; empty: training continues.
  std::string stop;
  std::vector<RowHash> rows; ///< hashes of the samples that this process has read; empty if batches are not hashed

  static constexpr const char *cannotWrite = "!";
};

std::vector<uint8_t> pack(const StepNote &note);
/// Unpacks bytes that `pack` produced; other bytes may be a note without anything.
StepNote unpackNote(const std::vector<uint8_t> &bytes);

/// Hashes the samples that `batch` contains. `rows`: their numbers in the whole batch, in the same order.
std::vector<RowHash> hashRows(const engine::BatchShape &shape, const engine::Batch &batch, const std::vector<int64_t> &rows);

/// Combines the hashes of all processes into one of the whole batch, which does not depend on how samples were distributed. 32 hex digits;
/// empty if there are no rows.
std::string hashOfBatch(const std::vector<StepNote> &notes);

} // namespace npar::training
