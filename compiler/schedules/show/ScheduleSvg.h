// A picture of lanes with boxes in time: knows phases, chunks and micro-batches, nothing of where they come from.
#pragma once

#include "compiler/schedules/show/TimedSchedule.h"
#include "engine/program/Enums_generated.h"

#include <string>
#include <vector>

namespace npar::schedules {

struct ScheduleBox {
  double begin = 0, end = 0;
  program::Phase phase = program::Phase::Forward; ///< Backward: its input part, or the whole
  int micro = 0;
  int chunk = 0;
  std::string label; ///< shown on hover
};

struct ScheduleLane {
  std::string name;
  std::vector<ScheduleBox> boxes;
};

struct SchedulePicture {
  std::string title, remark;
  std::vector<ScheduleLane> lanes; ///< from top to bottom
  double span = 0;                 ///< end of the last box
  int chunks = 1;
};

/// Phases differ in colour (Okabe and Ito's), in lightness, and W by hatching, so that a black-and-white print keeps them; chunks are
/// shades of a phase's colour. A box shows its micro-batch number if the longest number fits its width.
std::string drawSchedule(const SchedulePicture &picture);

/// A self-contained picture; needs `times`.
std::string scheduleSvg(const TimedSchedule &schedule);

} // namespace npar::schedules
