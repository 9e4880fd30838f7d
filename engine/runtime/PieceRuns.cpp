// Computes the runs of a piece by number: an index is split over the dimensions that are not contiguous.
#include "engine/runtime/PieceRuns.h"

#include <algorithm>

namespace npar::engine {

int64_t KeptDimension::valid() const { return std::clamp<int64_t>(global - start, 0, local); }

PieceRuns::PieceRuns(const std::vector<KeptDimension> &dimensions, uint64_t begin, uint64_t end) : begin(begin), end(end) {
  // Whole trailing dimensions and the one before them are contiguous. An axis of one entry over several ranks is whole on the first of them;
  // the others hold padding alone, which begins at its end.
  size_t joined = dimensions.size();
  length = 1;
  while (joined > 0 && dimensions[joined - 1].start == 0 && dimensions[joined - 1].local == dimensions[joined - 1].global)
    length *= static_cast<uint64_t>(dimensions[--joined].global);
  if (joined > 0)
    length *= static_cast<uint64_t>(dimensions[--joined].valid());
  uint64_t logicalStride = 1, localStride = 1, count = length > 0 ? 1 : 0;
  outer.resize(joined);
  for (size_t d = dimensions.size(); d-- > 0;) {
    const KeptDimension &dimension = dimensions[d];
    auto valid = static_cast<uint64_t>(dimension.valid());
    if (d < joined) {
      outer[d] = {valid, logicalStride, localStride};
      count *= valid;
    }
    base += static_cast<uint64_t>(dimension.start) * logicalStride;
    logicalStride *= static_cast<uint64_t>(dimension.global), localStride *= static_cast<uint64_t>(dimension.local);
  }
  first = firstNot([&](const ElementRun &run) { return run.local + run.count <= begin; }, 0, count);
  last = firstNot([&](const ElementRun &run) { return run.local < end; }, first, count);
}

template <typename Before> uint64_t PieceRuns::firstNot(Before before, uint64_t low, uint64_t high) const {
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (before(whole(middle)))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

ElementRun PieceRuns::whole(uint64_t index) const {
  ElementRun run = {base, 0, length};
  for (size_t d = outer.size(); d-- > 0;) {
    run.logical += index % outer[d].valid * outer[d].logicalStride, run.local += index % outer[d].valid * outer[d].localStride;
    index /= outer[d].valid;
  }
  return run;
}

ElementRun PieceRuns::at(uint64_t index) const {
  ElementRun run = whole(first + index);
  uint64_t from = std::max(run.local, begin), to = std::min(run.local + run.count, end);
  return {run.logical + (from - run.local), from - begin, to - from};
}

uint64_t PieceRuns::from(uint64_t logical) const {
  uint64_t low = 0, high = size();
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    ElementRun run = at(middle);
    if (run.logical + run.count <= logical)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

uint64_t PieceRuns::elements() const {
  if (size() == 0)
    return 0;
  uint64_t inner = size() > 2 ? (size() - 2) * length : 0; // a share ends within the first or the last run alone
  return at(0).count + (size() > 1 ? at(size() - 1).count : 0) + inner;
}

} // namespace npar::engine
