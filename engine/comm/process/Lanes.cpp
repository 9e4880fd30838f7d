// One direction of an exchange between two processes: a sequence of messages with one tag, a few of them in flight at a time.
#include "engine/comm/process/Lanes.h"

namespace npar::engine {

namespace {
constexpr uint64_t messagesUnderWay = 4;

/// The only block of a piece, with its bytes; null when there are several.
struct OneBlock {
  const Block *block = nullptr;
  uint64_t begin = 0, end = 0;
};

OneBlock oneBlockOf(const Cut &cut, uint64_t piece) {
  OneBlock found;
  size_t blocks = 0;
  cut.stream->each(cut.begin(piece), cut.end(piece), [&](const Block &block, uint64_t begin, uint64_t end, uint64_t) {
    found = {&block, begin, end};
    ++blocks;
  });
  return blocks == 1 ? found : OneBlock();
}

} // namespace

Buffers::Buffers(const Group &group, const std::vector<Operation> &operations) : group(group) {
  for (size_t i = 0; i < operations.size(); ++i) {
    size_t part = 0;
    for (const Operation *each = &operations[i]; each; each = each->next, ++part) {
      if (parts.size() == part)
        parts.emplace_back(operations.size());
      parts[part][i] = each;
    }
  }
}

Lane::Lane(const LaneParts &parts, uint32_t peer, uint32_t tag, uint64_t messages, uint64_t window)
    : parts(parts), peer(peer), tag(tag), count(messages) {
  for (uint64_t i = 0; i < std::min(window, messages); ++i)
    slots.emplace_back(*this);
}

uint64_t Lane::firstUndone() const {
  uint64_t first = next;
  for (const Slot &slot : slots)
    if (slot.busy)
      first = std::min(first, slot.message);
  return first;
}

void Lane::allow(uint64_t messages) {
  allowed = std::max(allowed, std::min(messages, count));
  startAllowed();
}

void Lane::startAllowed() {
  for (Slot &slot : slots) {
    if (next >= allowed)
      return;
    if (slot.busy)
      continue;
    slot.busy = true;
    slot.message = next++;
    if (Status status = start(slot); !status.ok())
      return failed(status);
  }
}

void Lane::slotDone(Slot &slot, const Status &status) {
  Status result = status.ok() ? finish(slot) : status;
  if (!result.ok())
    return failed(result);
  slot.busy = false;
  uint64_t message = slot.message;
  startAllowed();
  done(message); // the exchange, and this with it, may end here
}

SendLane::SendLane(const LaneParts &parts, uint32_t peer, uint32_t tag, Of of, const Buffers &buffers, const std::vector<uint32_t> &members,
                   const Cut &cut)
    : Lane(parts, peer, tag, cut.pieces() * (of == Contributions ? members.size() : 1), messagesUnderWay), of(of), buffers(buffers),
      members(members), cut(cut) {}

DeviceAddress SendLane::memoryOf(const Block &block, uint64_t message) const {
  switch (of) {
  case Inputs:
    return buffers.input(block.part, block.source);
  case Contributions:
    return buffers.input(block.part, members[message % members.size()]);
  case Results:
    return buffers.output(block.part, members.front());
  }
  return {};
}

Status SendLane::start(Slot &slot) {
  uint64_t piece = of == Contributions ? slot.message / members.size() : slot.message;
  uint64_t bytes = cut.end(piece) - cut.begin(piece);
  if (OneBlock one = oneBlockOf(cut, piece); one.block && one.block->from.isOneRun(one.begin, one.end)) {
    DeviceAddress memory = memoryOf(*one.block, slot.message) + one.block->from.placeOf(one.begin);
    if (const void *seen = parts.backend.hostView(memory)) {
      parts.progress.transport().send(peer, tag, seen, bytes, slot);
      return {};
    }
  }
  Result<ScratchPiece> staging = parts.scratch.take(bytes);
  if (!staging.ok())
    return staging.status();
  slot.staging = *staging;
  cut.stream->each(cut.begin(piece), cut.end(piece), [&](const Block &block, uint64_t begin, uint64_t end, uint64_t offset) {
    DeviceAddress memory = memoryOf(block, slot.message);
    block.from.each(begin, end, [&](uint64_t place, uint64_t at, uint64_t length) {
      parts.backend.copyOut(slot.staging.host + offset + (at - begin), memory + place, length);
    });
  });
  if (Status status = waitUntilDone(parts.backend); !status.ok())
    return status;
  parts.progress.transport().send(peer, tag, slot.staging.host, bytes, slot);
  return {};
}

Status SendLane::finish(Slot &slot) {
  parts.scratch.give(slot.staging);
  return {};
}

ReceiveLane::ReceiveLane(const LaneParts &parts, uint32_t peer, uint32_t tag, const Buffers &buffers, const std::vector<uint32_t> *targets,
                         const Cut &cut)
    : Lane(parts, peer, tag, cut.pieces(), messagesUnderWay), buffers(buffers), targets(targets), cut(cut) {}

Status ReceiveLane::start(Slot &slot) {
  uint64_t piece = slot.message, bytes = cut.end(piece) - cut.begin(piece);
  if (OneBlock one = oneBlockOf(cut, piece); one.block && one.block->to.isOneRun(one.begin, one.end)) {
    DeviceAddress memory = buffers.output(one.block->part, targetsOf(*one.block).front()) + one.block->to.placeOf(one.begin);
    if (void *seen = parts.backend.hostView(memory)) {
      parts.progress.transport().receive(peer, tag, seen, bytes, slot);
      return {};
    }
  }
  Result<ScratchPiece> staging = parts.scratch.take(bytes);
  if (!staging.ok())
    return staging.status();
  slot.staging = *staging;
  parts.progress.transport().receive(peer, tag, slot.staging.host, bytes, slot);
  return {};
}

Status ReceiveLane::finish(Slot &slot) {
  uint64_t piece = slot.message;
  bool staged = slot.staging.bytes > 0;
  cut.stream->each(cut.begin(piece), cut.end(piece), [&](const Block &block, uint64_t begin, uint64_t end, uint64_t offset) {
    const std::vector<uint32_t> &members = targetsOf(block);
    DeviceAddress first = buffers.output(block.part, members.front());
    for (size_t i = staged ? 0 : 1; i < members.size(); ++i) {
      DeviceAddress memory = buffers.output(block.part, members[i]);
      block.to.each(begin, end, [&](uint64_t place, uint64_t at, uint64_t length) {
        if (staged)
          parts.backend.copyIn(memory + place, slot.staging.host + offset + (at - begin), length);
        else
          parts.backend.copy(memory + place, first + place, length);
      });
    }
  });
  Status status = waitUntilDone(parts.backend);
  parts.scratch.give(slot.staging);
  return status;
}

} // namespace npar::engine
