// The planned schedule as boxes in time, one lane per pipeline stage: what the picture draws and the bubble is counted from.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::driver {

struct TimelineBox {
  program::Phase phase = program::Phase::Forward;
  uint32_t micro = 0;
  double begin = 0, end = 0; ///< seconds
};

struct TimelineLane {
  uint32_t stage = 0;
  std::string ranks; ///< such as "ranks 0-3"
  std::vector<TimelineBox> boxes;
};

struct Timeline {
  std::string title;
  std::vector<TimelineLane> lanes; ///< ascending stage
  double span = 0;                 ///< end of the last box
  /// Share of the time from the first forward to the last backward task in which stages wait, over all stages: 0..1.
  double bubble = 0;
  bool planned = true; ///< false: the program holds no times, every task is drawn one unit long in program order
};

Timeline timelineOf(const program::Program &program);

/// A self-contained SVG picture.
std::string timelineSvg(const Timeline &timeline);

/// The planned steps as Chrome/Perfetto trace events; one process per class of ranks.
std::string plannedTrace(const program::Program &program);

} // namespace npar::driver
