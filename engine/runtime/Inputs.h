// Cuts a global batch into the rows that each rank reads in each micro-batch.
#pragma once

#include "engine/device/Backend.h"
#include "engine/runtime/LocalRanks.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <vector>

namespace npar::engine {

class Inputs {
public:
  /// Refuses inputs other than "tokens" and "targets", and shapes that are not the rank's share of rows and columns.
  /// `ranks`: those that this session feeds, each from the whole global batch.
  static Result<Inputs> create(const program::Program &program, const std::vector<LocalRank> &ranks);

  /// Micro-batch m is the rows [m D micro, (m+1) D micro) of the batch, split contiguously over D data-parallel ranks (P10).
  Status fill(Backend &backend, const std::vector<int32_t> &tokens, const std::vector<int32_t> &targets);

private:
  /// Columns in a row of both the batch and the buffer; zeros when they lie beyond the sequence.
  struct Run {
    uint64_t first, count;
    bool beyond;
    bool operator==(const Run &other) const { return first == other.first && count == other.count && beyond == other.beyond; }
  };
  struct Place {
    bool targets;
    uint64_t firstRow, rows; ///< in the global batch
    uint32_t runs;           ///< index of the columns that the buffer holds
    DeviceAddress memory;
    uint64_t stagedAt; ///< in `staging`
  };
  void stage(const Place &place, const int32_t *batch);
  static std::vector<Run> runsOf(const program::Input &input, uint64_t part, uint64_t sequence);
  std::vector<Place> places;
  std::vector<std::vector<Run>> runs;
  std::vector<int32_t> staging; ///< what the buffers of all places are to hold: copies to a device read it until they are done
  uint64_t rows = 0, columns = 0;
};

} // namespace npar::engine
