// Why a job ended and who waited for whom: one report, the same in all processes, for people and for programs.
#pragma once

#include "engine/control/States.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

enum class Cause : uint8_t {
  Failed,  ///< a process said that it cannot go on
  Gone,    ///< a process ended without a word
  Silent,  ///< a process no longer answers: stopped, or its network is lost
  Skipped, ///< a rank went past an operation that others wait in
  Lost,    ///< a rank joined an operation, and that never reached the others
  Slow,    ///< a rank, which waits for nobody, has not come as far as the others
  Unknown, ///< nothing moves, and what is known blames nobody
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
  Code code = Code::Timeout;  ///< the exit code that follows
  std::string message;        ///< what happened, first the cause; may have several lines
  Place place;                ///< of the rank to blame, as far as it is known
  std::string host;           ///< of the process to blame
  int64_t process = -1;       ///< -1: none is to blame
  uint32_t speaker = 0;       ///< the process that tells the person
  std::vector<uint32_t> lost; ///< processes that are gone or silent
  struct Waiting {
    Wait wait;
    uint32_t process = 0;
    std::string host;
  };
  std::vector<Waiting> waiting; ///< by rank; of many some
  uint32_t moreWaiting = 0;     ///< how many were left out

  Status status() const { return {code, message}; }
  /// The message, then a line for each rank that waits.
  std::string text() const;
  /// One object: rank, host, process, step, evaluation (whether the step is one of an evaluation), task, micro_index, operation, source,
  /// waiting; and cause, code, message, lost, more_waiting. Unknown: null.
  std::string toJson() const;
};

} // namespace npar::engine
