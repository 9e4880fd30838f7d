// Arranges the processes of a job as a tree whose subtrees are ranges of numbers.
#include "engine/comm/process/ProcessTree.h"

#include <algorithm>

namespace npar::engine {

/// The ranges below the first process of a range.
static std::vector<ProcessTree::Range> cut(const ProcessTree::Range &range) {
  std::vector<ProcessTree::Range> parts;
  uint32_t left = range.count - 1, branches = std::min(left, ProcessTree::arity);
  for (uint32_t i = 0, first = range.first + 1; i < branches; ++i) {
    uint32_t count = left / branches + (i < left % branches);
    parts.push_back({first, count});
    first += count;
  }
  return parts;
}

ProcessTree::ProcessTree(uint32_t processes, uint32_t self) {
  Range range{0, processes};
  below = cut(range);
  while (range.first != self) {
    above = range.first;
    range = *std::find_if(below.begin(), below.end(), [&](const Range &part) { return self < part.first + part.count; });
    below = cut(range);
  }
}

} // namespace npar::engine
