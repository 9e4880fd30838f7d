// Derives the dependencies of a fragment's steps from the memory that they touch; they cover data flow and memory reuse.
#include "compiler/memory/AllocateFragment.h"
#include "engine/program/StepOrder.h"

#include <algorithm>
#include <functional>

namespace npar::memory {
namespace {

struct Access {
  uint64_t begin, end;
  uint32_t step;
  bool write;
};

/// The accesses to a region that no later write covers. Accesses of like sizes are sorted by their begin, so that what overlaps is found
/// without a look at all.
class LiveAccesses {
public:
  template <typename Visit> void forEachOverlapping(uint64_t begin, uint64_t end, Visit visit) const {
    for (uint32_t size = 0; size < sizes.size(); ++size) {
      uint64_t longest = (uint64_t(1) << size) - 1;
      for (auto at = from(sizes[size], begin - std::min(begin, longest)); at != sizes[size].end() && at->begin < end; ++at)
        if (begin < at->end)
          visit(*at);
    }
  }

  void add(const Access &access) {
    if (access.write)
      eraseCovered(access);
    uint32_t size = sizeOf(access);
    if (size >= sizes.size())
      sizes.resize(size + 1);
    sizes[size].insert(std::upper_bound(sizes[size].begin(), sizes[size].end(), access, isBefore), access);
  }

private:
  using Sorted = std::vector<Access>;
  std::vector<Sorted> sizes; ///< by the number of bits of a size in bytes

  static bool isBefore(const Access &a, const Access &b) { return a.begin < b.begin; }
  static Sorted::const_iterator from(const Sorted &sorted, uint64_t begin) {
    return std::lower_bound(sorted.begin(), sorted.end(), Access{begin, 0, 0, false}, isBefore);
  }

  static uint32_t sizeOf(const Access &access) {
    uint32_t bits = 0;
    for (uint64_t bytes = access.end - access.begin; bytes > 0; bytes >>= 1)
      ++bits;
    return bits;
  }

  /// Keeps the other accesses of the same step, which the write does not follow.
  void eraseCovered(const Access &write) {
    for (uint32_t size = 0; size <= sizeOf(write) && size < sizes.size(); ++size) {
      Sorted &sorted = sizes[size];
      auto first = sorted.begin() + (from(sorted, write.begin) - sorted.begin()), last = first;
      while (last != sorted.end() && last->begin <= write.end)
        ++last;
      sorted.erase(std::remove_if(first, last, [&](const Access &other) { return other.step != write.step && other.end <= write.end; }),
                   last);
    }
  }
};

} // namespace

void addDependencies(program::FragmentT &fragment) {
  program::StepOrder order(fragment.steps.size());
  std::vector<LiveAccesses> live; // per region
  fragment.dependencies.clear();
  for (uint32_t index = 0; index < fragment.steps.size(); ++index) {
    program::Step &step = fragment.steps[index];
    std::vector<uint32_t> waits;
    auto operandAt = [&](uint32_t i) -> const program::Operand & { return fragment.operands[step.first_operand() + i]; };
    uint32_t operands = uint32_t(step.inputs()) + step.outputs();
    for (uint32_t i = 0; i < operands; ++i) {
      const program::Operand &operand = operandAt(i);
      if (operand.region() >= live.size())
        live.resize(operand.region() + 1);
      bool write = i >= step.inputs();
      live[operand.region()].forEachOverlapping(operand.offset(), operand.offset() + operand.bytes(), [&](const Access &access) {
        if (access.write || write)
          waits.push_back(access.step);
      });
    }
    // Latest first: what they wait for in turn needs no edge.
    std::sort(waits.begin(), waits.end(), std::greater<uint32_t>());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    uint32_t first = static_cast<uint32_t>(fragment.dependencies.size());
    for (uint32_t earlier : waits)
      if (!order.before(earlier, index)) {
        order.add(index, earlier);
        fragment.dependencies.push_back(earlier);
      }
    std::sort(fragment.dependencies.begin() + first, fragment.dependencies.end());
    step.mutate_first_dependency(first);
    step.mutate_dependency_count(static_cast<uint32_t>(fragment.dependencies.size()) - first);
    for (uint32_t i = 0; i < operands; ++i) {
      const program::Operand &operand = operandAt(i);
      live[operand.region()].add({operand.offset(), operand.offset() + operand.bytes(), index, i >= step.inputs()});
    }
  }
}

} // namespace npar::memory
