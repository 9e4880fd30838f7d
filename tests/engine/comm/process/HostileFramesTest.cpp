// Frames that no process of npar sends: the group fails with a message, and every length is checked before it is used.
#include "tests/engine/comm/process/ScriptedGroup.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

/// A frame of 64-bit numbers.
Frame frameOf(FrameKind kind, std::initializer_list<uint64_t> numbers, uint32_t dataTag = 0) {
  Frame frame;
  std::memset(static_cast<void *>(&frame), 0, sizeof(frame));
  frame.head.kind = kind, frame.head.dataTag = dataTag;
  for (uint64_t number : numbers)
    frame.append(&number, sizeof(number));
  return frame;
}

/// Returns the error of process `self` of 5 after process `from` has sent these frames.
std::string said(uint32_t self, uint32_t from, const std::vector<Frame> &frames) {
  std::vector<std::pair<uint32_t, Frame>> sent;
  for (const Frame &frame : frames)
    sent.emplace_back(from, frame);
  return ScriptedGroup(self, 5, sent).failure.message();
}

TEST(HostileFramesTest, AreNoFrames) {
  Frame frame = frameOf(static_cast<FrameKind>(17), {});
  EXPECT_EQ(said(0, 2, {frame}), "process 2 sends what is no frame: kind 17, 0 bytes, of which a frame holds 1008");
  // The body of a gather would be copied from beyond the frame.
  frame = frameOf(FrameKind::Gather, {0, 0xFFFFFFFF - 16});
  frame.head.held = 0xFFFFFFFF;
  EXPECT_EQ(said(0, 2, {frame}), "process 2 sends what is no frame: kind 0, 4294967295 bytes, of which a frame holds 1008");
}

TEST(HostileFramesTest, GathersOfAnySizeAreNotBelieved) {
  EXPECT_EQ(said(0, 2, {frameOf(FrameKind::Gather, {0})}), "process 2 gathers without saying what");
  EXPECT_EQ(said(0, 2, {frameOf(FrameKind::Gather, {0, uint64_t{1} << 40}, 9)}),
            "process 2 gathers for the 1th time 1099511627776 bytes, which is not its turn or its size");
  EXPECT_EQ(said(0, 2, {frameOf(FrameKind::Gather, {0, 16401}, 9)}).find("process 2 gathers for the 1th time 16401 bytes"), 0u);
  // Contributions that are sent separately: zero bytes, more bytes than memory, and bytes that this process has not sent.
  const uint64_t once = uint64_t{7} << 32 | 1;
  for (uint64_t size : {uint64_t{0}, uint64_t{1} << 60})
    EXPECT_EQ(said(1, 0, {frameOf(FrameKind::Gather, {0, 32, 0, 1, size, once})}), "process 0 has passed on what nobody gathers");
  EXPECT_EQ(said(1, 0, {frameOf(FrameKind::Gather, {0, 48, 0, 1, 20000, once, 0, 3})}), "process 0 has passed on what nobody gathers");
}

TEST(HostileFramesTest, BroadcastsComeInOrderAndFromTheParent) {
  constexpr uint64_t block = uint64_t{4} << 20;
  auto refused = [](uint64_t begin, uint64_t end, uint64_t total) {
    return "process 0 passes on bytes " + std::to_string(begin) + " to " + std::to_string(end) + " of " + std::to_string(total) +
           ", which are not the next ones";
  };
  auto of = [](uint64_t total, uint64_t begin, uint64_t size) { return frameOf(FrameKind::Broadcast, {total, begin, size}, 5); };
  EXPECT_EQ(said(1, 0, {of(100, 0, 100)}), "");
  EXPECT_EQ(said(1, 0, {of(block + 1, 0, block), of(block + 1, block, 1), of(3, 0, 3)}), "");
  // These wrote outside of the allocated memory, or allocated any announced size.
  EXPECT_EQ(said(1, 0, {of(100, 50, 100)}), refused(50, 150, 100));
  EXPECT_EQ(said(1, 0, {of(100, 0, 200)}), refused(0, 200, 100));
  EXPECT_EQ(said(1, 0, {of(block + 1, 0, block), of(block + 1, uint64_t{1} << 40, 1)}), refused(uint64_t{1} << 40, (uint64_t{1} << 40) + 1, block + 1));
  EXPECT_EQ(said(1, 0, {of(block + 1, 0, block), of(block + 1, 0, block)}), refused(0, block, block + 1));
  EXPECT_EQ(said(1, 0, {of(uint64_t{1} << 60, 0, block)}), refused(0, block, uint64_t{1} << 60));
  EXPECT_EQ(said(1, 2, {of(100, 0, 100)}), "process 2 passes on to process 1 what process 0 has for all, which is not its turn");
  EXPECT_EQ(said(0, 1, {of(100, 0, 100)}), "process 1 passes on to process 0 what process 0 has for all, which is not its turn");
}

TEST(HostileFramesTest, StreamsThatNobodyOpensHoldFewFrames) {
  Frame frame = frameOf(FrameKind::Envelope, {1, 2, 3});
  frame.head.stream = 77;
  EXPECT_EQ(said(0, 2, std::vector<Frame>(1000, frame)), "");
  EXPECT_EQ(said(0, 2, std::vector<Frame>(1100, frame)), "process 2 sends more than 1024 frames for what this process has not opened");
}

} // namespace
} // namespace npar::testing
