// Speed-up against the number of ranks, drawn below another picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace npar::planner {

struct SpeedUpPoint {
  std::string name;
  int64_t ranks = 1;
  double speedUp = 1, efficiency = 1;
};

struct SpeedUpPlot {
  std::vector<SpeedUpPoint> points;
  /// False if all points have the same number of ranks, so that there is nothing to see.
  bool isShown() const;
};

/// A self-contained picture of `above`, which must be one, and below it a square for each point and a line where the efficiency is 100 %.
std::string plotBelow(const std::string &above, const SpeedUpPlot &plot);

} // namespace npar::planner
