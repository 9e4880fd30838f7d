// Reads flight records. They may be damaged, truncated or malicious: every offset, number and size is checked.
#pragma once

#include "engine/control/FlightFormat.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::engine {

struct FlightMoment {
  uint64_t number = 0; ///< from 1
  int64_t clock = 0;   ///< nanoseconds of the calendar clock, by this process's pair of clocks
  int64_t round = 0;   ///< number of the step among those of all sessions
  int64_t trainingStep = 0;
  bool evaluates = false; ///< the step belongs to an evaluation
  uint32_t node = noFlightNode;
  FlightEvent event = FlightEvent::Began;
};

struct FlightRank {
  int64_t rank = 0;
  std::vector<FlightNode> nodes;     ///< their names and groups are indices in FlightLog
  std::vector<FlightMoment> moments; ///< by number; the last 4,096 at most
  uint64_t earlier = 0;              ///< number of events that were overwritten
};

struct FlightLog {
  uint32_t process = 0, processes = 0;
  int64_t pid = 0;
  std::string host;
  int64_t aliveAt = 0; ///< last sign of life; clock as in FlightMoment
  bool ended = false;  ///< the process ended normally
  std::string verdict; ///< JSON; empty: there was none
  std::vector<std::string> names;
  std::vector<std::vector<int64_t>> groups; ///< members of each group; no group is empty
  std::vector<FlightRank> ranks;
};

/// Returns BadInput, with the file's name and the error, for a file that is not a flight record or is damaged. An entry that was being
/// written when the process ended is left out.
Result<FlightLog> readFlight(const std::string &path);

} // namespace npar::engine
