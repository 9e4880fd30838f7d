// Checks the sends and receives that a text gives for a schedule: npar makes its own, but what is given must be able to run as it is.
#pragma once

#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

/// An entry of a stage's list: a compute task, or what a text says of a message between two stages.
struct ListedAction {
  enum class What { Task, Send, Receive, Wait }; ///< Wait: for a send that was begun before
  What what = What::Task;
  Phase phase = Phase::F; ///< phase of the task; for messages F is an activation, B its gradient
  std::string_view kind;  ///< the word in texts, such as "F" or "SEND_B"; refers to static storage
  int part = 0;           ///< place in the chain: the one that computes, sends or receives
  int micro = 0;
};

/// `2SEND_F1`
std::string nameOf(const ListedAction &action);

/// Completion of a send: only once its receive has begun, as is possible with MPI and NCCL, or by itself.
enum class Sending { Rendezvous, Eager };

/// A link of a cycle: an action that cannot complete before the next one does, because that is the other end of its message or precedes it
/// in the list of its own stage.
struct CycleLink {
  int stage = 0, place = 0; ///< in the stage's list of actions
  bool otherEnd = false;    ///< whether the next link is the other end of the message
};

struct CommunicationError {
  int stage = 0, place = 0; ///< place: index in the stage's list of actions; its length if an action is missing
  std::string reason;
  std::vector<CycleLink> cycle; ///< begins at that action; empty for another error
};

/// Empty when (RULES.md#S4, S5)
///   S4 each message between two stages has its send after the task that makes it and its receive before the task that uses it, both once,
///      and there are no others;
///   S5 all end, where each stage does one action after the other: a receive when its send has begun, a send when its receive has begun too
///      (Rendezvous) or at once (Eager). Messages from one stage to another arrive in the order in which they were sent, as they carry no
///      names. One error per cycle of waiting.
/// The tasks in `lists` must be a schedule that passed S0 to S3. It makes no difference whether a stage continues computing after a send
/// that is not complete: only a later message could depend on it. At most about 100 errors. Time grows with the number of actions.
std::vector<CommunicationError> checkCommunications(const Placement &placement, int micros,
                                                    const std::vector<std::vector<ListedAction>> &lists, Sending sending);

} // namespace npar::schedules
