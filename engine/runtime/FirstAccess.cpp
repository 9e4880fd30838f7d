// Walks the tasks of each class in their order and keeps, for each accumulator, the bytes that are written so far.
#include "engine/runtime/FirstAccess.h"

#include <algorithm>
#include <map>
#include <set>

namespace npar::engine {

using namespace program;

namespace {

/// Ranges of bytes that do not touch each other: end by begin.
class Written {
public:
  bool covers(uint64_t begin, uint64_t end) const {
    auto after = ranges.upper_bound(begin);
    return begin >= end || (after != ranges.begin() && std::prev(after)->second >= end);
  }
  void add(uint64_t begin, uint64_t end) {
    auto next = ranges.upper_bound(begin);
    if (next != ranges.begin() && std::prev(next)->second >= begin)
      --next;
    for (; next != ranges.end() && next->first <= end; next = ranges.erase(next)) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
    }
    ranges[begin] = end;
  }

private:
  std::map<uint64_t, uint64_t> ranges;
};

struct Accumulator {
  uint32_t variable;
  uint64_t begin, end; ///< range in the static region
  Written written;
};

void findReadFirst(const Program &program, const RankClass &rankClass, std::set<uint32_t> &found) {
  std::vector<Accumulator> open;
  for (const Piece *piece : *rankClass.pieces())
    if (program.variables()->Get(piece->variable())->kind() == VariableKind::Accumulator)
      open.push_back({piece->variable(), piece->offset(), piece->offset() + piece->bytes(), {}});
  auto visit = [&](const Operand &operand, bool reads) {
    if (operand.region() != 0)
      return;
    for (size_t i = 0; i < open.size();) {
      Accumulator &one = open[i];
      uint64_t begin = std::max(one.begin, operand.offset()), end = std::min(one.end, operand.offset() + operand.bytes());
      if (begin < end && reads && !one.written.covers(begin, end)) {
        found.insert(one.variable);
        std::swap(one, open.back());
        open.pop_back();
        continue;
      }
      if (begin < end && !reads)
        one.written.add(begin, end);
      ++i;
    }
  };
  for (uint32_t task = 0; task < rankClass.tasks()->size() && !open.empty(); ++task) {
    const Fragment &fragment = *rankClass.fragments()->Get(rankClass.tasks()->Get(task)->fragment());
    for (const Step *step : *fragment.steps()) {
      bool adds = step->kind() == StepKind::Matmul && program.matmuls()->Get(step->payload())->accumulate();
      for (uint32_t i = 0; i < uint32_t(step->inputs()) + step->outputs(); ++i) {
        const Operand &operand = *fragment.operands()->Get(step->first_operand() + i);
        if (i < step->inputs() || adds)
          visit(operand, true);
        if (i >= step->inputs())
          visit(operand, false);
      }
    }
  }
  for (const Accumulator &one : open)
    if (!one.written.covers(one.begin, one.end))
      found.insert(one.variable);
}

} // namespace

std::vector<uint32_t> accumulatorsToZero(const Program &program) {
  std::set<uint32_t> found;
  for (const RankClass *rankClass : *program.classes())
    findReadFirst(program, *rankClass, found);
  return {found.begin(), found.end()};
}

} // namespace npar::engine
