// Device memory that the host cannot touch, that runs out, and that is gone when it was freed.
#include "tests/engine/backends/standin/StandinTest.h"

#include <cmath>
#include <cstring>

using namespace npar::standin;

namespace {
class MemoryTest : public StandinTest {
protected:
  /// Returns the contents of device memory after all other work.
  template <typename Element> std::vector<Element> read(DevicePointer memory, size_t count) {
    std::vector<Element> values(count);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(values.data(), memory, count * sizeof(Element), stream()), Code::Success);
    return values;
  }
};
using MemoryDeathTest = MemoryTest;
} // namespace

TEST_F(MemoryDeathTest, HostFaults) {
  DevicePointer memory = allocate(64);
  EXPECT_DEATH(*reinterpret_cast<volatile int *>(memory) = 1, "");
  auto *bytes = pinned<uint8_t>(4096);
  bytes[4095] = 1;
  EXPECT_DEATH(const_cast<volatile uint8_t *>(bytes)[4096] = 1, "");
  EXPECT_EQ(cuMemFreeHost(bytes), Code::Success);
  EXPECT_DEATH(const_cast<volatile uint8_t *>(bytes)[0] = 1, "");
}

TEST_F(MemoryTest, FreshIsNaN) {
  DevicePointer memory = allocate(64);
  EXPECT_EQ(memory % 256, 0u);
  EXPECT_NE(memory % 512, 0u);
  for (float value : read<float>(memory, 16))
    EXPECT_TRUE(std::isnan(value));
  for (double value : read<double>(memory, 8))
    EXPECT_TRUE(std::isnan(value));
  for (uint16_t half : read<uint16_t>(memory, 32))
    EXPECT_EQ(half, Memory::fresh);
  EXPECT_EQ(*pinned<uint16_t>(1), Memory::fresh);
}

// Out of memory changes nothing; the whole memory can be had at once.
TEST_F(MemoryTest, OutOfMemory) {
  Settings settings;
  settings.memory = 1 << 20;
  begin(settings);
  size_t free = 0, total = 0;
  DevicePointer memory = 0, more = 0;
  EXPECT_EQ(cuMemGetInfo_v2(&free, &total), Code::Success);
  EXPECT_EQ(free, size_t{1} << 20);
  EXPECT_EQ(total, size_t{1} << 20);
  EXPECT_EQ(cuMemAlloc_v2(&memory, (1 << 20) + 1), Code::OutOfMemory);
  EXPECT_EQ(cuMemAlloc_v2(&memory, 1 << 19), Code::Success);
  EXPECT_EQ(cuMemAlloc_v2(&more, 1 << 19), Code::OutOfMemory);
  EXPECT_EQ(cuMemAlloc_v2(&more, 1 << 18), Code::Success);
  EXPECT_EQ(cuMemFree_v2(more), Code::Success);
  EXPECT_EQ(cuMemFree_v2(memory), Code::Success);
  EXPECT_EQ(cuMemAlloc_v2(&more, 1 << 19), Code::Success);
  EXPECT_NE(more, memory);
  settings = {};
  ASSERT_EQ(settings.readFaults("memory-after=2"), "");
  begin(settings);
  EXPECT_EQ(cuMemAlloc_v2(&memory, 16), Code::Success);
  EXPECT_EQ(cuMemAlloc_v2(&memory, 16), Code::OutOfMemory);
}

// Memory is gone at once, though a copy was asked for before; from then on every call fails.
TEST_F(MemoryTest, UseAfterFree) {
  Handle one = stream();
  DevicePointer memory = allocate(64);
  auto *values = pinned<uint8_t>(64);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(memory, values, 64, one), Code::Success);
  EXPECT_EQ(cuMemFree_v2(memory), Code::Success);
  EXPECT_EQ(cuStreamSynchronize(one), Code::IllegalAddress);
  EXPECT_EQ(message(), "target of a copy of 64 bytes: byte 0 of 64 that were freed");
  EXPECT_EQ(cuMemAlloc_v2(&memory, 64), Code::IllegalAddress);
  EXPECT_EQ(cuStreamQuery(one), Code::IllegalAddress);
}

TEST_F(MemoryTest, CopiesStayInside) {
  Handle one = stream();
  DevicePointer memory = allocate(64);
  auto *values = pinned<uint8_t>(65);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(values, memory, 65, one), Code::Success);
  EXPECT_EQ(cuStreamSynchronize(one), Code::IllegalAddress);
}

TEST_F(MemoryTest, Refusals) {
  Handle one = stream();
  DevicePointer memory = allocate(64);
  uint8_t byte = 0;
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(memory, memory + 8, 16, one), Code::InvalidValue);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(memory, reinterpret_cast<void *>(memory), 16, one), Code::InvalidValue);
  EXPECT_EQ(cuMemsetD32Async(memory + 2, 1, 1, one), Code::InvalidValue);
  EXPECT_EQ(cuMemFree_v2(memory + 16), Code::InvalidValue);
  EXPECT_EQ(cuMemFree_v2(memory), Code::Success);
  EXPECT_EQ(cuMemFree_v2(memory), Code::InvalidValue);
  EXPECT_EQ(cuMemHostRegister_v2(&byte, 1, 0), Code::Success);
  EXPECT_EQ(cuMemHostRegister_v2(&byte, 1, 0), Code::HostMemoryAlreadyRegistered);
  EXPECT_EQ(cuMemHostUnregister(&byte), Code::Success);
}

// One device's memory is nothing to another.
TEST_F(MemoryTest, OfOtherDevices) {
  Settings settings;
  settings.devices = 2;
  begin(settings);
  DevicePointer memory = allocate(64);
  Handle context = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 1), Code::Success);
  EXPECT_EQ(cuCtxSetCurrent(context), Code::Success);
  Handle one = stream();
  EXPECT_EQ(cuMemsetD8Async(memory, 1, 64, one), Code::Success);
  EXPECT_EQ(cuStreamSynchronize(one), Code::IllegalAddress);
}

namespace {
class PeersTest : public MemoryTest {
protected:
  void SetUp() override { beginWith(false); }
  void beginWith(bool peers) {
    Settings settings;
    settings.devices = 2, settings.peers = peers, settings.architectures = {90, 80};
    begin(settings);
    for (int device : {0, 1}) {
      ASSERT_EQ(cuDevicePrimaryCtxRetain(&contexts[device], device), Code::Success);
      ASSERT_EQ(cuCtxSetCurrent(contexts[device]), Code::Success);
      memory[device] = allocate(64);
    }
    one = stream(); // of device 1
  }
  Code copied(int targetContext, DevicePointer target, int sourceContext, DevicePointer source) {
    Code code = cuMemcpyPeerAsync(target, contexts[targetContext], source, contexts[sourceContext], 64, one);
    Code end = cuStreamSynchronize(one);
    return code == Code::Success ? end : code;
  }
  Handle contexts[2] = {}, one = nullptr;
  DevicePointer memory[2] = {};
};
} // namespace

TEST_F(PeersTest, CopiesBetweenDevicesNameBothContexts) {
  ASSERT_EQ(cuMemsetD8Async(memory[1], 7, 64, one), Code::Success);
  EXPECT_EQ(copied(0, memory[0], 1, memory[1]), Code::Success);
  EXPECT_EQ(cuMemsetD8Async(memory[1], 8, 64, one), Code::Success);
  EXPECT_EQ(copied(1, memory[1], 0, memory[0]), Code::Success);
  EXPECT_EQ(read<uint8_t>(memory[1], 64), std::vector<uint8_t>(64, 7));
  EXPECT_EQ(copied(1, memory[1], 1, memory[0]), Code::IllegalAddress);
}

TEST_F(PeersTest, PlainCopiesDoNotReachAcross) {
  EXPECT_EQ(cuCtxEnablePeerAccess(contexts[0], 0), Code::PeerAccessUnsupported);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(memory[1], memory[0], 64, one), Code::Success);
  EXPECT_EQ(cuStreamSynchronize(one), Code::IllegalAddress);
}

TEST_F(PeersTest, UnlessAccessIsGiven) {
  beginWith(true);
  int can = 0;
  ASSERT_EQ(cuDeviceCanAccessPeer(&can, 1, 0), Code::Success);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(cuCtxEnablePeerAccess(contexts[0], 0), Code::Success);
  EXPECT_EQ(cuCtxEnablePeerAccess(contexts[0], 0), Code::PeerAccessAlreadyEnabled);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(memory[1], memory[0], 64, one), Code::Success);
  EXPECT_EQ(cuStreamSynchronize(one), Code::Success);
}

// Leaks are reported, also if the context was destroyed first.
TEST_F(MemoryTest, Leaks) {
  DevicePointer memory = allocate(64);
  Handle one = stream();
  event();
  std::vector<std::string> expected{"64 bytes of device 0's memory", "1 streams", "1 events", "1 contexts"};
  EXPECT_EQ(Driver::instance().left(), expected);
  EXPECT_EQ(cuStreamDestroy_v2(one), Code::Success);
  EXPECT_EQ(cuMemFree_v2(memory), Code::Success);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), Code::Success);
  EXPECT_EQ(Driver::instance().left(), std::vector<std::string>{"1 events"});
  EXPECT_EQ(cuCtxSynchronize(), Code::InvalidContext);
}
