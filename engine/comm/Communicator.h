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

enum class OperationKind : uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll, Permute, Send, Receive };

/// One rank's part in one communication event. Geometry as in Program.fbs: with n members and a piece of [outer, split, inner]
///   all_reduce       count -> count                                  may work in place
///   all_gather       [outer, split, inner] -> [outer, n * split, inner], member i's piece at position i
///   reduce_scatter   [outer, n * split, inner] -> [outer, split, inner], member i gets position i
///   all_to_all       block j along `split` of member i becomes block i along `concat` of member j; a block is
///                    [outer, split, middle, concat, inner], or [outer, concat, middle, split, inner] if `concatFirst`
///   permute          count -> count, member i's piece goes to member (i + shift) mod n
/// With `whole` not 0 the members' pieces, in order, are shares of a row of so many; the last may hold padding:
///   all_gather       [outer, split, inner] -> [outer, whole, inner]  padding is dropped
///   reduce_scatter   [whole] -> [split]                              padding becomes zeros
/// Reductions add in ascending member order.
struct Operation {
  OperationKind kind = OperationKind::AllReduce;
  program::ReduceOp op = program::ReduceOp::Sum;
  program::ElementType type = program::ElementType::F32;
  uint32_t event = 0, micro = 0; ///< with the members: the instance that they meet in, once per training step; transfers are numbered apart
  const int64_t *members = nullptr; ///< ranks of the group in member order; Send, Receive: {sender, receiver}
  uint32_t memberCount = 0;
  uint32_t member = 0; ///< the poster's place in `members`
  uint64_t count = 0;  ///< elements of the input (Receive: of the output)
  uint64_t outer = 1, split = 1, inner = 1, middle = 1, concat = 1, whole = 0;
  bool concatFirst = false;
  uint32_t shift = 0;
  DeviceAddress input, output;
  Completion *completion = nullptr;
  uint64_t tag = 0;                ///< the poster's name for it, given back by `pending`
  const Operation *next = nullptr; ///< of a bucket: its next part, with geometry and buffers of its own; valid until the completion

  int64_t rank() const { return members[member]; }
};

/// An operation that has been posted and not completed.
struct PendingOperation {
  uint64_t tag = 0;
  int64_t rank = 0;
  std::vector<int64_t> missing; ///< members that have not joined
};

/// All calls are thread-safe. A communicator may serve many ranks of one process. Any implementation passes
/// tests/engine/comm/CommunicatorConformance.h.
class Communicator {
public:
  virtual ~Communicator() = default;
  /// Starts one rank's part; never blocks. `members` must stay valid until the completion; the buffers belong to the communicator
  /// until then. Completes with an error when members disagree in kind, type, operator or sizes, or after `abort`.
  virtual void post(const Operation &operation) = 0;
  /// Completes everything pending and everything posted later with this error. The first abort wins.
  virtual void abort(const Status &status) = 0;
  /// What is waiting for whom, for reports.
  virtual std::vector<PendingOperation> pending() const = 0;
};

const char *nameOf(OperationKind kind);

} // namespace npar::engine
