// Every process gives some bytes and gets those of all: for the group of processes, and for each communicator between training steps.
#pragma once

#include "engine/comm/process/Frames.h"
#include "engine/comm/process/PiecedMessage.h"

#include <list>

namespace npar::engine {

/// One stream's rounds, one after the other. Everyone sends to everyone, so that each can say whom it misses; what fits into a frame goes
/// in it.
class Gathering {
public:
  Gathering(Frames &frames, uint32_t stream);
  ~Gathering();
  /// By one thread at a time, which is not the progress thread. Timeout: names the processes that have not come.
  Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds);
  /// Ends what waits, and all that comes, with an error. From any thread; the first one counts.
  void fail(const Status &status);

  /// Whether this process has still to begin a round that another one has begun.
  bool isAhead(uint32_t process) const;

  /// On the progress thread: whether nothing is on its way.
  bool isQuiet() const;
  /// On the progress thread: a frame of kind Gather.
  void read(uint32_t from, const Frame &frame);

private:
  struct Announcement {
    uint64_t round, size;
  };
  struct Part {
    std::vector<uint8_t> bytes;
    bool whole = false;
    std::unique_ptr<PiecedMessage> message;
  };
  struct Gift {
    std::vector<uint8_t> bytes;
    std::vector<std::unique_ptr<PiecedMessage>> messages;
    size_t unsent = 0;
  };
  void give(uint64_t round, std::vector<uint8_t> bytes);
  bool complete() const; ///< under the lock
  std::string missing() const;

  Frames &frames;
  uint32_t stream;
  std::list<Gift> gifts; ///< of the progress thread: what others have not taken yet
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::deque<Part>> parts; ///< by process; a deque's elements do not move
  std::vector<uint64_t> begun;         ///< rounds, by process
  uint64_t round = 0;
  Status failed;
};

} // namespace npar::engine
