// The bytes of process 0 at all of them: in blocks down a binary tree, so that a process passes one block on while the next one comes.
#pragma once

#include "engine/comm/process/Frames.h"
#include "engine/comm/process/PiecedMessage.h"

#include <list>

namespace npar::engine {

class Broadcast {
public:
  /// Bytes that process 0 may send: more is announced by no sound process. They take memory block by block, as they come.
  static constexpr uint64_t greatest = uint64_t{1} << 34;
  explicit Broadcast(Frames &frames) : frames(frames) {}
  /// By one thread at a time, which is not the progress thread; all processes call it equally often.
  Result<std::vector<uint8_t>> broadcast(std::vector<uint8_t> bytes, double timeoutSeconds);
  void fail(const Status &status);
  /// On the progress thread: a frame of kind Broadcast.
  void read(uint32_t from, const Frame &frame);

private:
  struct Block {
    uint64_t total, begin, size;
  };
  /// What comes from the parent, and what the children have not taken yet.
  struct Content {
    uint64_t total = 0, announced = 0, arrived = 0; ///< bytes
    std::deque<std::vector<uint8_t>> blocks;        ///< those announced; each stays where it is
    std::list<std::unique_ptr<PiecedMessage>> messages;
  };
  /// Makes room for the next block; false: it is not the next one.
  static bool announce(Content &content, const Block &block);
  void passOn(std::shared_ptr<Content> content, const Block &block, std::vector<uint8_t> &bytes);
  void move(std::shared_ptr<Content> content, PiecedMessage::Direction direction, uint32_t peer, uint32_t tag, std::vector<uint8_t> &bytes,
            std::function<void()> then);

  Frames &frames;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Content>> contents; ///< that have begun to come and have not been asked for
  std::shared_ptr<Content> coming;               ///< of the progress thread
  Status failed;
};

} // namespace npar::engine
