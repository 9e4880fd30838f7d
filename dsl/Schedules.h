// What a plan may write after `by`. The front end knows no schedule itself: whoever calls it says which there are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace npar::dsl {

struct KnownSchedule {
  std::string name;
  int chunks = 1;         ///< per stage, where the plan asks for none; 0: it chooses itself
  bool anyChunks = false; ///< whether a plan may ask for another number
  int microsPerStage = 0; ///< a step has at least so many micro-batches for each stage
};

/// What is wrong with a schedule's text; row and column count from 1.
struct ScheduleTextError {
  uint32_t row = 1, column = 1, length = 1;
  std::string reason;
  bool ofCommunication = false; ///< of a send or receive that the text gives, not of the order of compute
};

struct ScheduleText {
  int stages = 0, micros = 0, chunks = 0;
  int communications = 0; ///< sends and receives that the text gives
  std::vector<ScheduleTextError> errors;
};

struct KnownSchedules {
  std::vector<KnownSchedule> kinds;
  std::string defaultName;                                   ///< for a repeat without `by`
  std::function<ScheduleText(const std::string &text)> read; ///< reads and checks a schedule's text; null: a plan cannot name a file

  const KnownSchedule *find(const std::string &name) const {
    for (const KnownSchedule &kind : kinds)
      if (kind.name == name)
        return &kind;
    return nullptr;
  }
};

} // namespace npar::dsl
