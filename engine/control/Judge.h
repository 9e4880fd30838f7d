// Finds the one to blame from what all processes know: the rank that everyone waits for, at the end of each chain of waiting.
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
  double silentSeconds = 0; ///< of a silent one: since it was heard last
  std::string why;          ///< of one that is gone: what was seen, such as "its connection closed"
  std::vector<int64_t> ranks;
  std::optional<ProcessState> state; ///< what it said last
};

struct Evidence {
  std::vector<ProcessEvidence> processes;
  std::vector<uint32_t> gone;                  ///< in the order in which they went
  std::vector<std::pair<uint32_t, Told>> told; ///< by process, in the order in which they came
  std::map<Question, Joined> answers;
  uint32_t speaker = 0;
};

/// What has to be asked before `judge` knows who is wrong where two ranks wait for each other: for each rank that others miss, whether it
/// has joined. At most so many as one message takes.
std::vector<Question> questionsAbout(const Evidence &evidence);

/// In this order of what explains more: a process that is gone; a failure that one has told; a process that is silent; a rank that went
/// past an operation in which others wait; one whose part was lost; and of the ranks that wait for nobody the one that most others wait
/// for, directly or through others.
FailureReport judge(const Evidence &evidence);

} // namespace npar::engine
