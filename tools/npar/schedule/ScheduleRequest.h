// Turns the flags of `npar schedule` into a schedule with its times, or with its faults.
#pragma once

#include "compiler/schedules/show/TimedSchedule.h"
#include "tools/npar/terminal/CliApp.h"
#include "tools/npar/terminal/Outcome.h"

#include <optional>
#include <string>

namespace npar::driver {

using schedules::TimedSchedule;

/// The flags that all forms of the command share.
struct ScheduleFlags {
  std::string kind, cost, import;
  std::optional<int> stages, micros;
  std::optional<double> memoryCap;
  int chunks = 0;
  std::string format = "text";
  bool json = false, eager = false;

  void addTo(CLI::App &app);
  void addSource(CLI::App &app); ///< --kind, --chunks, --from-csv
  schedules::Sending sending() const { return eager ? schedules::Sending::Eager : schedules::Sending::Rendezvous; }
  bool asJson() const { return json || format == "json"; }
};

/// The schedule of the flags. Prints an error and returns its code when the flags contradict each other, a file cannot be read, or the kind
/// refuses; what is wrong inside a file is in `faults`.
Outcome<TimedSchedule> loadSchedule(const ScheduleFlags &flags);

/// True if a word names a file, not a kind.
bool namesFile(const std::string &word);

/// The same for `word`: a kind, a kind with chunks (`interleaved(3)`), or a file.
Outcome<TimedSchedule> loadSchedule(const std::string &word, ScheduleFlags flags);

/// Prints the faults; a fault of a file is shown with its line.
void printFaults(const TimedSchedule &schedule);

} // namespace npar::driver
