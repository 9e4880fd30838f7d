// What `npar schedule` is asked for: flags to a schedule with its times, or with everything that is wrong with it.
#pragma once

#include "compiler/schedules/Simulate.h"
#include "compiler/schedules/Text.h"
#include "tools/npar/terminal/Outcome.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

/// Why a schedule does not pass: `place` is in the stage's list of tasks, of a fault of communications of tasks and communications; row and
/// column are of its file, 0 when it comes from a name.
struct ScheduleFault {
  int stage = 0, place = 0;
  std::string reason;
  int row = 0, column = 0;
  bool ofCommunication = false;
  std::vector<schedules::TextLink> cycle; ///< of sends and receives that wait for each other
};

/// A schedule beside the costs that it is looked at with.
struct TimedSchedule {
  std::string name; ///< of the kind, or the file
  std::string text; ///< of the file, for messages
  schedules::Schedule schedule;
  schedules::StageCost cost; ///< of every stage
  double transfer = 0;
  double memoryCap = 0; ///< 0: none
  std::vector<ScheduleFault> faults;
  /// Only when it can run, though it may hold more than the cap.
  std::optional<schedules::Simulation> times;
  double bubbleRate = 0; ///< (cost - m (F + B + W)) / cost with cost = max over stages of (end of last task - begin of its first F)

  double peakLive() const;  ///< of the stage that holds most
  int64_t messages() const; ///< between stages, per training step
};

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

/// Whether a word names a file, not a kind.
bool namesFile(const std::string &word);

/// The same for `word`: a kind, a kind with chunks (`interleaved(3)`), or a file.
Outcome<TimedSchedule> loadSchedule(const std::string &word, ScheduleFlags flags);

/// The schedule of a kind; the refusal when there is none. Prints nothing.
struct MadeSchedule {
  std::optional<TimedSchedule> schedule;
  std::string refusal;
};
MadeSchedule makeTimed(const schedules::ScheduleKind &kind, int stages, int micros, int chunks, const TimedSchedule &like);

/// Prints the faults: those of a file with its lines.
void printFaults(const TimedSchedule &schedule);

} // namespace npar::driver
