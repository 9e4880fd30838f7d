// The schedules that a plan may write after `by`. The front end has no list of its own; its caller passes one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace npar::dsl {

struct KnownSchedule {
  std::string name;
  int chunks = 1;         ///< per stage if the plan does not ask for a number; 0: the schedule chooses
  bool anyChunks = false; ///< whether a plan may ask for another number
  int microsPerStage = 0; ///< minimum number of micro-batches per stage and step
};

/// An error in a schedule's text; row and column count from 1.
struct ScheduleTextError {
  uint32_t row = 1, column = 1, length = 1;
  std::string reason;
  bool ofCommunication = false; ///< whether it concerns a send or receive in the text, not the order of compute
};

struct ScheduleText {
  int stages = 0, micros = 0, chunks = 0;
  int communications = 0; ///< sends and receives that the text gives
  std::vector<ScheduleTextError> errors;
};

struct KnownSchedules {
  std::vector<KnownSchedule> kinds;
  std::string defaultName;                                   ///< the schedule of a repeat without `by`
  std::function<ScheduleText(const std::string &text)> read; ///< reads and checks a schedule's text; null: a plan cannot name a file

  const KnownSchedule *find(const std::string &name) const {
    for (const KnownSchedule &kind : kinds)
      if (kind.name == name)
        return &kind;
    return nullptr;
  }
};

} // namespace npar::dsl
