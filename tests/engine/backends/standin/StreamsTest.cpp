// Streams and events order work, and nothing else does: a wait that is missing shows.
#include "tests/engine/backends/standin/StandinTest.h"

#include <atomic>
#include <functional>
#include <thread>

using namespace npar::standin;

namespace {
constexpr uint64_t seeds = 20;

class StreamsTest : public StandinTest {
protected:
  /// Number of seeds, out of 20, with another result than the expected one.
  size_t surprises(const std::function<bool()> &expected) {
    size_t count = 0;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      beginWithSeed(seed);
      count += !expected();
    }
    return count;
  }

  /// One stream fills, another one copies out; whether the copy saw what was filled.
  bool handOver(bool waits) {
    Handle producer = stream(), consumer = stream(), filled = event();
    DevicePointer memory = allocate(64);
    auto *seen = pinned<uint32_t>(16);
    EXPECT_EQ(cuMemsetD32Async(memory, 7, 16, producer), Code::Success);
    EXPECT_EQ(cuEventRecord(filled, producer), Code::Success);
    if (waits) {
      EXPECT_EQ(cuStreamWaitEvent(consumer, filled, 0), Code::Success);
    }
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(seen, memory, 64, consumer), Code::Success);
    EXPECT_EQ(cuStreamSynchronize(consumer), Code::Success);
    return seen[0] == 7 && seen[15] == 7;
  }
};
} // namespace

TEST_F(StreamsTest, AMissingWaitBetweenStreamsShows) {
  EXPECT_EQ(surprises([&] { return handOver(true); }), 0u);
  EXPECT_GE(surprises([&] { return handOver(false); }), 5u);
}

// An event that was recorded before the work says nothing of it.
TEST_F(StreamsTest, AnEventTooEarlyShows) {
  size_t count = surprises([&] {
    Handle one = stream(), early = event();
    auto *seen = pinned<uint32_t>(1);
    DevicePointer memory = allocate(4);
    cuMemsetD32Async(memory, 7, 1, one);
    cuEventRecord(early, one);
    cuMemcpyDtoHAsync_v2(seen, memory, 4, one);
    EXPECT_EQ(cuEventSynchronize(early), Code::Success);
    return *seen == 7;
  });
  EXPECT_GE(count, 5u);
}

// The source of a copy from page-locked memory is read when the copy runs, that from pageable memory by the call.
TEST_F(StreamsTest, CopiesAreLate) {
  auto changedSource = [&](bool isPinned) {
    Handle one = stream();
    DevicePointer memory = allocate(4);
    std::vector<uint32_t> pageable(1);
    uint32_t *source = isPinned ? pinned<uint32_t>(1) : pageable.data(), seen = 0;
    *source = 1;
    cuMemcpyHtoDAsync_v2(memory, source, 4, one);
    *source = 2;
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(&seen, memory, 4, one), Code::Success); // returns when it is done: `seen` is pageable
    return seen == 1;
  };
  EXPECT_GE(surprises([&] { return changedSource(true); }), 15u);
  EXPECT_EQ(surprises([&] { return changedSource(false); }), 0u);
}

// An event that is not waited for ends by itself. Queries finally report it, and report it from then on.
TEST_F(StreamsTest, QueriesAreDenied) {
  size_t denied = surprises([&] {
    Handle one = stream(), end = event();
    EXPECT_EQ(cuEventQuery(end), Code::Success); // never recorded
    cuMemsetD32Async(allocate(4), 7, 1, one);
    cuEventRecord(end, one);
    size_t times = 0;
    while (cuEventQuery(end) == Code::NotReady)
      ++times;
    EXPECT_EQ(cuEventQuery(end), Code::Success);
    EXPECT_EQ(cuStreamQuery(one), Code::Success);
    return times == 0;
  });
  EXPECT_EQ(denied, seeds);
}

TEST_F(StreamsTest, ContextWaitsForAll) {
  EXPECT_EQ(surprises([&] {
              auto *seen = pinned<uint32_t>(4);
              DevicePointer memory = allocate(16);
              for (uint32_t i = 0; i < 4; ++i) {
                Handle one = stream();
                cuMemsetD32Async(memory + 4 * i, i, 1, one);
                cuMemcpyDtoHAsync_v2(seen + i, memory + 4 * i, 4, one);
                cuStreamDestroy_v2(one);
              }
              EXPECT_EQ(cuCtxSynchronize(), Code::Success);
              return seen[0] == 0 && seen[1] == 1 && seen[2] == 2 && seen[3] == 3;
            }),
            0u);
}

// Values in memory: one stream waits for what another one, or the host, writes.
TEST_F(StreamsTest, Values) {
  Handle one = stream(), two = stream();
  auto *flags = pinned<uint32_t>(2);
  flags[0] = flags[1] = 0;
  auto at = [&](int i) { return reinterpret_cast<DevicePointer>(flags + i); };
  cuStreamWaitValue32_v2(two, at(0), 3, static_cast<unsigned>(WaitValue::AtLeast));
  cuStreamWriteValue32_v2(two, at(1), 8, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(cuStreamQuery(two), Code::NotReady);
  EXPECT_EQ(flags[1], 0u);
  cuStreamWriteValue32_v2(one, at(0), 4, 0);
  EXPECT_EQ(cuStreamSynchronize(two), Code::Success);
  EXPECT_EQ(flags[1], 8u);
}

TEST_F(StreamsTest, Refusals) {
  DevicePointer memory = allocate(4);
  uint32_t word = 0;
  EXPECT_EQ(cuMemsetD32Async(memory, 1, 1, nullptr), Code::NotSupported);
  EXPECT_EQ(cuMemcpyHtoD_v2(memory, &word, 4), Code::NotSupported);
  Handle one = stream(), gone = event();
  cuEventDestroy_v2(gone);
  EXPECT_EQ(cuEventQuery(gone), Code::InvalidHandle);
  EXPECT_EQ(cuEventRecord(gone, one), Code::InvalidHandle);
  cuStreamDestroy_v2(one);
  EXPECT_EQ(cuStreamSynchronize(one), Code::InvalidHandle);
  std::thread([] { EXPECT_EQ(cuCtxSynchronize(), Code::InvalidContext); }).join();
}

// A device that is lost answers everything with that.
TEST_F(StreamsTest, Lost) {
  Settings settings;
  ASSERT_EQ(settings.readFaults("lost-after=3,driver=11040"), "");
  begin(settings);
  int version = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), Code::Success);
  EXPECT_EQ(version, 11040);
  Handle one = stream();
  DevicePointer memory = allocate(4);
  for (int i = 0; i < 2; ++i)
    cuMemsetD32Async(memory, 1, 1, one);
  EXPECT_EQ(cuStreamSynchronize(one), Code::Success);
  cuMemsetD32Async(memory, 1, 1, one);
  EXPECT_EQ(cuStreamSynchronize(one), Code::DeviceUnavailable);
  EXPECT_EQ(cuMemAlloc_v2(&memory, 4), Code::DeviceUnavailable);
  EXPECT_EQ(message(), "lost on purpose at operation 3");
  EXPECT_EQ(Settings().readFaults("lost-after"), "lost-after");
}
