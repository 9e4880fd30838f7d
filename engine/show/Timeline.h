// A schedule as boxes in time, one lane per pipeline stage: what the picture draws. Whoever has lanes of boxes can have the picture.
#pragma once

#include "engine/show/View.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::show {

struct TimelineBox {
  program::Phase phase = program::Phase::Forward;
  uint32_t micro = 0;
  double begin = 0, end = 0; ///< seconds
  uint32_t chunk = 0;        ///< later chunks are drawn lighter
};

/// A collective, or a message between stages; drawn below the tasks.
struct TimelineMessage {
  bool collective = false;
  double begin = 0, end = 0; ///< seconds
};

/// Live bytes from `at` on.
struct TimelineMemory {
  double at = 0;
  uint64_t bytes = 0;
};

struct TimelineLane {
  uint32_t stage = 0;
  std::string ranks; ///< such as "ranks 0-3"
  std::vector<TimelineBox> boxes;
  std::vector<TimelineMessage> messages;
  std::string remark; ///< after the lane, such as "waits 40 %"
  std::vector<TimelineMemory> memory;
  uint64_t arenaBytes = 0;
};

struct Timeline {
  std::string title;
  std::vector<TimelineLane> lanes; ///< ascending stage
  double span = 0;                 ///< end of the last box
  double bubble = 0;               ///< as View::bubble
  bool planned = true;             ///< false: no times are known, every task is drawn one unit long in program order
  std::string origin = "planned";
};

/// Makes one lane per stage, from the first class of the stage; classes of the same stage have equal tasks.
Timeline timelineOf(const View &view);

/// A self-contained SVG picture: lanes with micro-batch numbers where they fit, communication as a strip below each lane, live memory of
/// the stages (if there are many, of the first, the highest and the last), axis, legend.
std::string timelineSvg(const Timeline &timeline);

} // namespace npar::show
