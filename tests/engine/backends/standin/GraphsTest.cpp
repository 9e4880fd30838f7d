// Captured streams: forks and joins are kept, the rest runs in any order.
#include "tests/engine/backends/standin/StandinTest.h"

#include <thread>

using namespace npar::standin;

namespace {
class GraphsTest : public StandinTest {
protected:
  Handle launchable(Handle graph) {
    Handle made = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&made, graph, 0), Code::Success);
    EXPECT_EQ(cuGraphDestroy(graph), Code::Success);
    return made;
  }
};
} // namespace

// memory -> copy in one stream and a second fill in the other -> joined copy out; `joins` leaves out the fork's order.
TEST_F(GraphsTest, ForkAndJoin) {
  size_t wrong[2] = {0, 0};
  for (int joins = 0; joins < 2; ++joins)
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      beginWithSeed(seed);
      Handle one = stream(), two = stream(), forked = event(), joined = event(), graph = nullptr;
      DevicePointer memory = allocate(8);
      auto *seen = pinned<uint32_t>(2);
      ASSERT_EQ(cuStreamBeginCapture_v2(one, static_cast<int>(CaptureMode::ThreadLocal)), Code::Success);
      cuMemsetD32Async(memory, 1, 2, one);
      cuEventRecord(forked, one);
      cuStreamWaitEvent(two, forked, 0);
      cuMemsetD32Async(memory + 4, 2, 1, two);
      cuEventRecord(joined, two);
      if (joins)
        cuStreamWaitEvent(one, joined, 0);
      cuMemcpyDtoHAsync_v2(seen, memory, 8, one);
      if (!joins)
        cuStreamWaitEvent(one, joined, 0);
      ASSERT_EQ(cuStreamEndCapture(one, &graph), Code::Success);
      Handle executable = launchable(graph);
      EXPECT_EQ(seen[0], 0xFFF5FFF5); // nothing has run
      for (int time = 0; time < 2; ++time) {
        EXPECT_EQ(cuGraphLaunch(executable, two), Code::Success);
        EXPECT_EQ(cuStreamSynchronize(two), Code::Success);
        EXPECT_EQ(seen[0], 1u);
        wrong[joins] += seen[1] != 2;
        seen[0] = seen[1] = 0;
      }
      EXPECT_EQ(cuGraphExecDestroy(executable), Code::Success);
    }
  EXPECT_GE(wrong[0], 5u);
  EXPECT_EQ(wrong[1], 0u);
}

TEST_F(GraphsTest, Refusals) {
  Handle one = stream(), two = stream(), outside = event(), inside = event(), graph = nullptr;
  DevicePointer memory = allocate(8);
  uint64_t word = 0;
  auto begin = [&] { ASSERT_EQ(cuStreamBeginCapture_v2(one, 0), Code::Success); };
  cuEventRecord(outside, two);

  begin(); // a stream that joined and was left alone
  cuEventRecord(inside, one);
  cuStreamWaitEvent(two, inside, 0);
  cuMemsetD32Async(memory, 1, 1, two);
  EXPECT_EQ(cuStreamEndCapture(two, &graph), Code::StreamCaptureUnmatched);
  EXPECT_EQ(cuStreamEndCapture(one, &graph), Code::StreamCaptureUnjoined);

  begin(); // work from outside
  EXPECT_EQ(cuStreamWaitEvent(one, outside, 0), Code::StreamCaptureIsolation);
  EXPECT_EQ(cuMemsetD32Async(memory, 1, 1, one), Code::StreamCaptureInvalidated);
  EXPECT_EQ(cuStreamEndCapture(one, &graph), Code::StreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);

  begin(); // what waits or allocates
  EXPECT_EQ(cuMemAlloc_v2(&memory, 8), Code::StreamCaptureUnsupported);
  EXPECT_EQ(cuStreamEndCapture(one, &graph), Code::StreamCaptureInvalidated);

  begin();
  cuEventRecord(inside, one);
  EXPECT_EQ(cuEventSynchronize(inside), Code::CapturedEvent);
  EXPECT_EQ(cuStreamEndCapture(one, &graph), Code::StreamCaptureInvalidated);

  // Whoever waits for all work of the device ends every capture on it; a wait for one stream ends none.
  for (bool all : {true, false}) {
    ASSERT_EQ(cuStreamBeginCapture_v2(one, static_cast<int>(CaptureMode::ThreadLocal)), Code::Success);
    cuMemsetD32Async(memory, 1, 1, one);
    std::thread([&] {
      Handle context = nullptr;
      EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), Code::Success);
      EXPECT_EQ(cuCtxSetCurrent(context), Code::Success);
      if (all)
        EXPECT_EQ(cuCtxSynchronize(), Code::StreamCaptureUnsupported);
      else
        EXPECT_EQ(cuStreamSynchronize(two), Code::Success);
    }).join();
    EXPECT_EQ(cuStreamEndCapture(one, &graph), all ? Code::StreamCaptureInvalidated : Code::Success);
  }
  EXPECT_EQ(cuGraphDestroy(graph), Code::Success);

  begin(); // pageable memory
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(memory, &word, 8, one), Code::StreamCaptureUnsupported);
  std::thread([&] {
    Handle context = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), Code::Success);
    EXPECT_EQ(cuCtxSetCurrent(context), Code::Success);
    EXPECT_EQ(cuStreamEndCapture(one, &graph), Code::StreamCaptureWrongThread);
  }).join();
  EXPECT_EQ(cuStreamEndCapture(one, &graph), Code::Success);
  EXPECT_EQ(cuGraphDestroy(graph), Code::Success);
  EXPECT_EQ(cuStreamSynchronize(one), Code::Success);
}
