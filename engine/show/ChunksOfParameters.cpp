// Follows parameters through the operands of fragments.
#include "engine/show/ChunksOfParameters.h"

#include "engine/program/Steps.h"

#include <algorithm>
#include <map>
#include <set>

namespace npar::show {

using namespace npar::program;

namespace {

/// Places of the static region that hold a parameter, or something made of parameters.
class ParameterPlaces {
public:
  void add(uint64_t offset, uint64_t bytes, const std::set<uint32_t> &pieces) {
    if (bytes == 0 || pieces.empty())
      return;
    Range &range = ranges[offset];
    range.end = std::max(range.end, offset + bytes);
    range.pieces.insert(pieces.begin(), pieces.end());
    longest = std::max(longest, range.end - offset);
  }
  /// The pieces that an operand overlaps.
  std::set<uint32_t> at(uint64_t offset, uint64_t bytes) const {
    std::set<uint32_t> pieces;
    for (auto range = ranges.lower_bound(offset < longest ? 0 : offset - longest); range != ranges.end() && range->first < offset + bytes;
         ++range)
      if (range->second.end > offset)
        pieces.insert(range->second.pieces.begin(), range->second.pieces.end());
    return pieces;
  }

private:
  struct Range {
    uint64_t end = 0;
    std::set<uint32_t> pieces;
  };
  std::map<uint64_t, Range> ranges; ///< by their begin
  uint64_t longest = 0;
};

/// Parameters among the inputs of a step, from input `first` to `end`.
std::set<uint32_t> readBy(const Fragment &fragment, const Step &step, const ParameterPlaces &places, uint32_t first, uint32_t end) {
  std::set<uint32_t> pieces;
  for (uint32_t i = first; i < end; ++i)
    if (const Operand *operand = fragment.operands()->Get(step.first_operand() + i); operand->region() == 0) {
      std::set<uint32_t> more = places.at(operand->offset(), operand->bytes());
      pieces.insert(more.begin(), more.end());
    }
  return pieces;
}

} // namespace

std::vector<std::vector<uint32_t>> chunksOfParameters(const Program &program, const RankClass &rankClass) {
  ParameterPlaces places;
  for (uint32_t i = 0; i < rankClass.pieces()->size(); ++i)
    if (const Piece &piece = *rankClass.pieces()->Get(i); program.variables()->Get(piece.variable())->kind() == VariableKind::Parameter)
      places.add(piece.offset(), piece.bytes(), {i});
  for (const Fragment *fragment : *rankClass.fragments())
    for (const Step *step : *fragment->steps())
      if (fragment->phase() == Phase::Prologue)
        for (uint32_t i = 0; i < step->outputs(); ++i)
          if (const Operand *output = fragment->operands()->Get(step->first_operand() + step->inputs() + i); output->region() == 0) {
            bool isBucket = step->kind() == StepKind::Collective && step->outputs() == step->inputs(); // output i is made of input i
            uint32_t first = isBucket ? i : 0, end = isBucket ? i + 1 : step->inputs();
            places.add(output->offset(), output->bytes(), readBy(*fragment, *step, places, first, end));
          }
  std::vector<std::set<uint32_t>> chunks(rankClass.pieces()->size());
  for (const Fragment *fragment : *rankClass.fragments())
    for (const Step *step : *fragment->steps())
      if (program::isWork(fragment->phase()))
        for (uint32_t piece : readBy(*fragment, *step, places, 0, step->inputs()))
          chunks[piece].insert(fragment->chunk());
  std::vector<std::vector<uint32_t>> result;
  for (const std::set<uint32_t> &one : chunks)
    result.emplace_back(one.begin(), one.end());
  return result;
}

} // namespace npar::show
