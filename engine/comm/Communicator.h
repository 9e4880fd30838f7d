// Communication between ranks as asynchronous operations: posting never blocks, a completion is called when the buffers are free.
#pragma once

#include "engine/device/Completion.h"
#include "engine/device/DeviceAddress.h"
#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

/// One rank's part in one communication event. Geometry as in Program.fbs: with n members and a piece of [outer, split, inner]
///   all_reduce       count -> count                                  may work in place
///   all_gather       [outer, split, inner] -> [outer, n * split, inner], member i's piece at position i
///   reduce_scatter   [outer, n * split, inner] -> [outer, split, inner], member i gets position i
///   all_to_all       block j along `split` of member i becomes block i along `concat` of member j; a block is
///                    [outer, split, middle, concat, inner], or [outer, concat, middle, split, inner] if `concatFirst`
///   permute          count -> count, member i's piece goes to member (i + shift) mod n
/// If `whole` is not 0, the members' pieces, in order, are shares of a row of `whole` elements; the last may hold padding:
///   all_gather       [outer, split, inner] -> [outer, whole, inner]  padding is dropped
///   reduce_scatter   [whole] -> [split]                              padding becomes zeros
/// If `places` is not 0, the rows of an all_to_all are in pieces of that many rows, of which the first ones exist (Program.fbs,
/// Collective). Only these move. In the output the others are zeros, or what the source has there. Reductions add in ascending member
/// order. With `library` a sum may use another order, but has the same bits on all members.
struct Operation {
  program::StepKind step = program::StepKind::Collective;            ///< Collective, Send or Receive
  program::CollectiveKind kind = program::CollectiveKind::AllReduce; ///< kind of a Collective
  program::ReduceOp op = program::ReduceOp::Sum;
  program::ElementType type = program::ElementType::F32;
  uint32_t event = 0, micro = 0; ///< with the members: identifies the instance, which occurs once per training step; transfers are numbered
                                 ///< separately
  const int64_t *members = nullptr; ///< ranks of the group in member order; Send, Receive: {sender, receiver}
  uint32_t memberCount = 0;
  uint32_t member = 0; ///< the poster's place in `members`
  uint64_t count = 0;  ///< elements of the input (Receive: of the output)
  uint64_t outer = 1, split = 1, inner = 1, middle = 1, concat = 1, whole = 0;
  bool concatFirst = false;
  bool library = false; ///< for this part: the plan lets a library add in its own order
  uint32_t shift = 0;
  uint64_t places = 0, entries = 0, groups = 0;
  DeviceAddress input, output;
  DeviceAddress inputEnds, outputEnds; ///< with `places`, I32: the ends of the entries' rows in the input and in the output
  Completion *completion = nullptr;
  uint64_t tag = 0;                ///< the poster's name for the operation, returned by `pending`
  const Operation *next = nullptr; ///< next part of a bucket, with geometry and buffers of its own; valid until the completion

  int64_t rank() const { return members[member]; }
  bool transfers() const { return step != program::StepKind::Collective; }
};

/// An operation that has been posted and not completed.
struct PendingOperation {
  uint64_t tag = 0;
  int64_t rank = 0;
  std::vector<int64_t> missing; ///< members that have not joined
};

/// The ranks that meet in a collective, in member order.
struct CommunicationGroup {
  uint32_t partition = 0; ///< groups of one partition have no rank in common; the numbers are the same in every session
  const int64_t *members = nullptr;
  uint32_t memberCount = 0;
};

/// The operations of a session, known before anything is posted. Members and operations stay valid as long as the session.
struct CommunicationPlan {
  uint64_t program = 0;                   ///< hash of the program that it is of
  std::vector<uint32_t> sessionOf;        ///< by rank of the world: the session that holds it
  std::vector<int64_t> ranks;             ///< ranks of this session, ascending
  std::vector<CommunicationGroup> groups; ///< those with a member among `ranks`, by partition and first member; transfers need none
  /// All that one training step posts here. In the program's order if the communicator needs it: one order of all communication of the
  /// world, which each session restricts to its own ranks.
  std::vector<const Operation *> operations;
};

/// How the ranks of one session reach each other and those of other sessions (processes, or threads that stand for them). A session has one
/// communicator, for all of its ranks. All calls are thread-safe. Any implementation passes tests/engine/comm/CommunicatorConformance.h.
class Communicator {
public:
  virtual ~Communicator() = default;
  /// Called once, before the first `post`.
  virtual Status prepare(const CommunicationPlan &plan) = 0;
  /// True if operations must be posted in the order of the plan, because the transport matches them by their order. Such a communicator is
  /// wrapped in an OrderedCommunicator.
  virtual bool needsOrder() const = 0;
  /// Called before the operations of a training step are posted. If operations travel between sessions that are in different steps, or have
  /// plans of different programs, all end with an error that has both values.
  virtual void beginStep(int64_t trainingStep) = 0;
  /// Starts one rank's part; never blocks. `members` must stay valid until the completion; the buffers belong to the communicator
  /// until then. Completes with an error when members disagree in kind, type, operator or sizes, or after `abort`.
  virtual void post(const Operation &operation) = 0;
  /// Completes everything pending and everything posted later, in every session, with this error. The first abort wins.
  virtual void abort(const Status &status) = 0;
  /// Operations that wait, and the members that are missing, for reports.
  virtual std::vector<PendingOperation> pending() const = 0;
  /// The reason if another session aborted first; success if none did.
  virtual Status abortedElsewhere() const = 0;
  /// Between training steps: each session contributes some bytes and gets the bytes of all sessions, by session. All sessions call it the
  /// same number of times, in the same order; it blocks until the last one calls it. Returns an error after an abort, or when
  /// `timeoutSeconds` have passed, in which case it aborts. May be called before `prepare`.
  virtual Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds) = 0;
};

/// "all_gather", "send": the word of what the ranks do.
const char *nameOf(const Operation &operation);

} // namespace npar::engine
