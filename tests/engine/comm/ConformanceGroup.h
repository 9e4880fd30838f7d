// Shared parts of the conformance tests of communicators: one collective's members with their buffers, and a wait for other threads.
#pragma once

#include "tests/engine/comm/CommunicatorConformance.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

namespace npar::testing {

using namespace engine;
using program::CollectiveKind;
using program::ElementType;
using program::ReduceOp;
using program::StepKind;

/// Waits until the condition, which another thread may bring about, is true; false after a minute.
inline bool soon(const std::function<bool()> &condition) {
  for (int i = 0; i < 60000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

struct Answer final : Completion {
  void completed(const Status &status) override {
    this->status = status;
    ++calls;
  }
  Status status;
  std::atomic<int> calls{0};
  bool done() const {
    return soon([this] { return calls > 0; }) && calls == 1;
  }
};

/// One collective of n ranks with an input and an output buffer each, here and in the memory of their sessions.
template <typename T> struct Group {
  Group(const World &world, size_t n, uint64_t inputs, uint64_t outputs)
      : world(world), members(n), answers(n), input(n, std::vector<T>(inputs)), output(n, std::vector<T>(outputs)) {
    for (size_t i = 0; i < n; ++i) {
      members[i] = static_cast<int64_t>(3 * i + 1); // ranks need not be dense
      inputMemory.push_back(*backendOf(i).allocate(inputs * sizeof(T)));
      outputMemory.push_back(*backendOf(i).allocate(outputs * sizeof(T)));
    }
    prototype.type = std::is_same_v<T, float> ? ElementType::F32 : std::is_same_v<T, double> ? ElementType::F64 : ElementType::I32;
    prototype.count = inputs;
  }
  Group(const Group &) = delete;
  ~Group() {
    for (size_t i = 0; i < members.size(); ++i) {
      backendOf(i).release(inputMemory[i], input[i].size() * sizeof(T));
      backendOf(i).release(outputMemory[i], output[i].size() * sizeof(T));
    }
  }
  Backend &backendOf(size_t i) const { return *world.of(members[i]).backend; }
  /// Member i's part, with the input and the output as they are now.
  Operation operation(size_t i) {
    backendOf(i).copyIn(inputMemory[i], input[i].data(), input[i].size() * sizeof(T));
    backendOf(i).copyIn(outputMemory[i], output[i].data(), output[i].size() * sizeof(T));
    EXPECT_TRUE(waitUntilDone(backendOf(i)).ok());
    Operation operation = prototype;
    operation.members = members.data(), operation.memberCount = static_cast<uint32_t>(members.size());
    operation.member = static_cast<uint32_t>(i), operation.tag = i;
    operation.input = inputMemory[i], operation.output = inPlace ? inputMemory[i] : outputMemory[i];
    operation.completion = &answers[i];
    return operation;
  }
  /// Brings the results here.
  void fetch() {
    for (size_t i = 0; i < members.size(); ++i) {
      backendOf(i).copyOut(input[i].data(), inputMemory[i], input[i].size() * sizeof(T));
      backendOf(i).copyOut(output[i].data(), outputMemory[i], output[i].size() * sizeof(T));
      EXPECT_TRUE(waitUntilDone(backendOf(i)).ok());
    }
  }
  void run(bool backwards = false) {
    for (size_t i = 0; i < members.size(); ++i)
      world.post(operation(backwards ? members.size() - 1 - i : i));
    for (Answer &answer : answers) {
      ASSERT_TRUE(answer.done());
      EXPECT_TRUE(answer.status.ok()) << answer.status.message();
    }
    fetch();
  }
  const World &world;
  std::vector<int64_t> members;
  std::vector<Answer> answers;
  std::vector<std::vector<T>> input, output;
  std::vector<DeviceAddress> inputMemory, outputMemory;
  Operation prototype;
  bool inPlace = false;
};

/// Values whose sum depends on the order of addition.
template <typename T> T value(size_t rank, size_t i) {
  return static_cast<T>((rank % 2 ? 1e8 : 1.0) * std::sin(double(rank * 131 + i * 17 + 1)) * 10);
}

template <typename T>
void checkAllReduce(const World &world, size_t n, uint64_t count, bool inPlace, bool backwards, ReduceOp op, uint32_t event) {
  Group<T> group(world, n, count, count);
  group.prototype.event = event, group.prototype.op = op, group.inPlace = inPlace;
  std::vector<T> expected(count);
  for (uint64_t i = 0; i < count; ++i)
    for (size_t r = 0; r < n; ++r) {
      T v = group.input[r][i] = value<T>(r, i);
      expected[i] = r == 0 ? v : op == ReduceOp::Sum ? static_cast<T>(expected[i] + v) : std::max(expected[i], v);
    }
  group.run(backwards);
  for (size_t r = 0; r < n; ++r)
    ASSERT_EQ(std::memcmp((inPlace ? group.input : group.output)[r].data(), expected.data(), count * sizeof(T)), 0)
        << n << " ranks, rank " << r;
}

} // namespace npar::testing
