// Finds the culprit of a failure from the knowledge of all processes: the rank at the end of each chain of waiting.
#pragma once

#include "engine/control/Message.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace npar::engine {

struct ProcessEvidence {
  enum class Standing { Alive, Left, Silent, Gone };
  Standing standing = Standing::Alive;
  std::string host;
  int64_t pid = 0;
  double silentSeconds = 0; ///< for a silent process: time since it was last heard
  std::string why;          ///< for a process that is gone: the observation, such as "its connection closed"
  std::vector<int64_t> ranks;
  std::optional<ProcessState> state; ///< last reported state
};

struct Evidence {
  std::vector<ProcessEvidence> processes;
  std::vector<uint32_t> gone;                  ///< processes that are gone, in the order of their loss
  std::vector<std::pair<uint32_t, Told>> told; ///< by process, in the order in which they came
  std::map<Question, Joined> answers;
  uint32_t speaker = 0;
};

/// Questions that must be answered before `judge` can tell which of two ranks that wait for each other is wrong: for each rank that others
/// miss, whether it has joined. At most as many as fit into one message.
std::vector<Question> questionsAbout(const Evidence &evidence);

/// Returns the cause that explains the most, in this order: a process that is gone; a failure that a process reported; a process that is
/// silent; a rank that went past an operation in which others wait; a rank whose part was lost; and of the ranks that wait for none, the
/// one that most others wait for, directly or through others.
FailureReport judge(const Evidence &evidence);

} // namespace npar::engine
