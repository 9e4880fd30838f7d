// Which samples of a data set make a training step's batch: by step, seed and epoch alone, never by plan.
#include "engine/data/SampleOrder.h"

#include "engine/data/Permutation.h"

#include <optional>

namespace npar::engine {

Result<Order> sampleOrder(const std::string &name) {
  if (name == "shuffled")
    return Order::Shuffled;
  if (name == "sequential")
    return Order::Sequential;
  return Status::badInput("unknown order '" + name + "': shuffled and sequential exist");
}

std::vector<int64_t> SampleOrder::batch(int64_t step, int64_t origin) const {
  std::vector<int64_t> result;
  std::optional<Permutation> permutation;
  int64_t permuted = -1;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t place = origin + step * rows + row, epoch = place / count, sample = place % count;
    if (order == Order::Shuffled) {
      if (epoch != permuted)
        permutation.emplace(count, seed, static_cast<uint64_t>(epoch)), permuted = epoch;
      sample = (*permutation)(sample);
    }
    result.push_back(sample);
  }
  return result;
}

} // namespace npar::engine
