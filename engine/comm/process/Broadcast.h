// Sends the bytes of process 0 to all processes: in blocks down a binary tree, so that a process forwards one block while the next arrives.
#pragma once

#include "engine/comm/process/Frames.h"
#include "engine/comm/process/PiecedMessage.h"

#include <list>

namespace npar::engine {

class Broadcast {
public:
  /// The most bytes that process 0 may send; a larger announcement is an error. Memory is allocated block by block, as the bytes arrive.
  static constexpr uint64_t greatest = uint64_t{1} << 34;
  explicit Broadcast(Frames &frames) : frames(frames) {}
  /// Called by one thread at a time, not the progress thread; all processes call it the same number of times.
  Result<std::vector<uint8_t>> broadcast(std::vector<uint8_t> bytes, double timeoutSeconds);
  void fail(const Status &status);
  /// Handles a frame of kind Broadcast. On the progress thread.
  void read(uint32_t from, const Frame &frame);

private:
  struct Block {
    uint64_t total, begin, size;
  };
  /// The blocks that arrive from the parent, and those that the children have not received yet.
  struct Content {
    uint64_t total = 0, announced = 0, arrived = 0; ///< bytes
    std::deque<std::vector<uint8_t>> blocks;        ///< announced blocks; their addresses do not change
    std::list<std::unique_ptr<PiecedMessage>> messages;
  };
  /// Makes room for the next block; false if it is not the next one.
  static bool announce(Content &content, const Block &block);
  void passOn(std::shared_ptr<Content> content, const Block &block, std::vector<uint8_t> &bytes);
  void move(std::shared_ptr<Content> content, PiecedMessage::Direction direction, uint32_t peer, uint32_t tag, std::vector<uint8_t> &bytes,
            std::function<void()> then);

  Frames &frames;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Content>> contents; ///< broadcasts that have begun to arrive and have not been asked for
  std::shared_ptr<Content> coming;               ///< the broadcast that is arriving; for the progress thread
  Status failed;
};

} // namespace npar::engine
