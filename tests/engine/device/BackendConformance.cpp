// Conformance tests of backends that compute: memory, copies, the order of one thread's work, the order of addition, completions.
#include "tests/engine/device/BackendConformance.h"

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;
using program::ReduceOp;

/// A device buffer of floats; of several devices they have these in turn, unless one is given.
class Floats {
public:
  Floats(Backend &backend, size_t count) : Floats(backend, count, made++ % backend.devices()) {}
  Floats(Backend &backend, size_t count, size_t device)
      : backend(backend), count(count), memory(*backend.allocateOn(device, count * sizeof(float))) {}
  Floats(const Floats &) = delete;
  ~Floats() { backend.release(memory, count * sizeof(float)); }
  void set(const std::vector<float> &values) {
    backend.copyIn(memory, values.data(), values.size() * sizeof(float));
    EXPECT_TRUE(waitUntilDone(backend).ok());
  }
  std::vector<float> get() const {
    std::vector<float> values(count);
    backend.copyOut(values.data(), memory, count * sizeof(float));
    EXPECT_TRUE(waitUntilDone(backend).ok());
    return values;
  }
  DeviceAddress at(size_t i) const { return memory + i * sizeof(float); }

private:
  inline static size_t made = 0;
  Backend &backend;
  size_t count;
  DeviceAddress memory;
};

std::vector<float> numbers(size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_P(BackendConformance, memoryBeginsAsZerosAndHoldsWhatIsCopiedIn) {
  for (size_t count : {1, 1000, 3 << 20}) {
    Floats floats(*backend, count);
    EXPECT_EQ(floats.get(), std::vector<float>(count, 0));
    floats.set(numbers(count, 1));
    EXPECT_EQ(floats.get(), numbers(count, 1));
  }
}

TEST_P(BackendConformance, whatOneThreadStartsHappensInThisOrder) {
  constexpr size_t count = 1 << 16;
  Floats a(*backend, count), b(*backend, count);
  std::vector<float> values = numbers(count, 0), result(count);
  for (int round = 0; round < 20; ++round) {
    backend->copyIn(a.at(0), values.data(), count * sizeof(float));
    backend->copy(b.at(0), a.at(0), count * sizeof(float));
    backend->zero(a.at(0), count * sizeof(float));
    backend->copy(a.at(1), b.at(0), (count - 1) * sizeof(float));
    backend->copyOut(result.data(), a.at(0), count * sizeof(float));
    ASSERT_TRUE(waitUntilDone(*backend).ok());
    ASSERT_EQ(result[0], 0);
    ASSERT_EQ(std::vector<float>(result.begin() + 1, result.end()), numbers(count - 1, 0));
  }
}

TEST_P(BackendConformance, reductionsAddInTheOrderOfTheSources) {
  Floats big(*backend, 2), small(*backend, 2), sum(*backend, 2);
  big.set({1e8f, -1e8f}), small.set({1, 1});
  auto reduce = [&](std::vector<DeviceAddress> sources) {
    DeviceAddress target = sum.at(0);
    backend->reduce(ElementType::F32, ReduceOp::Sum, sources.data(), sources.size(), &target, 1, 2);
    sources.clear(), target = DeviceAddress(); // the lists were read
    EXPECT_TRUE(waitUntilDone(*backend).ok());
    return sum.get();
  };
  EXPECT_EQ(reduce({small.at(0), big.at(0), small.at(0)}), (std::vector<float>{1e8f, -1e8f}));
  EXPECT_EQ(reduce({small.at(0), small.at(0), small.at(0)}), (std::vector<float>{3, 3}));
  EXPECT_EQ(reduce({small.at(0), sum.at(0)}), (std::vector<float>{4, 4})) << "a target may be a source";
}

// Threads that hand work on to each other by completions.
TEST_P(BackendConformance, aCompletionMakesResultsVisibleToAnyThread) {
  Floats floats(*backend, 1000);
  struct Flag final : Completion {
    void completed(const Status &status) override { ok = status.ok(), done = true; }
    std::atomic<bool> done{false}, ok{false};
  };
  std::vector<float> values;
  for (int round = 1; round <= 20; ++round) {
    Flag flag;
    std::thread writer([&] {
      backend->enterThread();
      values.assign(1000, static_cast<float>(round));
      backend->copyIn(floats.at(0), values.data(), values.size() * sizeof(float));
      backend->whenDone(flag);
    });
    for (int i = 0; i < 5000 && !flag.done; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    writer.join();
    ASSERT_TRUE(flag.done && flag.ok);
    ASSERT_EQ(floats.get(), std::vector<float>(1000, static_cast<float>(round)));
  }
}

// Work of a lane has one order, whichever threads start it, without waits between them.
TEST_P(BackendConformance, aLaneGoesOnInAnotherThread) {
  constexpr size_t count = 1 << 14, rounds = 8;
  const size_t last = backend->devices() - 1;
  ASSERT_TRUE(backend->prepareLanes({0, last}).ok());
  Floats a(*backend, count * (rounds + 1), 0), b(*backend, count * (rounds + 1), last);
  a.set(numbers(count, 5)), b.set(numbers(count, 7));
  for (size_t round = 0; round < rounds; ++round) {
    std::thread([&] {
      backend->enterThread();
      for (uint32_t lane : {0, 1}) {
        Floats &floats = lane == 0 ? a : b;
        backend->enterLane(lane);
        backend->copy(floats.at((round + 1) * count), floats.at(round * count), count * sizeof(float));
        backend->zero(floats.at(round * count), count * sizeof(float));
      }
      backend->enterLane(noLane);
    }).join();
  }
  for (uint32_t lane : {0, 1}) {
    backend->enterLane(lane);
    ASSERT_TRUE(waitUntilDone(*backend).ok());
    backend->enterLane(noLane);
    std::vector<float> all = (lane == 0 ? a : b).get();
    EXPECT_EQ(std::vector<float>(all.end() - count, all.end()), numbers(count, lane == 0 ? 5 : 7));
    EXPECT_EQ(std::vector<float>(all.begin(), all.end() - count), std::vector<float>(count * rounds, 0));
  }
}

// Recorded work is executed by each replay, in the lane's order.
TEST_P(BackendConformance, whatWasRecordedIsDoneAgain) {
  if (!backend->canRecord())
    GTEST_SKIP() << "this device records nothing";
  const size_t last = backend->devices() - 1;
  ASSERT_TRUE(backend->prepareLanes({last}).ok());
  Floats sum(*backend, 2, last), term(*backend, 2, last), other(*backend, 2, last);
  sum.set({1, 2}), term.set({10, 100}), other.set({3, 4});
  backend->enterLane(0);
  auto recorded = [&](DeviceAddress addend) {
    backend->beginRecording();
    std::vector<DeviceAddress> sources = {sum.at(0), addend};
    DeviceAddress target = sum.at(0);
    backend->reduce(ElementType::F32, ReduceOp::Sum, sources.data(), sources.size(), &target, 1, 2);
    backend->copy(other.at(0), sum.at(0), 2 * sizeof(float));
    Result<uint32_t> number = backend->endRecording();
    EXPECT_TRUE(number.ok()) << number.status().message();
    return number.ok() ? *number : 0;
  };
  uint32_t ten = recorded(term.at(0)), twice = recorded(other.at(0));
  ASSERT_TRUE(waitUntilDone(*backend).ok());
  EXPECT_EQ(sum.get(), (std::vector<float>{1, 2})) << "nothing was done";
  EXPECT_EQ(other.get(), (std::vector<float>{3, 4}));
  for (uint32_t number : {ten, ten, twice})
    backend->replay(number);
  ASSERT_TRUE(waitUntilDone(*backend).ok());
  EXPECT_EQ(sum.get(), (std::vector<float>{42, 404}));
  EXPECT_EQ(other.get(), sum.get());
  backend->replay(twice);
  EXPECT_EQ(sum.get(), (std::vector<float>{84, 808})) << "a copy out waits for it";
  backend->enterLane(noLane);
}

TEST_P(BackendConformance, moreMemoryThanThereIsIsAnError) {
  auto memory = backend->allocate(uint64_t{1} << 60);
  ASSERT_FALSE(memory.ok());
  EXPECT_NE(memory.status().message().find("1152921504606846976 bytes"), std::string::npos) << memory.status().message();
}

} // namespace
} // namespace npar::testing
