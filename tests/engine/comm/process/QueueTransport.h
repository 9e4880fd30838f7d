// A transport for tests: threads represent the processes, queues the network, which may delay messages and let others overtake.
#pragma once

#include "engine/comm/process/Progress.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <random>

namespace npar::testing {

struct QueueOptions {
  uint64_t seed = 1;
  double longestDelay = 0; ///< most seconds that a message may take; messages of other senders and tags overtake it
  bool rendezvous = false; ///< a send is done when it has been received; otherwise at once
};

/// Keeps a copy of each message from its send on, so that a process may end at any time.
class QueueNetwork {
public:
  using Clock = std::chrono::steady_clock;
  explicit QueueNetwork(size_t processes, QueueOptions options = {});
  /// Opens the transport of the process with this number.
  static engine::OpenTransport transport(std::shared_ptr<QueueNetwork> network, uint32_t process);
  size_t processes() const { return inboxes.size(); }
  uint64_t bytesSent(size_t from, size_t to) const { return traffic[from * inboxes.size() + to].bytes.load(); }
  uint64_t messagesSent(size_t from) const;
  uint64_t greatestMessage() const { return greatest.load(); }
  void forgetTraffic();
  /// Drops all later messages of the process.
  void cutOff(size_t process) { inboxes[process].cut.store(true); }

private:
  friend class QueueTransport;
  using Row = std::pair<uint32_t, uint32_t>; // sender and tag
  struct Message {
    std::vector<uint8_t> bytes;
    Clock::time_point due;
    std::shared_ptr<std::atomic<bool>> taken;
  };
  struct Inbox {
    std::mutex mutex;
    std::map<Row, std::deque<Message>> messages;
    std::map<Row, Clock::time_point> last; ///< time at which the last one is due
    std::mt19937_64 random;
    std::atomic<bool> cut{false};
  };
  struct Traffic {
    std::atomic<uint64_t> bytes{0}, messages{0};
  };
  void put(uint32_t to, const Row &row, Message message);

  QueueOptions options;
  std::deque<Inbox> inboxes;
  std::deque<Traffic> traffic; ///< by sender and receiver
  std::atomic<uint64_t> greatest{0};
};

} // namespace npar::testing
