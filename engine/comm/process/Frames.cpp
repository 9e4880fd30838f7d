// Sends short self-describing messages between processes: each pair has an ordered sequence of them, and separate data messages by tags.
#include "engine/comm/process/Frames.h"

#include <algorithm>

namespace npar::engine {

namespace {
constexpr uint32_t frameTag = 0, firstDataTag = 1; // also Frames::nextTag
/// Limit of the frames that one process may send for streams not open here yet. A stream begins with a few gathers, so it needs few.
constexpr uint32_t mostEarly = 1024;
} // namespace

/// Receives the frames of one process, one after the other.
struct Frames::Incoming final : MessageDone {
  Incoming(Frames &frames, uint32_t from) : frames(frames), from(from) {}
  void start() { frames.thread.transport().receive(from, frameTag, &frame, sizeof(frame), *this); }
  void messageDone(const Status &status) override {
    if (!status.ok())
      return frames.fail(status);
    frames.read(from, frame);
    if (!frames.thread.hasHalted())
      start();
  }
  Frames &frames;
  uint32_t from;
  Frame frame;
};

struct Frames::Outgoing final : MessageDone {
  explicit Outgoing(Frames &frames) : frames(frames) {}
  void messageDone(const Status &status) override {
    frames.unused.push_back(this);
    if (!status.ok())
      frames.fail(status);
  }
  Frames &frames;
  Frame frame;
};

Frames::Frames(Progress &progress) : thread(progress) {}

Frames::~Frames() = default;

void Frames::begin() {
  earlyOf.assign(thread.processes(), 0);
  for (uint32_t process = 0; process < thread.processes(); ++process) {
    incoming.push_back(std::make_unique<Incoming>(*this, process));
    if (process != thread.process())
      incoming.back()->start();
  }
  thread.onTick([this] {
    for (auto &[stream, reader] : std::map<uint32_t, FrameReader *>(readers))
      reader->tick();
  });
}

void Frames::open(uint32_t stream, FrameReader &reader) {
  readers[stream] = &reader;
  if (!failed.ok())
    return reader.fail(failed);
  auto waiting = early.find(stream);
  if (waiting == early.end())
    return;
  std::vector<std::pair<uint32_t, Frame>> frames = std::move(waiting->second);
  early.erase(waiting);
  for (const auto &[from, frame] : frames) {
    --earlyOf[from];
    reader.read(from, frame);
  }
}

void Frames::close(uint32_t stream) {
  readers.erase(stream);
  greatestClosed = std::max(greatestClosed, stream);
}

void Frames::read(uint32_t from, const Frame &frame) {
  if (frame.head.kind > FrameKind::Refusal || frame.head.held > Frame::room)
    return fail(Status::runFailed("process " + std::to_string(from) + " sends what is no frame: kind " +
                                  std::to_string(static_cast<uint32_t>(frame.head.kind)) + ", " + std::to_string(frame.head.held) +
                                  " bytes, of which a frame holds " + std::to_string(Frame::room)));
  if (auto reader = readers.find(frame.head.stream); reader != readers.end())
    reader->second->read(from, frame);
  else if (frame.head.stream > greatestClosed) {
    if (++earlyOf[from] > mostEarly)
      return fail(Status::runFailed("process " + std::to_string(from) + " sends more than " + std::to_string(mostEarly) +
                                    " frames for what this process has not opened"));
    early[frame.head.stream].emplace_back(from, frame);
  }
}

void Frames::send(uint32_t to, const Frame &frame) {
  if (thread.hasHalted())
    return;
  if (unused.empty())
    unused.push_back(&sent.emplace_back(*this));
  Outgoing &out = *unused.back();
  unused.pop_back();
  out.frame = frame;
  thread.transport().send(to, frameTag, &out.frame, sizeof(Frame), out);
}

size_t Frames::leaving() const { return sent.size() - unused.size(); }

uint32_t Frames::newTag(uint32_t tags) {
  if (nextTag + tags - 1 > thread.transport().greatestTag())
    nextTag = firstDataTag;
  uint32_t tag = nextTag;
  nextTag += tags;
  return tag;
}

void Frames::fail(const Status &status) {
  if (!failed.ok())
    return;
  failed = status;
  thread.halt();
  for (auto &[stream, reader] : std::map<uint32_t, FrameReader *>(readers))
    reader->fail(status);
}

} // namespace npar::engine
