// The reason why a job ended and the ranks that waited: one report, the same in all processes, for people and for programs.
#pragma once

#include "engine/control/States.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

enum class Cause : uint8_t {
  Failed,  ///< a process reported that it cannot continue
  Gone,    ///< a process ended without a message
  Silent,  ///< a process no longer answers: stopped, or its network is lost
  Skipped, ///< a rank went past an operation in which others wait
  Lost,    ///< a rank joined an operation, but its part never reached the others
  Slow,    ///< a rank that waits for no other is behind the others
  Unknown, ///< nothing moves, and the evidence blames no rank
};

/// `rank 3, task B0:1, 'all_reduce h.3.attn' (gpt2.npar:14:3)`.
std::string describePlace(const Place &place);

/// `training step 7`, or `evaluation step 7`.
std::string describeStep(const Place &place);

/// The place, then ` waits for ranks 1, 2`.
std::string describeWait(const Wait &wait);

/// "gone", "skipped": the word in a report.
const char *wordOf(Cause cause);

struct FailureReport {
  Cause cause = Cause::Unknown;
  Code code = Code::Timeout;  ///< the resulting exit code
  std::string message;        ///< description, starting with the cause; may have several lines
  Place place;                ///< place of the culprit rank, as far as known
  std::string host;           ///< host of the culprit process
  int64_t process = -1;       ///< culprit process; -1: none
  uint32_t speaker = 0;       ///< the process that prints the report for the user
  std::vector<uint32_t> lost; ///< processes that are gone or silent
  struct Waiting {
    Wait wait;
    uint32_t process = 0;
    std::string host;
  };
  std::vector<Waiting> waiting; ///< by rank; only some if there are many
  uint32_t moreWaiting = 0;     ///< number of waits left out

  Status status() const { return {code, message}; }
  /// The message, then a line for each rank that waits.
  std::string text() const;
  /// One JSON object: rank, host, process, step, evaluation (true for a step of an evaluation), task, micro_index, operation, source,
  /// waiting; and cause, code, message, lost, more_waiting. Unknown values are null.
  std::string toJson() const;
};

} // namespace npar::engine
