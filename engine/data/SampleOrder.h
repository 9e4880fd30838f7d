// Selects the files and samples of a training step's batch.
#pragma once

#include "engine/program/Enums_generated.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

using Order = program::DataOrder;
using LastBatch = program::DataLast;

/// "shuffled" or "sequential"; anything else is refused with the list.
Result<Order> sampleOrder(const std::string &name);

/// A sample of one of several files; a negative file means padding of a batch. `epoch`: how often the file's samples were gone through.
struct SamplePlace {
  int32_t file = -1;
  int64_t sample = 0, epoch = 0;
  bool fills() const { return file < 0; }
};

inline bool operator==(const SamplePlace &a, const SamplePlace &b) {
  return a.file == b.file && a.sample == b.sample && a.epoch == b.epoch;
}

/// Settings of the order of samples.
struct OrderSettings {
  Order order = Order::Shuffled;
  LastBatch last = LastBatch::Join;
  uint64_t seed = 0;
  std::vector<int64_t> counts;   ///< samples of each file
  std::vector<uint32_t> weights; ///< weight of each file; empty: the files are concatenated
  int64_t rows = 1;              ///< samples of a batch
};

/// An epoch has as many samples as all files together: all of them once, in the data's own order or in a new permutation by seed. With
/// weights of sum w, file f gets weights[f] of every w consecutive places, spread evenly, and repeats its own samples at its own pace. A
/// batch takes the samples at the next places; `last` sets what happens at the end of an epoch. Everything is a function of the step alone:
/// no plan and no process changes it.
class SampleOrder {
public:
  explicit SampleOrder(OrderSettings settings);
  /// Number of samples of all files, which is that of an epoch.
  int64_t samples() const { return count; }
  /// The batch of `step` begins at `position` among all places ever; later steps continue from there.
  void goOnFrom(int64_t step, int64_t position) { firstStep = step, firstPlace = position; }
  /// The place at which the batch of a step begins: epoch * samples() + the place in the epoch.
  int64_t position(int64_t step) const;
  std::vector<SamplePlace> batch(int64_t step) const;
  /// Batches of an epoch; not whole if a batch can continue with the next epoch.
  double batchesPerEpoch() const;

private:
  class Lookup;
  OrderSettings settings;
  int64_t count = 0;
  int64_t firstStep = 0, firstPlace = 0;
  std::vector<int64_t> begins; ///< first sample of each file among all samples
  struct Turn {
    int32_t file;
    int64_t before; ///< turns that the file had earlier in this round
  };
  std::vector<Turn> round; ///< turns, by place modulo the sum of weights
};

} // namespace npar::engine
