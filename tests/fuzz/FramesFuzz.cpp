// Frames of other processes, as they come from the network: a group of processes reads them, or fails with a message. Bytes: how many
// processes there are, which of them hears, then frames: sender, length of the frame, its bytes.
#include "tests/fuzz/FuzzTargets.h"

#include "engine/comm/process/Envelope.h"
#include "tests/engine/comm/process/ScriptedGroup.h"

namespace npar::fuzz {

using namespace engine;

namespace {

/// An envelope of another process is compared with an operation of this one, whatever is in it.
void compare(const Frame &frame) {
  static const int64_t members[2] = {0, 1};
  Operation own;
  own.members = members, own.memberCount = 2, own.count = 8;
  Group group;
  group.members = {0, 1}, group.parties = {{0, {0}}, {1, {1}}};
  Envelope envelope = frame.get<Envelope>();
  if (frame.has<Envelope>() && envelope.isSound())
    disagreement(own, group, 0, envelope);
}

} // namespace

void fuzzFrames(const uint8_t *bytes, size_t size) {
  if (size < 2)
    return;
  uint32_t count = 2 + bytes[0] % 40, self = bytes[1] % count;
  std::vector<std::pair<uint32_t, Frame>> sent;
  for (size_t at = 2; at + 3 <= size;) {
    uint32_t from = bytes[at] % count;
    size_t length = std::min<size_t>({size - at - 3, sizeof(Frame), size_t{bytes[at + 1]} | size_t{bytes[at + 2]} << 8});
    Frame frame;
    std::memset(static_cast<void *>(&frame), 0, sizeof(frame));
    std::memcpy(static_cast<void *>(&frame), bytes + at + 3, length);
    at += 3 + length;
    if (from == self)
      continue;
    compare(frame);
    sent.emplace_back(from, frame);
  }
  testing::ScriptedGroup group(self, count, std::move(sent));
  auto all = group.gathered();
  // Contents are the senders' own business: a damaged frame from the root may well state other bytes for this process.
  check(all.ok() ? all->size() == count : !all.status().message().empty());
}

} // namespace npar::fuzz
