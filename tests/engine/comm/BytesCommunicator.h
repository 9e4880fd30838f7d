// Sessions that exchange only messages of bytes, like processes: threads represent the processes, queues the network.
#pragma once

#include "engine/comm/Communicator.h"
#include "engine/device/Backend.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

namespace npar::testing {

/// Carries messages between sessions; messages of one sender to one receiver arrive in the order in which they were sent.
class ByteQueues {
public:
  using Message = std::vector<uint8_t>;
  explicit ByteQueues(size_t sessions) : inboxes(sessions) {}
  size_t sessions() const { return inboxes.size(); }
  void send(size_t to, Message message);
  /// Waits for the next message.
  Message receive(size_t session);

private:
  struct Inbox {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<Message> messages;
  };
  std::vector<Inbox> inboxes;
};

struct BytesOptions {
  /// Operations of one group meet in the order in which they arrive, as in NCCL, and not by event and micro-batch.
  bool matchByOrder = false;
  /// Result of `needsOrder` with `matchByOrder`; false shows what happens if the order is not kept.
  bool askForOrder = true;
};

/// One session's end. One thread does everything: it sends a copy of each member's input to all sessions with members, and when the parts
/// of all members have arrived it moves data for the local members. So reductions add in member order in every session.
class BytesCommunicator final : public engine::Communicator {
public:
  BytesCommunicator(engine::Backend &backend, std::shared_ptr<ByteQueues> queues, size_t session, BytesOptions options = {});
  ~BytesCommunicator() override;
  engine::Status prepare(const engine::CommunicationPlan &plan) override;
  bool needsOrder() const override { return options.matchByOrder && options.askForOrder; }
  void beginStep(int64_t) override {}
  void post(const engine::Operation &operation) override;
  void abort(const engine::Status &status) override;
  std::vector<engine::PendingOperation> pending() const override;
  engine::Status abortedElsewhere() const override;
  engine::Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds) override;

private:
  /// One member's part in an operation: its parameters, of a bucket those of all parts, and where the session does not hold the rank its
  /// input.
  struct Share {
    std::deque<engine::Operation> parts;
    std::vector<std::vector<uint8_t>> inputs; ///< by part; empty: the input is in this session's memory
  };
  /// Shares of each member in the order they came in: a fast session may be a training step ahead.
  struct Meeting {
    std::vector<int64_t> members;
    std::vector<std::deque<Share>> shares;
  };
  using Key = std::tuple<bool, uint32_t, uint32_t, std::vector<int64_t>>; // transfer, event, micro, members

  void run();
  void handle(const ByteQueues::Message &message);
  void handlePost(const engine::Operation &operation);
  void add(Share share);
  void meet(Meeting &meeting);
  engine::Status move(std::vector<Share> &shares);
  void stop(const engine::Status &status, bool fromElsewhere);
  bool isHere(int64_t rank) const { return sessionOf[static_cast<size_t>(rank)] == session; }

  engine::Backend &backend;
  std::shared_ptr<ByteQueues> queues;
  size_t session;
  BytesOptions options;
  std::vector<uint32_t> sessionOf;
  mutable std::mutex mutex;
  std::condition_variable gathered;
  std::map<Key, Meeting> meetings;
  std::vector<std::deque<std::vector<uint8_t>>> gathering; ///< by session
  engine::Status reason;                                   ///< reason of the first abort
  bool reasonFromElsewhere = false;
  std::thread thread;
};

} // namespace npar::testing
