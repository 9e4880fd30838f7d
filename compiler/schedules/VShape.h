// Orders of forwards and backwards for two chunks per stage, down the stages and back. W is added by `fillWeights`.
#pragma once

#include "compiler/schedules/Schedule.h"

#include <array>

namespace npar::schedules {

/// How much further than it must be a phase is ahead of the next one, as a share of the stages on the way between them. A micro-batch needs
/// time from one stage to the next: with no slack it arrives when it is due if all tasks take the same time and messages none.
struct VSlack {
  double down = 0; ///< forwards of chunk 0 before those of chunk 1, per stage after this one
  double turn = 0; ///< forwards of chunk 1 before backwards of chunk 1, per stage before this one
  double up = 0;   ///< backwards of chunk 1 before those of chunk 0, per stage after this one
};

/// Forwards and backwards in the order of ZB-V (Qi et al. 2023, section 6), with slack: each stage fills up, then takes a forward and a
/// backward of each chunk in turn, then drains. Without slack at most 2p chunks of micro-batches are between F and B on a stage.
Schedule vOrder(int stages, int micros, const VSlack &slack);

/// Forwards and backwards in the order of a building block that repeats every six tasks (Qi et al. 2024, section 3): from a stage to the
/// next one in the chain, F of chunk 0, F of chunk 1, B of chunk 1 and B of chunk 0 start `hops` tasks later; W has the places that are
/// left. The less the hops add up to, the less a stage holds: p / 12 micro-batches for each. Where two tasks of a stage would have the same
/// place, the block waits at the turns of the V; `hops` must be such that this helps.
Schedule vBlock(int stages, int micros, const std::array<int, 4> &hops);

/// That order with W in the gaps, where a stage holds at most `held` micro-batches.
Schedule vBlockWithWeights(const Request &request, const char *kind, const std::array<int, 4> &hops, int held);

} // namespace npar::schedules
