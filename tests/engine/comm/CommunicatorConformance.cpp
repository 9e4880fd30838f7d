// What every communicator must do, for 1 to 8 ranks: results, order of addition, in-place work, errors, abort.
#include "tests/engine/comm/CommunicatorConformance.h"

#include "engine/numbers/NarrowFloat.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

namespace npar::testing {
namespace {

using namespace engine;
using program::CollectiveKind;
using program::ElementType;
using program::ReduceOp;
using program::StepKind;

/// Whether it becomes true: another thread may be at work.
bool soon(const std::function<bool()> &condition) {
  for (int i = 0; i < 5000 && !condition(); ++i)
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

TEST_P(CommunicatorConformance, allReduceAddsInAscendingOrderWhoeverComesLast) {
  uint32_t event = 0;
  for (size_t n = 1; n <= 8; ++n)
    for (bool inPlace : {false, true})
      for (bool backwards : {false, true})
        for (ReduceOp op : {ReduceOp::Sum, ReduceOp::Max}) {
          checkAllReduce<float>(world, n, 1025, inPlace, backwards, op, event++);
          checkAllReduce<double>(world, n, 3, inPlace, backwards, op, event++);
          checkAllReduce<int32_t>(world, n, 17, inPlace, backwards, op, event++);
        }
}

TEST_P(CommunicatorConformance, bigReductionsKeepTheOrder) { checkAllReduce<float>(world, 5, 300001, true, false, ReduceOp::Sum, 1); }

/// 16-bit floats: added in float32 and rounded once, or after each addition.
template <typename Narrow> void checkNarrowSum(const World &world, ElementType type) {
  uint32_t event = 0;
  for (ReduceOp op : {ReduceOp::Sum, ReduceOp::RoundedSum})
    for (size_t n : {1, 2, 3, 8}) {
      constexpr uint64_t count = 3000;
      Group<uint16_t> group(world, n, count, count);
      group.prototype.type = type, group.prototype.event = event++, group.prototype.op = op;
      std::vector<uint16_t> expected(count);
      bool differ = false;
      for (uint64_t i = 0; i < count; ++i) {
        float sum = 0, once = 0;
        for (size_t r = 0; r < n; ++r) {
          Narrow v(static_cast<float>(std::sin(double(r * 131 + i * 17 + 1)) * 10));
          group.input[r][i] = v.bits;
          once = r == 0 ? static_cast<float>(v) : once + static_cast<float>(v);
          sum = r == 0 ? static_cast<float>(v) : static_cast<float>(Narrow(sum + static_cast<float>(v)));
        }
        differ |= Narrow(sum).bits != Narrow(once).bits;
        expected[i] = Narrow(op == ReduceOp::Sum ? once : sum).bits;
      }
      EXPECT_EQ(differ, n > 2) << "the two meanings are apart from three ranks on";
      group.run();
      for (size_t r = 0; r < n; ++r)
        ASSERT_EQ(group.output[r], expected) << n << " ranks, rank " << r;
    }
}

TEST_P(CommunicatorConformance, sumsOfSixteenBitsRoundOnceOrEachTime) { checkNarrowSum<program::BFloat16>(world, ElementType::BF16); }

TEST_P(CommunicatorConformance, sumsOfHalvesRoundOnceOrEachTime) { checkNarrowSum<program::Float16>(world, ElementType::F16); }

TEST_P(CommunicatorConformance, maxPassesNanOn) {
  Group<float> group(world, 3, 2, 2);
  group.prototype.op = ReduceOp::Max;
  group.input = {{1, 2}, {std::numeric_limits<float>::quiet_NaN(), 5}, {7, 3}};
  group.run();
  EXPECT_TRUE(std::isnan(group.output[0][0]));
  EXPECT_EQ(group.output[2][1], 5);
}

TEST_P(CommunicatorConformance, allGatherInterleavesTheOuterDimension) {
  for (size_t n = 1; n <= 8; ++n) {
    Group<float> group(world, n, 2 * 3 * 5, n * 2 * 3 * 5);
    group.prototype.kind = CollectiveKind::AllGather;
    group.prototype.outer = 2, group.prototype.split = 3, group.prototype.inner = 5;
    for (size_t r = 0; r < n; ++r)
      for (size_t i = 0; i < 30; ++i)
        group.input[r][i] = static_cast<float>(100 * r + i);
    group.run();
    for (size_t r = 0; r < n; ++r)
      for (size_t outer = 0; outer < 2; ++outer)
        for (size_t from = 0; from < n; ++from)
          for (size_t i = 0; i < 15; ++i)
            ASSERT_EQ(group.output[r][(outer * n + from) * 15 + i], static_cast<float>(100 * from + outer * 15 + i));
  }
}

TEST_P(CommunicatorConformance, reduceScatterIsAllReduceThenSlice) {
  for (size_t n = 1; n <= 8; ++n) {
    Group<float> group(world, n, n * 30, 30);
    group.prototype.kind = CollectiveKind::ReduceScatter;
    group.prototype.outer = 2, group.prototype.split = 3, group.prototype.inner = 5;
    for (size_t r = 0; r < n; ++r)
      for (size_t i = 0; i < n * 30; ++i)
        group.input[r][i] = value<float>(r, i);
    group.run(true);
    for (size_t r = 0; r < n; ++r)
      for (size_t outer = 0; outer < 2; ++outer)
        for (size_t i = 0; i < 15; ++i) {
          float sum = 0;
          for (size_t from = 0; from < n; ++from)
            sum = from ? sum + group.input[from][(outer * n + r) * 15 + i] : group.input[0][(outer * n + r) * 15 + i];
          ASSERT_EQ(group.output[r][outer * 15 + i], sum);
        }
  }
}

// Shares of one row: the last ranks may have padding or nothing else, which is neither read nor left as it was.
TEST_P(CommunicatorConformance, sharesOfARowDropAndFillTheirPadding) {
  constexpr uint64_t share = 6;
  uint32_t event = 0;
  for (size_t n = 1; n <= 8; ++n)
    for (uint64_t whole : {uint64_t(1), share, n * share - 5, n * share}) {
      Group<float> gather(world, n, share, whole), scatter(world, n, whole, share);
      for (auto *group : {&gather, &scatter}) {
        group->prototype.kind = group == &gather ? CollectiveKind::AllGather : CollectiveKind::ReduceScatter;
        group->prototype.event = event++, group->prototype.split = share, group->prototype.whole = whole;
      }
      for (size_t r = 0; r < n; ++r) {
        std::fill(scatter.output[r].begin(), scatter.output[r].end(), -1.0f);
        for (uint64_t i = 0; i < share; ++i)
          gather.input[r][i] = r * share + i < whole ? static_cast<float>(r * share + i) : NAN;
        for (uint64_t i = 0; i < whole; ++i)
          scatter.input[r][i] = value<float>(r, i);
      }
      gather.run();
      scatter.run(true);
      for (size_t r = 0; r < n; ++r) {
        for (uint64_t i = 0; i < whole; ++i)
          ASSERT_EQ(gather.output[r][i], static_cast<float>(i));
        for (uint64_t i = 0; i < share; ++i) {
          float sum = 0;
          for (size_t from = 0; from < n && r * share + i < whole; ++from)
            sum = from ? sum + scatter.input[from][r * share + i] : scatter.input[0][r * share + i];
          ASSERT_EQ(scatter.output[r][i], sum) << n << " ranks, " << whole << " elements, rank " << r << ", element " << i;
        }
      }
    }
}

// The same along the middle of three dimensions.
TEST_P(CommunicatorConformance, shardsOfAPaddedDimensionAreGathered) {
  constexpr uint64_t outer = 2, split = 3, inner = 2;
  uint32_t event = 0;
  for (size_t n = 1; n <= 8; ++n)
    for (uint64_t whole : {uint64_t(1), split, n * split - 2, n * split}) {
      Group<float> gather(world, n, outer * split * inner, outer * whole * inner);
      gather.prototype.kind = CollectiveKind::AllGather, gather.prototype.event = event++;
      gather.prototype.outer = outer, gather.prototype.split = split, gather.prototype.inner = inner, gather.prototype.whole = whole;
      for (size_t r = 0; r < n; ++r)
        for (uint64_t i = 0; i < outer * split * inner; ++i) {
          uint64_t place = r * split + i / inner % split;
          gather.input[r][i] = place < whole ? static_cast<float>((i / (split * inner) * whole + place) * inner + i % inner) : NAN;
        }
      gather.run();
      for (size_t r = 0; r < n; ++r)
        for (uint64_t i = 0; i < outer * whole * inner; ++i)
          ASSERT_EQ(gather.output[r][i], static_cast<float>(i)) << n << " ranks, " << whole << " places, rank " << r;
    }
}

TEST_P(CommunicatorConformance, allToAllTransposesBlocks) {
  for (size_t n = 1; n <= 8; ++n) {
    Group<int32_t> group(world, n, n * 4, n * 4);
    group.prototype.kind = CollectiveKind::AllToAll, group.prototype.inner = 4;
    for (size_t r = 0; r < n; ++r)
      for (size_t i = 0; i < n * 4; ++i)
        group.input[r][i] = static_cast<int32_t>(1000 * r + i);
    group.run();
    for (size_t r = 0; r < n; ++r)
      for (size_t from = 0; from < n; ++from)
        for (size_t i = 0; i < 4; ++i)
          ASSERT_EQ(group.output[r][from * 4 + i], static_cast<int32_t>(1000 * from + r * 4 + i));
  }
}

TEST_P(CommunicatorConformance, allToAllMovesASplitFromOneDimensionToAnother) {
  // A global tensor [a, b, c, d, e]; b and d are cut into n, in the input one of them, in the output the other.
  const size_t a = 2, c = 2, e = 2, blockB = 3, blockD = 2;
  for (size_t n = 1; n <= 4; ++n)
    for (bool concatFirst : {false, true}) {
      size_t wholeB = n * blockB, wholeD = n * blockD, count = a * wholeB * c * wholeD * e / n;
      Group<int32_t> group(world, n, count, count);
      group.prototype.kind = CollectiveKind::AllToAll, group.prototype.concatFirst = concatFirst;
      group.prototype.outer = a, group.prototype.middle = c, group.prototype.inner = e;
      group.prototype.split = concatFirst ? blockD : blockB, group.prototype.concat = concatFirst ? blockB : blockD;
      // The value of a place is its number in the global tensor; `cutB`: rank r has the places [r blockB, (r + 1) blockB) of b, else of d.
      auto piece = [&](size_t r, bool cutB) {
        std::vector<int32_t> values;
        size_t firstB = cutB ? r * blockB : 0, lastB = cutB ? firstB + blockB : wholeB;
        size_t firstD = cutB ? 0 : r * blockD, lastD = cutB ? wholeD : firstD + blockD;
        for (size_t i = 0; i < a; ++i)
          for (size_t j = firstB; j < lastB; ++j)
            for (size_t k = 0; k < c; ++k)
              for (size_t l = firstD; l < lastD; ++l)
                for (size_t m = 0; m < e; ++m)
                  values.push_back(static_cast<int32_t>((((i * wholeB + j) * c + k) * wholeD + l) * e + m));
        return values;
      };
      for (size_t r = 0; r < n; ++r)
        group.input[r] = piece(r, concatFirst);
      group.run();
      for (size_t r = 0; r < n; ++r)
        EXPECT_EQ(group.output[r], piece(r, !concatFirst)) << n << " ranks, rank " << r << ", concat first: " << concatFirst;
    }
}

TEST_P(CommunicatorConformance, permuteGoesRoundTheRing) {
  for (size_t n = 2; n <= 8; ++n)
    for (uint32_t shift = 1; shift < n; ++shift) {
      Group<double> group(world, n, 5, 5);
      group.prototype.kind = CollectiveKind::Permute, group.prototype.shift = shift, group.prototype.event = shift;
      for (size_t r = 0; r < n; ++r)
        for (size_t i = 0; i < 5; ++i)
          group.input[r][i] = value<double>(r, i);
      group.run(shift % 2);
      for (size_t r = 0; r < n; ++r)
        EXPECT_EQ(group.output[(r + shift) % n], group.input[r]) << n << " ranks, rank " << r << ", shift " << shift;
    }
}

TEST_P(CommunicatorConformance, transferReachesItsReceiverInEitherOrder) {
  for (bool receiveFirst : {false, true}) {
    Group<double> pair(world, 2, 7, 7);
    pair.prototype.micro = receiveFirst;
    for (size_t i = 0; i < 7; ++i)
      pair.input[0][i] = 0.5 * double(i);
    Operation send = pair.operation(0), receive = pair.operation(1);
    send.step = StepKind::Send, receive.step = StepKind::Receive;
    world.post(receiveFirst ? receive : send);
    EXPECT_EQ(pair.answers[0].calls + pair.answers[1].calls, 0) << "nobody completes before both are there";
    world.post(receiveFirst ? send : receive);
    ASSERT_TRUE(pair.answers[0].done() && pair.answers[1].done());
    pair.fetch();
    EXPECT_EQ(pair.output[1], pair.input[0]);
  }
}

TEST_P(CommunicatorConformance, oppositeTransfersOfOneEventDoNotMeet) {
  Group<float> pair(world, 2, 1, 1);
  std::vector<int64_t> back{pair.members[1], pair.members[0]};
  pair.input = {{1}, {2}};
  Answer answers[4];
  auto post = [&](StepKind step, size_t self, const int64_t *members, uint32_t member, Answer &answer) {
    Operation operation = pair.operation(self);
    operation.step = step, operation.members = members, operation.member = member, operation.completion = &answer;
    world.post(operation);
  };
  post(StepKind::Send, 0, pair.members.data(), 0, answers[0]);
  post(StepKind::Send, 1, back.data(), 0, answers[1]);
  post(StepKind::Receive, 0, back.data(), 1, answers[2]);
  post(StepKind::Receive, 1, pair.members.data(), 1, answers[3]);
  for (Answer &answer : answers)
    ASSERT_TRUE(answer.done());
  pair.fetch();
  EXPECT_EQ(pair.output[0][0], 2);
  EXPECT_EQ(pair.output[1][0], 1);
}

// On two ranks a collective has the members of a transfer; a receive may be waiting for long when the collective comes.
TEST_P(CommunicatorConformance, aTransferAndACollectiveOfOneNumberDoNotMeet) {
  Group<float> group(world, 2, 4, 4), pair(world, 2, 4, 4);
  pair.input[0] = {1, 2, 3, 4};
  Operation send = pair.operation(0), receive = pair.operation(1);
  send.step = StepKind::Send, receive.step = StepKind::Receive;
  world.post(receive);
  group.run();
  world.post(send);
  for (Answer &answer : pair.answers) {
    ASSERT_TRUE(answer.done());
    EXPECT_TRUE(answer.status.ok()) << answer.status.message();
  }
  pair.fetch();
  EXPECT_EQ(pair.output[1], pair.input[0]);
}

TEST_P(CommunicatorConformance, nobodyCompletesBeforeTheLastArrives) {
  Group<float> group(world, 4, 8, 8);
  for (size_t i = 0; i < 3; ++i)
    world.post(group.operation(i));
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(group.answers[i].calls, 0);
  auto pending = [&] {
    std::vector<PendingOperation> all;
    for (const Endpoint &session : world.sessions)
      for (const PendingOperation &operation : session.communicator->pending())
        all.push_back(operation);
    return all;
  };
  auto saysWhoIsMissing = [&] {
    std::vector<PendingOperation> all = pending();
    return all.size() == 3 && std::all_of(all.begin(), all.end(), [&](const PendingOperation &operation) {
             return operation.missing == std::vector<int64_t>{group.members[3]};
           });
  };
  EXPECT_TRUE(soon(saysWhoIsMissing));
  world.post(group.operation(3));
  for (Answer &answer : group.answers)
    EXPECT_TRUE(answer.done());
  EXPECT_TRUE(soon([&] { return pending().empty(); }));
}

TEST_P(CommunicatorConformance, anEventServesEveryTrainingStep) {
  for (int step = 0; step < 5; ++step)
    checkAllReduce<float>(world, 4, 64, true, step % 2, ReduceOp::Sum, 7);
}

TEST_P(CommunicatorConformance, disagreementIsAnErrorForAll) {
  for (int what = 0; what < 5; ++what) {
    World fresh = GetParam().make();
    fresh.prepare();
    Group<float> group(fresh, 2, 8, 8);
    Operation wrong = group.operation(1);
    switch (what) {
    case 0:
      wrong.count = 4;
      break;
    case 1:
      wrong.op = ReduceOp::Max;
      break;
    case 2:
      wrong.type = ElementType::F64;
      break;
    case 3:
      wrong.kind = CollectiveKind::AllToAll;
      break;
    case 4:
      wrong.shift = 1;
    }
    fresh.post(group.operation(0));
    fresh.post(wrong);
    for (Answer &answer : group.answers) {
      ASSERT_TRUE(answer.done());
      EXPECT_EQ(answer.status.code(), Code::RunFailed);
      EXPECT_NE(answer.status.message().find("of rank 1 is "), std::string::npos) << answer.status.message();
      EXPECT_NE(answer.status.message().find("of rank 4 is "), std::string::npos) << answer.status.message();
    }
  }
}

TEST_P(CommunicatorConformance, abortCompletesWhatWaitsAndWhatComesLater) {
  Group<float> group(world, 3, 8, 8);
  world.post(group.operation(0));
  world.post(group.operation(2));
  world.sessions[0].communicator->abort(Status::runFailed("rank 9 broke"));
  world.sessions[0].communicator->abort(Status::runFailed("second reason"));
  world.post(group.operation(1));
  for (Answer &answer : group.answers) {
    ASSERT_TRUE(answer.done());
    EXPECT_EQ(answer.status.message(), "rank 9 broke");
  }
  for (size_t session = 1; session < world.sessions.size(); ++session)
    EXPECT_TRUE(soon([&] { return world.sessions[session].communicator->abortedElsewhere().message() == "rank 9 broke"; }));
  EXPECT_TRUE(world.sessions[0].communicator->abortedElsewhere().ok()) << "this one has aborted itself";
}

// What sessions give each other between training steps.
TEST_P(CommunicatorConformance, gatherGivesEachSessionTheBytesOfAll) {
  using Bytes = std::vector<std::vector<uint8_t>>;
  std::vector<std::thread> threads;
  std::vector<Bytes> got(world.sessions.size());
  for (size_t session = 0; session < world.sessions.size(); ++session)
    threads.emplace_back([&, session] {
      for (uint8_t round = 0; round < 20; ++round) {
        auto all = world.sessions[session].communicator->gather(std::vector<uint8_t>(session * 3, round), 5);
        if (all.ok())
          got[session].insert(got[session].end(), all->begin(), all->end());
      }
    });
  Bytes expected;
  for (uint8_t round = 0; round < 20; ++round)
    for (size_t session = 0; session < world.sessions.size(); ++session)
      expected.emplace_back(session * 3, round);
  for (std::thread &thread : threads)
    thread.join();
  for (const Bytes &bytes : got)
    EXPECT_EQ(bytes, expected);
}

TEST_P(CommunicatorConformance, gatherWaitsNeitherForEverNorAfterAnAbort) {
  if (world.sessions.size() == 1) { // which waits for nobody
    auto alone = world.sessions[0].communicator->gather({1}, 0.05);
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(*alone, (std::vector<std::vector<uint8_t>>{{1}}));
    return;
  }
  auto late = world.sessions[0].communicator->gather({1}, 0.05);
  EXPECT_EQ(late.status().code(), Code::Timeout);
  auto stopped = world.sessions[1].communicator->gather({1}, 60);
  EXPECT_TRUE(stopped.ok() || stopped.status().message() == late.status().message()) << "the first one's bytes had come, or its abort";
  auto again = world.sessions[1].communicator->gather({1}, 60);
  EXPECT_EQ(again.status().message(), late.status().message());
}

TEST_P(CommunicatorConformance, manyThreadsAndEventsAtOnce) {
  constexpr uint32_t events = 200;
  std::vector<std::unique_ptr<Group<float>>> groups;
  for (uint32_t e = 0; e < events; ++e) {
    groups.push_back(std::make_unique<Group<float>>(world, 4, 16, 16));
    groups.back()->prototype.event = e / 2, groups.back()->prototype.micro = e % 2;
    for (auto &input : groups.back()->input)
      std::fill(input.begin(), input.end(), float(e));
  }
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 4; ++rank)
    threads.emplace_back([&, rank] {
      for (uint32_t e = 0; e < events; ++e)
        world.post(groups[rank % 2 ? events - 1 - e : e]->operation(rank));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (uint32_t e = 0; e < events; ++e) {
    for (Answer &answer : groups[e]->answers)
      ASSERT_TRUE(answer.done());
    groups[e]->fetch();
    for (size_t rank = 0; rank < 4; ++rank)
      ASSERT_EQ(groups[e]->output[rank][15], 4 * float(e));
  }
}

} // namespace

void World::prepare() const {
  for (size_t session = 0; session < sessions.size(); ++session) {
    CommunicationPlan plan;
    for (size_t rank = 0; rank < ranks; ++rank) {
      plan.sessionOf.push_back(static_cast<uint32_t>(rank % sessions.size()));
      if (plan.sessionOf.back() == session)
        plan.ranks.push_back(static_cast<int64_t>(rank));
    }
    ASSERT_TRUE(sessions[session].communicator->prepare(plan).ok());
  }
}

} // namespace npar::testing
