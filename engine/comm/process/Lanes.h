// One direction of an exchange between two processes: a sequence of messages with one tag, a few of them in flight at a time.
#pragma once

#include "engine/comm/process/Geometry.h"
#include "engine/comm/process/Progress.h"
#include "engine/comm/process/Scratch.h"

#include <deque>
#include <functional>
#include <vector>

namespace npar::engine {

/// Objects that lanes use. All belong to the progress thread.
struct LaneParts {
  Progress &progress;
  Backend &backend;
  Scratch &scratch;
};

/// Inputs and outputs of the members that are in this process, by part and member.
class Buffers {
public:
  /// `operations`: of the own party, in member order.
  Buffers(const Group &group, const std::vector<Operation> &operations);
  DeviceAddress input(uint32_t part, uint32_t member) const { return parts[part][group.placeOf(member)]->input; }
  DeviceAddress output(uint32_t part, uint32_t member) const { return parts[part][group.placeOf(member)]->output; }
  const Operation &first(uint32_t part) const { return *parts[part].front(); }

private:
  const Group &group;
  std::vector<std::vector<const Operation *>> parts;
};

/// A sequence of messages with one tag. Each message in flight has a slot, which is notified of its completion.
class Lane {
public:
  Lane(const LaneParts &parts, uint32_t peer, uint32_t tag, uint64_t messages, uint64_t window);
  virtual ~Lane() = default;
  Lane(const Lane &) = delete;
  /// Starts messages below this number, as many as may be in flight. Later calls only raise the number.
  void allow(uint64_t messages);
  uint64_t messages() const { return count; }
  bool isDone() const { return firstUndone() == count; }
  /// All messages before this one are done.
  uint64_t firstUndone() const;

  std::function<void(uint64_t message)> done; ///< called when a message is done; nothing refers to its bytes any more
  std::function<void(const Status &)> failed;

protected:
  struct Slot final : MessageDone {
    explicit Slot(Lane &lane) : lane(lane) {}
    void messageDone(const Status &status) override { lane.slotDone(*this, status); }
    Lane &lane;
    uint64_t message = 0;
    bool busy = false;
    ScratchPiece staging;
  };
  virtual Status start(Slot &slot) = 0;
  virtual Status finish(Slot &slot) = 0;

  LaneParts parts;
  uint32_t peer, tag;

private:
  void startAllowed();
  void slotDone(Slot &slot, const Status &status);

  uint64_t count, next = 0, allowed = 0;
  std::deque<Slot> slots;
};

/// The bytes of a lane's messages: the stream is cut into pieces of equal size; the last one may be shorter.
struct Cut {
  const Stream *stream = nullptr;
  uint64_t pieceBytes = 1;
  uint64_t pieces() const { return (stream->bytes() + pieceBytes - 1) / pieceBytes; }
  uint64_t begin(uint64_t piece) const { return piece * pieceBytes; }
  uint64_t end(uint64_t piece) const { return std::min(begin(piece) + pieceBytes, stream->bytes()); }
};

/// Sends bytes of the members' memory: directly if the processor sees them as one run, otherwise from a copy.
class SendLane final : public Lane {
public:
  enum Of {
    Inputs,        ///< bytes of each block's source
    Contributions, ///< each piece once for each member of this process, from its input
    Results,       ///< bytes of the output of a block's first target here
  };
  SendLane(const LaneParts &parts, uint32_t peer, uint32_t tag, Of of, const Buffers &buffers, const std::vector<uint32_t> &members,
           const Cut &cut);

private:
  Status start(Slot &slot) override;
  Status finish(Slot &slot) override;
  DeviceAddress memoryOf(const Block &block, uint64_t message) const;

  Of of;
  const Buffers &buffers;
  const std::vector<uint32_t> &members;
  Cut cut;
};

/// Receives bytes for the outputs of members here: directly into the first one's if the processor sees it as one run.
class ReceiveLane final : public Lane {
public:
  /// `targets`: the targets of every block; null: each block's own.
  ReceiveLane(const LaneParts &parts, uint32_t peer, uint32_t tag, const Buffers &buffers, const std::vector<uint32_t> *targets,
              const Cut &cut);

private:
  Status start(Slot &slot) override;
  Status finish(Slot &slot) override;
  const std::vector<uint32_t> &targetsOf(const Block &block) const { return targets ? *targets : block.targets; }

  const Buffers &buffers;
  const std::vector<uint32_t> *targets;
  Cut cut;
};

} // namespace npar::engine
