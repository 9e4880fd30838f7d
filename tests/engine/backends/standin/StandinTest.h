// A fresh stand-in for each test, with a context and shorter words for what every test does.
#pragma once

#include "tests/engine/backends/standin/CudaCalls.h"
#include "tests/engine/backends/standin/Driver.h"

#include <gtest/gtest.h>

#include <vector>

namespace npar::standin {

class StandinTest : public ::testing::Test {
protected:
  void SetUp() override { begin({}); }
  void TearDown() override { Driver::restart({}); }

  /// Resets the stand-in to the state of a new process with these settings.
  void begin(Settings settings) {
    Driver::restart(settings);
    ASSERT_EQ(cuInit(0), Code::Success);
    Handle context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), Code::Success);
    ASSERT_EQ(cuCtxSetCurrent(context), Code::Success);
  }
  void beginWithSeed(uint64_t seed) {
    Settings settings;
    settings.seed = seed;
    begin(settings);
  }

  Handle stream() {
    Handle made = nullptr;
    EXPECT_EQ(cuStreamCreate(&made, streamNonBlocking), Code::Success);
    return made;
  }
  Handle event() {
    Handle made = nullptr;
    EXPECT_EQ(cuEventCreate(&made, eventDisableTiming), Code::Success);
    return made;
  }
  DevicePointer allocate(size_t bytes) {
    DevicePointer made = 0;
    EXPECT_EQ(cuMemAlloc_v2(&made, bytes), Code::Success);
    return made;
  }
  template <typename Element> Element *pinned(size_t count) {
    void *made = nullptr;
    EXPECT_EQ(cuMemHostAlloc(&made, count * sizeof(Element), 0), Code::Success);
    return static_cast<Element *>(made);
  }
  /// The error message of the first device.
  static std::string message() {
    Driver &driver = Driver::instance();
    std::lock_guard<std::mutex> lock(driver.queue.mutex);
    return driver.devices[0]->message;
  }
};

} // namespace npar::standin
