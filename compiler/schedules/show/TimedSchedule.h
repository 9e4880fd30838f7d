// A schedule with its costs, its faults and its simulated times: what the text, the picture and the explanation show.
#pragma once

#include "compiler/schedules/Simulate.h"
#include "compiler/schedules/Text.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npar::schedules {

/// The reason why a schedule does not pass. `place` counts in the stage's list of tasks, or of tasks and communications if the fault is one
/// of communications. Row and column are positions in the schedule's file; they are 0 if it was made from a name.
struct ScheduleFault {
  int stage = 0, place = 0;
  std::string reason;
  int row = 0, column = 0;
  bool ofCommunication = false;
  std::vector<TextLink> cycle; ///< of sends and receives that wait for each other
};

/// A schedule with the costs that it is timed with.
struct TimedSchedule {
  std::string name; ///< of the kind, or the file
  std::string text; ///< of the file, for messages
  Schedule schedule;
  StageCost cost; ///< of every stage
  double transfer = 0;
  double memoryCap = 0; ///< 0: none
  std::vector<ScheduleFault> faults;
  /// Only when it can run, though it may hold more than the cap.
  std::optional<Simulation> times;
  double bubbleRate = 0; ///< (cost - m (F + B + W)) / cost with cost = max over stages of (end of last task - begin of its first F)

  double peakLive() const;  ///< of the stage that holds most
  int64_t messages() const; ///< between stages, per training step
};

/// A schedule made from a kind, or the reason why the kind cannot make one.
struct MadeSchedule {
  std::optional<TimedSchedule> schedule;
  std::string refusal;
};

/// Makes the schedule of a kind with the costs, the transfer time and the memory cap of `like`, checks it and times it.
MadeSchedule makeTimed(const ScheduleKind &kind, int stages, int micros, int chunks, const TimedSchedule &like);

/// Simulates a schedule that can run: sets `times` and `bubbleRate`, and adds a fault for each stage above the memory cap.
void addTimes(TimedSchedule &timed);

} // namespace npar::schedules
