// Every process gives some bytes and gets those of all: for the group of processes, and for each communicator between training steps.
#pragma once

#include "engine/comm/process/Contributions.h"
#include "engine/comm/process/Frames.h"
#include "engine/comm/process/PiecedMessage.h"
#include "engine/comm/process/ProcessTree.h"

#include <list>

namespace npar::engine {

/// One stream's rounds, one after the other. What the processes give goes up a tree, put together on the way, and as a whole down again: of
/// P processes 2 (P - 1) messages, of one at most 1 + ProcessTree::arity. What fits into a frame goes in it. What is large goes from each
/// process straight to each other one: there the bytes count, which the root would have to send to all by itself.
///
/// A process begins a round when it has got the whole of the one before, which holds what all its neighbours in the tree gave: so of each
/// of them at most one part is on its way here, of the round under way or, from below, of the next one.
class Gathering {
public:
  /// Bytes that one process gives at most. They take memory as they come (PiecedMessage), not when they are announced.
  static constexpr uint64_t greatestContribution = uint64_t{1} << 36;
  Gathering(Frames &frames, uint32_t stream);
  ~Gathering();
  /// By one thread at a time, which is not the progress thread. Timeout: names those that have not come, as far as this process knows;
  /// below itself it knows its next ones, above it only whom it waits for.
  Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds);
  /// The two halves of `gather`: does not wait; waits for the end of what was begun.
  void begin(const std::vector<uint8_t> &own);
  Result<std::vector<std::vector<uint8_t>>> await(double timeoutSeconds);
  /// Ends what waits, and all that comes, with an error. From any thread; the first one counts.
  void fail(const Status &status);
  /// How many rounds this process has begun.
  uint64_t rounds() const;

  /// On the progress thread: whether nothing is on its way. When a gather has ended here, everything has been passed on to those below.
  bool isQuiet() const;
  /// On the progress thread: a frame of kind Gather.
  void read(uint32_t from, const Frame &frame);

private:
  struct Announcement {
    uint64_t round, size;
  };
  /// Contributions of a subtree, or of all, that come from a neighbour.
  struct Part {
    ProcessTree::Range range; ///< whose contributions
    uint64_t rounds = 0;      ///< that have been announced
    std::vector<uint8_t> bytes;
    enum { Nothing, Coming, Whole } state = Nothing;
    std::unique_ptr<PiecedMessage> message;
  };
  using Bytes = std::shared_ptr<std::vector<uint8_t>>;
  /// Bytes that others have not taken yet.
  struct Gift {
    Bytes bytes;
    std::vector<std::unique_ptr<PiecedMessage>> messages;
    size_t unsent = 0;
  };
  std::vector<ProcessTree::Range> absent() const; ///< under the lock
  std::string missing() const;

  // On the progress thread:
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

  // Of the progress thread:
  std::list<Gift> gifts;
  std::list<std::unique_ptr<PiecedMessage>> receiving; ///< what comes straight from others
  Bytes apart;                                         ///< what this process sends straight to others in this round
  std::vector<std::vector<uint8_t>> all;               ///< by process
  uint64_t round = 0;                                  ///< that is under way here

  mutable std::mutex mutex;
  std::condition_variable changed;
  uint64_t begun = 0;
  Part above;
  std::vector<Part> below; ///< as in the tree
  Contributions own;
  /// Of the round: `own` is there; the subtree's contributions have been put together; `result` is there.
  bool given = false, passed = false, ended = false;
  std::vector<uint32_t> awaited; ///< processes whose bytes come straight from them
  std::vector<std::vector<uint8_t>> result;
  Status failed;
};

} // namespace npar::engine
