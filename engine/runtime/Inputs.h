// Cuts a global batch into each rank's inputs of each micro-batch: its samples, and its part of every dimension of them.
#pragma once

#include "engine/device/Backend.h"
#include "engine/runtime/Batch.h"
#include "engine/runtime/LocalRanks.h"
#include "engine/runtime/SampleRuns.h"

namespace npar::engine {

class Inputs {
public:
  Inputs() = default;
  /// Feeds the inputs of a verified program to `ranks`, those of this session, each from the whole global batch.
  Inputs(const program::Program &program, const std::vector<LocalRank> &ranks);

  /// Micro-batch m is the samples [m D micro, (m+1) D micro) of the batch, dealt out in rows over D data-parallel ranks (RULES.md#P10).
  /// The batch holds all samples, or those of `rows` alone. Refuses what checkBatch refuses, before anything is written.
  Status fill(Backend &backend, const Batch &batch);
  /// The samples of the global batch that these ranks read any of, ascending.
  const std::vector<int64_t> &rows() const { return samplesRead; }

private:
  /// A buffer of one micro-batch.
  struct Place {
    uint32_t input;                ///< index in the program
    uint64_t firstSample, samples; ///< range in the global batch
    uint32_t runs;                 ///< index of the runs of each sample
    program::ElementType type;     ///< type of the buffer
    DeviceAddress memory;
    uint64_t bytes, stagedAt; ///< stagedAt: offset in `staging`
  };
  void stage(const Place &place, uint64_t firstSample, const InputValues &values);

  BatchShape shape;
  std::vector<int64_t> samplesRead;
  std::vector<Place> places;
  std::vector<std::vector<SampleRun>> runs;
  std::vector<uint8_t> staging; ///< future contents of the buffers of all places; copies to a device read it until they are done
};

} // namespace npar::engine
