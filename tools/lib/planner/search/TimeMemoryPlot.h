// Plans as points of a picture: seconds against memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace npar::planner {

struct PlotPoint {
  std::string name;
  double seconds = 0, memory = 0;
  bool fits = true;
};

struct TimeMemoryPlot {
  std::string title, subtitle;
  std::vector<PlotPoint> points;
  std::optional<double> room; ///< what a device has: a line
  /// Draws a line through those that fit and of which no other one is faster and smaller, and puts what is far from them at the edge.
  bool frontier = false;
};

/// A self-contained picture: what fits in full, what does not hollow. The circle of `points[i]` has `data-point="i"`.
std::string plotSvg(const TimeMemoryPlot &plot);

} // namespace npar::planner
