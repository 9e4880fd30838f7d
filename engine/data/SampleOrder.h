// Which samples of a data set make a training step's batch.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

enum class Order { Shuffled, Sequential };

/// "shuffled" or "sequential"; anything else is refused with the list.
Result<Order> sampleOrder(const std::string &name);

/// Batch k holds the samples at places k * batch ... k * batch + batch - 1 of the order, which goes round: the data's own, or a new
/// permutation per epoch by seed.
class SampleOrder {
public:
  SampleOrder(Order order, uint64_t seed, int64_t samples, int64_t batch) : order(order), seed(seed), count(samples), rows(batch) {}
  int64_t samples() const { return count; }
  /// `origin`: places that the batches are moved on by.
  std::vector<int64_t> batch(int64_t step, int64_t origin = 0) const;

private:
  Order order;
  uint64_t seed;
  int64_t count, rows;
};

} // namespace npar::engine
