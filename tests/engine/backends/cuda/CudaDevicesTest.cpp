// Several GPUs of one process: what goes between them has the processor's bits and its order, and what must not be together is refused.
#include "engine/backends/Backends.h"
#include "tests/engine/backends/cuda/BothBackends.h"
#include "tests/engine/device/BackendConformance.h"

#include <array>
#include <cstdlib>
#include <regex>
#include <thread>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;
using program::ReduceOp;

Result<std::unique_ptr<Backend>> tryGpus(int64_t count, int64_t ranks) {
  Spread spread;
  spread.devices = count, spread.ranks = ranks;
  return createBackend("cuda", spread);
}

std::unique_ptr<Backend> makeGpus(int64_t count) {
  Result<std::unique_ptr<Backend>> backend = tryGpus(count, count);
  EXPECT_TRUE(backend.ok()) << backend.status().message();
  EXPECT_EQ((*backend)->devices(), static_cast<size_t>(count));
  return std::move(*backend);
}

INSTANTIATE_TEST_SUITE_P(Gpus, BackendConformance,
                         ::testing::Values(BackendCase{"two", [] { return makeGpus(2); }},
                                           BackendCase{"three", [] { return makeGpus(3); }}),
                         [](const auto &info) { return info.param.name; });

/// Work on buffers of one type, drawn: copies, zeros and reductions of any ranges, and rests now and then.
void doRandomWork(Backend &backend, ElementType type, size_t bytesEach, const std::vector<DeviceAddress> &places, size_t count,
                  uint64_t seed) {
  std::mt19937_64 random(seed);
  auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  for (int work = 0; work < 60; ++work) {
    size_t first = below(count / 2), length = 1 + below(count / 2);
    auto place = [&] { return places[below(places.size())] + first * bytesEach; };
    switch (below(5)) {
    case 0:
      backend.zero(place(), length * bytesEach / 4);
      break;
    case 1:
    case 2: {
      DeviceAddress target = place(), source = place();
      backend.copy(target, source, length * bytesEach);
      break;
    }
    case 3: {
      std::vector<DeviceAddress> sources, targets;
      for (size_t i = 0, many = 1 + below(2 * places.size()); i < many; ++i)
        sources.push_back(place());
      for (size_t i = below(places.size()); i < places.size(); ++i)
        targets.push_back(places[i] + first * bytesEach);
      backend.reduce(type, ReduceOp::Sum, sources.data(), sources.size(), targets.data(), targets.size(), length);
      break;
    }
    default:
      if (below(4) == 0) {
        ASSERT_TRUE(waitUntilDone(backend).ok());
      }
    }
  }
}

// Adding in another order, or before what was to be added is there, shows in the bits.
TEST(CudaDevices, WhatGoesBetweenGpusHasTheBitsOfTheProcessor) {
  auto cpu = makeBackend("cpu");
  for (int64_t gpus : {2, 3}) {
    auto cuda = makeGpus(gpus);
    cuda->enterThread();
    for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::F64})
      for (uint64_t seed = 1; seed <= 8; ++seed) {
        size_t count = seed == 1 ? 9000 : 300;
        std::vector<BothBuffer> all;
        for (uint64_t i = 0; i < 5; ++i)
          all.emplace_back(type, count, 100 * seed + i);
        size_t bytesEach = all[0].bytes.size() / count;
        auto work = [&](Backend &backend, const std::vector<DeviceAddress> &places) {
          doRandomWork(backend, type, bytesEach, places, count, seed);
        };
        auto expected = after(*cpu, all, work), found = after(*cuda, all, work);
        expectSameBits(expected, found, std::string(wordOf(type)) + " on " + std::to_string(gpus) + " GPUs, seed " + std::to_string(seed));
      }
  }
}

// More than what there is room for at once, of every type and kind; rounds follow each other in the same memory.
TEST(CudaDevices, LargeReductionsGoInRounds) {
  auto cpu = makeBackend("cpu"), cuda = makeGpus(3);
  cuda->enterThread();
  for (ElementType type : program::EnumValuesElementType())
    for (ReduceOp op : program::EnumValuesReduceOp()) {
      size_t count = type == ElementType::F32 && op == ReduceOp::Sum ? 700000 : 5000;
      std::vector<BothBuffer> all;
      for (uint64_t i = 0; i < 4; ++i)
        all.emplace_back(type, count, 7 + i, /*special=*/count == 5000);
      auto reduce = [&](Backend &backend, const std::vector<DeviceAddress> &places) {
        DeviceAddress targets[] = {places[3], places[1]};
        backend.reduce(type, op, places.data(), 3, targets, 2, count);
      };
      auto expected = after(*cpu, all, reduce), found = after(*cuda, all, reduce);
      expectSameBits(expected, found, std::string(wordOf(type)) + " " + program::EnumNameReduceOp(op));
    }
}

// Many threads use the memory of sums at once.
TEST(CudaDevices, ThreadsReduceAtTheSameTime) {
  auto cpu = makeBackend("cpu"), cuda = makeGpus(2);
  std::vector<std::thread> threads;
  std::array<std::vector<BothBuffer>, 4> expected, found;
  for (size_t i = 0; i < found.size(); ++i) {
    std::vector<BothBuffer> all;
    for (uint64_t j = 0; j < 4; ++j)
      all.emplace_back(ElementType::F32, 4000, 10 * i + j);
    auto reduce = [](Backend &backend, const std::vector<DeviceAddress> &places) {
      for (int round = 0; round < 10; ++round)
        backend.reduce(ElementType::F32, ReduceOp::Sum, places.data(), 4, places.data(), 4, 4000);
    };
    expected[i] = after(*cpu, all, reduce);
    threads.emplace_back([&, i, all, reduce] { cuda->enterThread(), found[i] = after(*cuda, all, reduce); });
  }
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < found.size(); ++i)
    expectSameBits(expected[i], found[i], "thread " + std::to_string(i));
}

TEST(CudaDevices, WorkOnMemoryOfNoGpuIsAnError) {
  auto cuda = makeGpus(2);
  cuda->enterThread();
  cuda->zero(DeviceAddress() + 4096, 8);
  EXPECT_EQ(waitUntilDone(*cuda).message(), "work on memory that is none of the GPUs' of this process");
  EXPECT_TRUE(waitUntilDone(*cuda).ok());
}

TEST(CudaDevices, RoomIsKnownOfEachGpu) {
  auto cuda = makeGpus(2);
  ASSERT_TRUE(cuda->prepareLanes({0, 0, 0, 1}).ok());
  EXPECT_TRUE(cuda->fits(1, uint64_t{1} << 30).ok());
  std::string message = cuda->fits(1, uint64_t{5} << 30).message();
  std::regex expected("GPU 1 .* has too little memory for the first step: 5368709120 bytes are needed, and [0-9]+ are free; "
                      "65536 are taken by contexts of kernels");
  EXPECT_TRUE(std::regex_match(message, expected)) << message;
}

TEST(CudaDevices, CountsThatCannotBe) {
  EXPECT_EQ(tryGpus(9, 16).status().message(), "--cuda-gpus 9: this host has 3 GPUs that npar can see (npar devices shows them)");
  EXPECT_EQ(tryGpus(3, 2).status().message(),
            "--cuda-gpus 3: this process has 2 ranks, and a rank cannot use several GPUs: use a plan with more ranks");
  EXPECT_EQ((*tryGpus(0, 8))->devices(), 3u);
  EXPECT_EQ((*tryGpus(0, 2))->devices(), 2u);
}

// Two processes of a host with three GPUs have one each, two of them with two GPUs have two in turn.
TEST(CudaDevices, ProcessesHaveGpusInTurn) {
  std::vector<std::string> names;
  for (int64_t process : {0, 1}) {
    Spread spread;
    spread.devices = 0, spread.ranks = 4, spread.process = process, spread.processes = 2;
    auto one = createBackend("cuda", spread);
    spread.devices = 2;
    auto two = createBackend("cuda", spread);
    ASSERT_TRUE(one.ok() && two.ok());
    for (const auto &backend : {one->get(), two->get()})
      for (size_t device = 0; device < backend->devices(); ++device)
        names.push_back(backend->deviceName(device));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"GPU 0", "GPU 0", "GPU 1", "GPU 1", "GPU 2", "GPU 0"}));
}

TEST(CudaDevices, NcclIsRefusedWithTheReason) {
  EXPECT_EQ(makeGpus(2)->network()->name().status().message(),
            "it has 2 GPUs, and NCCL joins processes with one each: start a process for each GPU, or give --cuda-gpus 1");
}

class CudaDevicesDeathTest : public ::testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// Runs the body in a process of its own with this environment variable for the stand-in.
template <class Body> [[noreturn]] void with(const char *variable, const char *value, Body body) {
  ::setenv(variable, value, 1);
  std::fprintf(stderr, "%s\n", std::string(body()).c_str());
  std::_Exit(0);
}

// GPUs of another architecture are an error if --cuda-gpus asks for them. Otherwise they are not used.
TEST_F(CudaDevicesDeathTest, ArchitecturesMayNotDiffer) {
  EXPECT_EXIT(
      with("NPAR_STANDIN_ARCHITECTURE", "90,90,80", [] { return tryGpus(3, 3).status().message(); }), ::testing::ExitedWithCode(0),
      "GPU 0 .* is sm_90, and GPU 2 .* is sm_80: the GPUs of a process must be of one kind; CUDA_VISIBLE_DEVICES chooses others, or "
      "give --cuda-gpus 2");
  EXPECT_EXIT(with("NPAR_STANDIN_ARCHITECTURE", "90,90,80", [] { return (*tryGpus(0, 8))->remarks().at(0); }), ::testing::ExitedWithCode(0),
              "is sm_80: this process takes the first 2 of its GPUs");
}

std::string copiedAcross() {
  auto cuda = makeGpus(2);
  cuda->enterThread();
  std::array<DeviceAddress, 2> places = {*cuda->allocateOn(0, 64), *cuda->allocateOn(1, 64)};
  cuda->copy(places[0], places[1], 64);
  Status status = waitUntilDone(*cuda);
  return status.ok() ? "copied" : status.message();
}

TEST_F(CudaDevicesDeathTest, GpusThatReachEachOther) {
  EXPECT_EXIT(with("NPAR_STANDIN_PEERS", "1", copiedAcross), ::testing::ExitedWithCode(0), "copied");
}

// The memory of another GPU is nothing to a kernel: that it never follows one the stand-in sees.
TEST_F(CudaDevicesDeathTest, KernelsDoNotReachAcross) {
  auto across = [] {
    Spread first, second;
    second.process = 1;
    auto own = std::move(*createBackend("cuda", first)), other = std::move(*createBackend("cuda", second));
    DeviceAddress places[] = {*own->allocate(64), *other->allocate(64)};
    own->reduce(ElementType::F32, ReduceOp::Sum, places, 2, places, 1, 16);
    return waitUntilDone(*own).message();
  };
  EXPECT_EXIT(with("NPAR_STANDIN_PEERS", "0", across), ::testing::ExitedWithCode(0), "CUDA_ERROR_ILLEGAL_ADDRESS");
}

} // namespace
} // namespace npar::testing
