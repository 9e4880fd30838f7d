// Executes one instance of an operation whose members are in several processes: this process's messages and sums until its members are
// done.
#pragma once

#include "engine/comm/process/Lanes.h"
#include "engine/comm/process/Reduction.h"

#include <atomic>
#include <memory>

namespace npar::engine {

/// The movement of bytes between processes, the same in every training step, except the number of rows that exist.
struct ExchangePlan {
  ExchangePlan(const Operation &operation, const Group &group);
  /// Finds which rows exist, by the ends of all members here. Not while an exchange uses the plan. ExistingRows.cpp.
  Status countRows(Backend &backend, const Group &group, const std::vector<Operation> &operations);
  bool countsRows; ///< rows in pieces (Operation::places)
  bool adds;
  bool spreads;                ///< an all_reduce: sums go to all parties
  std::vector<Stream> gives;   ///< by party: bytes from here to it
  std::vector<Stream> takes;   ///< by party: bytes from it to here
  std::vector<Stream> sums;    ///< by party: bytes that it adds up
  std::vector<Block> within;   ///< bytes from members here to members here
  std::vector<Padding> zeroed; ///< zeroed outputs of members here
  uint64_t pieceBytes;         ///< size of a message
  /// Bytes in flight to all other processes; scratch memory in use at a time.
  uint64_t sentBytes, scratchBytes;
  std::vector<uint64_t> givenRows, takenRows; ///< by party: digests of the numbers of rows; 0 if rows are not counted
};

/// Starts to send as soon as the members here have arrived, and to receive from each other process once its part is known to agree with
/// this one's. Everything except `waitsFor` and `members` happens on the progress thread; `ended` is called once and may delete this
/// object.
///
/// all_reduce: every process gets its slice of the elements from all members, adds it up, and sends the sum to each process. A process with
/// k members sends (k + 1) (P - 1) / P of the elements: for one member as much as in a ring, for several less per member.
class Exchange {
public:
  /// Messages to and from another process have two tags of the sender's: one for members' contributions, one for sums.
  static constexpr uint32_t tags = 2;

  Exchange(const LaneParts &parts, const Group &group, const ExchangePlan &plan, std::vector<Operation> operations);
  ~Exchange();
  void begin(uint32_t tag, std::function<void(const Status &)> ended);
  /// All members of the other party have arrived and agree; its messages have this tag.
  void take(size_t party, uint32_t tag);
  /// True if data from the party, or data that it must receive, is outstanding. Thread-safe.
  bool waitsFor(size_t party) const { return peers[party].missing.load(std::memory_order_relaxed) > 0; }
  const std::vector<Operation> &members() const { return operations; }

private:
  struct Peer {
    std::unique_ptr<SendLane> gives, sums;
    std::unique_ptr<ReceiveLane> takes;
    std::atomic<uint32_t> missing{1}; ///< 1 for its agreement, then lanes that are not done
  };
  Cut cutOf(const Stream &stream) const { return {&stream, plan.pieceBytes}; }
  void watch(Peer &peer, Lane &lane, std::function<void(uint64_t)> done = {});
  void zeroMissingRows();
  void moveWithin(size_t firstBlock, uint64_t begin);
  void finishOne();
  void end(const Status &status);

  LaneParts parts;
  const Group &group;
  const ExchangePlan &plan;
  std::vector<Operation> operations; ///< parts of the members here, in member order
  Buffers buffers;
  std::vector<Peer> peers; ///< by party
  std::unique_ptr<Reduction> reduction;
  size_t unfinished = 0;
  std::function<void(const Status &)> ended;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true); ///< lets jobs detect that this object no longer exists
};

} // namespace npar::engine
