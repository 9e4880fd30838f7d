// Waits between the steps of a fragment that a graph over many tasks needs, computed once per fragment.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::program {

/// A fragment's part of the graph of waits, the same in each of its tasks.
struct FragmentWaits {
  struct Wait {
    uint32_t from, to; ///< places in `steps`: `to` waits for `from`
  };
  static constexpr uint32_t none = ~0u;

  std::vector<uint32_t> steps;    ///< ascending
  std::vector<uint32_t> places;   ///< by step: its place in `steps`, or `none`
  std::vector<Wait> waits;        ///< ascending in `to`
  std::vector<bool> afterEarlier; ///< by place: waits for the compute steps of the previous task
  std::vector<bool> beforeLater;  ///< by place: the compute steps of the next task wait for it
};

/// All steps, with the dependencies that they list.
FragmentWaits listedWaits(const Fragment &fragment);

/// The steps with a flag in `wanted`. One waits for another exactly if it does in the whole fragment, directly or through any steps; waits
/// that follow from others are left out. Time and memory grow with steps * wanted steps / 64.
FragmentWaits condensedWaits(const Fragment &fragment, const std::vector<bool> &wanted);

} // namespace npar::program
