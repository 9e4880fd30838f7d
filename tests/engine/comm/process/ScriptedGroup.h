// One process of a group whose other processes follow a script, to send frames that no process of npar sends.
#pragma once

#include "engine/comm/process/Broadcast.h"
#include "engine/comm/process/Gathering.h"

#include <algorithm>
#include <utility>

namespace npar::testing {

/// What the others send; messages that this process sends are gone at once. Data (tags above 0) are zeros, as long as there are any.
class ScriptedTransport final : public engine::Transport {
public:
  ScriptedTransport(uint32_t self, uint32_t count) : self(self), count(count) {}
  std::string name() const override { return "a script"; }
  uint32_t processes() const override { return count; }
  uint32_t process() const override { return self; }
  uint32_t greatestTag() const override { return INT32_MAX; }
  void send(uint32_t, uint32_t, const void *, size_t, engine::MessageDone &done) override { ended.push_back(&done); }
  void receive(uint32_t from, uint32_t tag, void *bytes, size_t size, engine::MessageDone &done) override {
    if (tag == 0)
      return void(waiting[from] = {static_cast<engine::Frame *>(bytes), &done});
    if (size > data)
      return; // which never comes
    data -= size;
    std::fill_n(static_cast<uint8_t *>(bytes), size, uint8_t{0});
    ended.push_back(&done);
  }
  bool progress() override {
    std::vector<engine::MessageDone *> now;
    now.swap(ended);
    for (engine::MessageDone *done : now)
      done->messageDone({});
    if (now.empty() && next < frames.size()) {
      const auto &[from, frame] = frames[next++];
      auto [place, done] = std::exchange(waiting[from], {});
      if (done) {
        *place = frame;
        done->messageDone({});
      }
      return true;
    }
    return !now.empty();
  }
  engine::Status leave() override { return {}; }

  std::vector<std::pair<uint32_t, engine::Frame>> frames; ///< sender and frame, in the order that they come in
  size_t data = size_t{32} << 20;                         ///< bytes that the others have

private:
  uint32_t self, count;
  size_t next = 0;
  std::map<uint32_t, std::pair<engine::Frame *, engine::MessageDone *>> waiting; ///< by sender
  std::vector<engine::MessageDone *> ended;
};

/// Gathers once and takes broadcasts, as ProcessGroup does; no thread.
class ScriptedGroup final : private engine::FrameReader {
public:
  ScriptedGroup(uint32_t self, uint32_t count, std::vector<std::pair<uint32_t, engine::Frame>> sent)
      : progress(*engine::Progress::withoutThread([&]() -> engine::Result<std::unique_ptr<engine::Transport>> {
          auto transport = std::make_unique<ScriptedTransport>(self, count);
          transport->frames = std::move(sent);
          return std::unique_ptr<engine::Transport>(std::move(transport));
        })),
        frames(*progress), gathering(frames, 0), broadcasting(frames) {
    frames.open(0, *this);
    frames.begin();
    gathering.begin({1, 2, 3});
    while (progress->step())
      ;
  }
  /// Returns the contributions of all processes, or an error while some are missing.
  engine::Result<std::vector<std::vector<uint8_t>>> gathered() { return gathering.await(0); }
  /// Why the group has failed; success while it has not.
  engine::Status failure;

private:
  void read(uint32_t from, const engine::Frame &frame) override {
    switch (frame.head.kind) {
    case engine::FrameKind::Gather:
      return gathering.read(from, frame);
    case engine::FrameKind::Broadcast:
      return broadcasting.read(from, frame);
    case engine::FrameKind::Envelope:
    case engine::FrameKind::News:
    case engine::FrameKind::Refusal:
      return;
    }
  }
  void fail(const engine::Status &status) override {
    failure = status;
    gathering.fail(status);
    broadcasting.fail(status);
  }

  std::shared_ptr<engine::Progress> progress;
  engine::Frames frames;
  engine::Gathering gathering;
  engine::Broadcast broadcasting;
};

} // namespace npar::testing
