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

} // namespace

void addDependencies(program::FragmentT &fragment) {
  program::StepOrder order(fragment.steps.size());
  std::vector<std::vector<Access>> live; // per region: accesses that no later write covers
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
      for (const Access &access : live[operand.region()])
        if ((access.write || write) && access.begin < operand.offset() + operand.bytes() && operand.offset() < access.end)
          waits.push_back(access.step);
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
      std::vector<Access> &accesses = live[operand.region()];
      Access access = {operand.offset(), operand.offset() + operand.bytes(), index, i >= step.inputs()};
      if (access.write)
        accesses.erase(std::remove_if(accesses.begin(), accesses.end(),
                                      [&](const Access &other) {
                                        return other.step != index && access.begin <= other.begin && other.end <= access.end;
                                      }),
                       accesses.end());
      accesses.push_back(access);
    }
  }
}

} // namespace npar::memory
