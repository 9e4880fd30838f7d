// Gives every process the contributions of all: for the group of processes, and for each communicator between training steps.
#pragma once

#include "engine/comm/process/Contributions.h"
#include "engine/comm/process/Frames.h"
#include "engine/comm/process/PiecedMessage.h"
#include "engine/comm/process/ProcessTree.h"

#include <list>

namespace npar::engine {

/// The rounds of one stream, in sequence. Contributions go up a tree, combined on the way, and the complete set comes down: 2 (P - 1)
/// messages for P processes, at most 1 + ProcessTree::arity sent by each. Contributions that fit into a frame travel in it. A large one
/// goes directly from each process to each other process: there bandwidth counts, and the root would have to send all of them by itself.
///
/// A process begins a round when it has the complete result of the previous one, which includes the contributions of all its neighbours in
/// the tree. So at most one part from each neighbour is on its way here, from the current round or, from below, from the next one.
class Gathering {
public:
  /// The most bytes that one process may contribute. Memory is allocated as they arrive (PiecedMessage), not when they are announced.
  static constexpr uint64_t greatestContribution = uint64_t{1} << 36;
  Gathering(Frames &frames, uint32_t stream);
  ~Gathering();
  /// Called by one thread at a time, not the progress thread. Timeout: names the missing processes that this process knows: below it its
  /// direct children, above it only the process that it waits for.
  Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds);
  /// The two halves of `gather`: `begin` does not block; `await` waits for the end of the round.
  void begin(const std::vector<uint8_t> &own);
  Result<std::vector<std::vector<uint8_t>>> await(double timeoutSeconds);
  /// Ends the current and all later gathers with an error; the first error counts. Thread-safe.
  void fail(const Status &status);
  /// Number of rounds that this process has begun.
  uint64_t rounds() const;

  /// True if nothing is in flight. When a gather has ended here, everything has been sent to the processes below. On the progress thread.
  bool isQuiet() const;
  /// Handles a frame of kind Gather. On the progress thread.
  void read(uint32_t from, const Frame &frame);

private:
  struct Announcement {
    uint64_t round, size;
  };
  /// Contributions of a subtree, or of all, that a neighbour sends.
  struct Part {
    ProcessTree::Range range; ///< processes whose contributions these are
    uint64_t rounds = 0;      ///< number of rounds announced so far
    std::vector<uint8_t> bytes;
    enum { Nothing, Coming, Whole } state = Nothing;
    std::unique_ptr<PiecedMessage> message;
  };
  using Bytes = std::shared_ptr<std::vector<uint8_t>>;
  /// Bytes that other processes have not received yet.
  struct Gift {
    Bytes bytes;
    std::vector<std::unique_ptr<PiecedMessage>> messages;
    size_t unsent = 0;
  };
  std::vector<ProcessTree::Range> absent() const; ///< under the lock
  std::string missing() const;

  // These run on the progress thread:
  void give(Bytes bytes);
  void arrived(Part &part);
  void passOn();
  void spread(std::vector<uint8_t> packed);
  bool unpack(const std::vector<uint8_t> &packed);
  void tell(const std::vector<uint32_t> &processes, std::vector<uint8_t> packed);
  void send(const std::vector<uint32_t> &processes, Bytes bytes, uint32_t tag);
  void receiveApart(uint32_t process, uint64_t size, uint32_t tag);
  void endIfWhole();
  void failWith(const std::string &text) { frames.fail(Status::runFailed(text)); }

  Frames &frames;
  uint32_t stream;
  ProcessTree tree;

  // These are for the progress thread only:
  std::list<Gift> gifts;
  std::list<std::unique_ptr<PiecedMessage>> receiving; ///< contributions that other processes send directly
  Bytes apart;                                         ///< this process's contribution to this round that it sends directly to others
  std::vector<std::vector<uint8_t>> all;               ///< by process
  uint64_t round = 0;                                  ///< number of the current round here

  mutable std::mutex mutex;
  std::condition_variable changed;
  uint64_t begun = 0;
  Part above;
  std::vector<Part> below; ///< one for each range of the tree
  Contributions own;
  /// State of the round: `own` is set; the subtree's contributions have been combined; `result` is set.
  bool given = false, passed = false, ended = false;
  std::vector<uint32_t> awaited; ///< processes that send their bytes directly
  std::vector<std::vector<uint8_t>> result;
  Status failed;
};

} // namespace npar::engine
