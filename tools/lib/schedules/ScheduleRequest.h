// Turns a request for a schedule into a schedule with its times, or with its faults.
#pragma once

#include "compiler/schedules/show/TimedSchedule.h"
#include "engine/status/Observer.h"
#include "engine/status/Status.h"

#include <optional>
#include <string>

namespace npar::schedules {

struct ScheduleRequest {
  std::string kind, cost, import; ///< import: a file in PyTorch's action format
  std::optional<int> stages, micros;
  std::optional<double> memoryCap;
  int chunks = 0;     ///< 0: the schedule's own
  bool eager = false; ///< sends in the file end without their receives

  Sending sending() const { return eager ? Sending::Eager : Sending::Rendezvous; }
};

/// The schedule that is asked for. An error when the request contradicts itself, a file cannot be read, or the kind refuses; what is wrong
/// inside a file is in `faults`.
engine::Result<TimedSchedule> loadSchedule(const ScheduleRequest &request, engine::Observer &observer);

/// True if a word names a file, not a kind.
bool namesFile(const std::string &word);

/// The same for `word`: a kind, a kind with chunks (`interleaved(3)`), or a file.
engine::Result<TimedSchedule> loadSchedule(const std::string &word, ScheduleRequest request, engine::Observer &observer);

} // namespace npar::schedules
