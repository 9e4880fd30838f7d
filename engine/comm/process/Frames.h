// Sends short self-describing messages between processes: each pair has an ordered sequence of them, and separate data messages by tags.
#pragma once

#include "engine/comm/process/Progress.h"

#include <cstring>
#include <deque>
#include <map>
#include <vector>

namespace npar::engine {

enum class FrameKind : uint32_t { Gather, Broadcast, Envelope, News, Refusal };

/// All frames have the same size, so a receive can wait for the next one of any kind. Contents that do not fit follow as data, with the tag
/// that the frame states.
struct Frame {
  static constexpr size_t bytes = 1024;
  struct Head {
    FrameKind kind = FrameKind::Gather;
    uint32_t stream = 0;  ///< 0: the group of processes itself; otherwise the number of a communicator
    uint32_t dataTag = 0; ///< tag of messages that follow
    uint32_t held = 0;    ///< bytes of the body
  };
  static constexpr size_t room = bytes - sizeof(Head);
  Head head;
  uint8_t body[room];

  /// Starts the body with a structure of plain data, without padding; more bytes can be appended.
  template <typename T> void put(const T &value) {
    static_assert(std::has_unique_object_representations_v<T> && sizeof(T) <= room, "every byte of a frame is part of a number");
    std::memcpy(body, &value, sizeof(T));
    head.held = sizeof(T);
  }
  /// Checks that the body of a received frame is long enough for a T.
  template <typename T> bool has() const { return head.held >= sizeof(T) && head.held <= room; }
  template <typename T> T get() const {
    T value;
    std::memcpy(static_cast<void *>(&value), body, sizeof(T));
    return value;
  }
  size_t left() const { return room - head.held; }
  void append(const void *from, size_t size) {
    if (size) // `from` may be null then
      std::memcpy(body + head.held, from, size);
    head.held += static_cast<uint32_t>(size);
  }
};

/// Handles the frames of a stream. Called on the progress thread.
class FrameReader {
public:
  virtual ~FrameReader() = default;
  virtual void read(uint32_t from, const Frame &frame) = 0;
  /// About every 20 ms.
  virtual void tick() {}
  /// The transport has failed.
  virtual void fail(const Status &status) = 0;
};

/// All calls are made on the progress thread, unless stated otherwise. Frames of a stream that has no reader yet are kept for it, because
/// another process may have opened the stream earlier. Frames of a closed stream are dropped.
class Frames {
public:
  explicit Frames(Progress &progress);
  ~Frames();
  /// Begins to receive.
  void begin();
  void open(uint32_t stream, FrameReader &reader);
  void close(uint32_t stream);
  void send(uint32_t to, const Frame &frame);
  /// The first of `tags` consecutive tags for data messages to any process; none of them is used by a message still in flight.
  uint32_t newTag(uint32_t tags = 1);
  /// Tells all current and future readers that messages cannot be delivered.
  void fail(const Status &status);
  /// Number of frames that are not sent yet.
  size_t leaving() const;
  Progress &progress() { return thread; }

private:
  struct Incoming;
  struct Outgoing;
  void read(uint32_t from, const Frame &frame);

  Progress &thread;
  std::vector<std::unique_ptr<Incoming>> incoming; ///< by process
  std::deque<Outgoing> sent;
  std::vector<Outgoing *> unused;
  std::map<uint32_t, FrameReader *> readers;
  std::map<uint32_t, std::vector<std::pair<uint32_t, Frame>>> early; ///< by stream: sender and frame
  std::vector<uint32_t> earlyOf;                                     ///< number of early frames, by process
  uint32_t greatestClosed = 0, nextTag = 1;
  Status failed;
};

} // namespace npar::engine
