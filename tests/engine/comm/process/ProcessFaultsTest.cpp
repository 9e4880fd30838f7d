// Faults between processes: the culprit rank is named, everything ends, and no message or memory grows with the tensors.
#include "engine/comm/process/Exchange.h"
#include "engine/comm/process/Frames.h"
#include "tests/engine/comm/ConformanceGroup.h"
#include "tests/engine/comm/process/ProcessWorld.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

/// Four ranks in two processes, two in each, whose program has an all_reduce over all of them and one in each process.
struct Planned : ::testing::Test {
  Planned() {
    for (uint32_t process = 0; process < 2; ++process) {
      CommunicationPlan plan;
      plan.sessionOf = {0, 0, 1, 1};
      plan.ranks = {2 * process, 2 * process + 1};
      for (int64_t rank : plan.ranks)
        for (bool all : {true, false}) {
          Operation &operation = operations.emplace_back();
          operation.event = all ? 0 : 1, operation.tag = static_cast<uint64_t>(2 * rank + !all), operation.count = 16;
          operation.members = all ? everybody : &everybody[2 * process], operation.memberCount = all ? 4 : 2;
          operation.member = static_cast<uint32_t>(all ? rank : rank % 2);
          operation.input = operation.output = *world.backends[process]->allocate(64);
          operation.completion = &answers.emplace_back();
          plan.operations.push_back(&operation);
        }
      EXPECT_TRUE(world.communicators[process]->prepare(plan).ok());
    }
  }
  ~Planned() override {
    EXPECT_TRUE(soon([&] {
      int calls = 0;
      for (Answer &answer : answers)
        calls += answer.calls;
      return calls == posted;
    })) << "whatever was posted ends";
    for (const Operation &operation : operations)
      world.backends[static_cast<size_t>(operation.rank()) / 2]->release(operation.output, 64);
  }
  Operation &of(int64_t rank, bool all) { return operations[static_cast<size_t>(2 * rank + !all)]; }
  void post(const Operation &operation) {
    ++posted;
    world.communicators[static_cast<size_t>(operation.rank()) / 2]->post(operation);
  }
  /// All but one, and waits for what can be done.
  void step(const Operation *except = nullptr) {
    for (Operation &operation : operations)
      if (&operation != except)
        post(operation);
    for (size_t i = 0; i < operations.size() && !except; ++i)
      EXPECT_TRUE(soon([&] { return answers[i].calls > 0; }));
  }
  /// Everyone has heard of it, with this rank as the one to blame.
  void expectAccused(int64_t rank, const std::string &text) {
    EXPECT_TRUE(soon([&] { return world.queues.failures.first().process >= 0; }));
    ThreadFailures::Told told = world.queues.failures.first();
    EXPECT_EQ(told.accused, rank);
    EXPECT_NE(told.status.message().find(text), std::string::npos) << told.status.message();
    auto other = static_cast<size_t>(1 - told.process);
    EXPECT_TRUE(soon([&] { return world.communicators[other]->abortedElsewhere().message() == told.status.message(); }));
    EXPECT_EQ(world.communicators[other]->gather({}, 5).status().message(), told.status.message());
  }
  const int64_t everybody[4] = {0, 1, 2, 3};
  ProcessWorld world{2};
  std::deque<Operation> operations;
  std::deque<Answer> answers;
  int posted = 0;
};

TEST_F(Planned, anOperationThatIsSkippedIsNoticedAtTheEndOfTheStep) {
  step();
  step(&of(3, false));
  EXPECT_EQ(world.communicators[1]->gather({}, 5).status().message(),
            "rank 3 has skipped all_reduce of event 1, micro-batch 0 in this training step");
  expectAccused(3, "rank 3 has skipped");
}

TEST_F(Planned, anOperationThatIsRepeatedIsNoticedAtOnce) {
  post(of(0, true));
  post(of(0, true));
  expectAccused(0, "rank 0 joins all_reduce of event 0, micro-batch 0 twice in one training step");
}

TEST_F(Planned, aSizeThatIsNotTheProgramsIsNoticedWhereItIsPosted) {
  Operation wrong = of(2, true);
  wrong.count = 8;
  post(of(0, true));
  post(wrong);
  expectAccused(2, "all_reduce of event 0, micro-batch 0 of rank 2 has 8 elements, its program says 16");
}

/// A collective of one rank in each process that no plan lists.
struct Pair {
  Pair(const ProcessWorld &world, uint64_t count, std::vector<uint64_t> programs = {}) : world(world), bytes(count * sizeof(float)) {
    for (uint32_t process = 0; process < world.count(); ++process)
      members.push_back(process);
    for (uint32_t process = 0; process < world.count(); ++process) {
      Operation &operation = operations.emplace_back();
      operation.members = members.data(), operation.memberCount = static_cast<uint32_t>(members.size()), operation.member = process;
      operation.count = count, operation.split = count / members.size();
      operation.input = *world.backends[process]->allocate(bytes), operation.output = *world.backends[process]->allocate(bytes);
      operation.completion = &answers.emplace_back();
      CommunicationPlan plan;
      plan.sessionOf.assign(members.begin(), members.end());
      plan.ranks = {process};
      plan.program = process < programs.size() ? programs[process] : 0;
      EXPECT_TRUE(world.communicators[process]->prepare(plan).ok());
    }
  }
  ~Pair() {
    for (size_t process = 0; process < operations.size(); ++process) {
      world.backends[process]->release(operations[process].input, bytes);
      world.backends[process]->release(operations[process].output, bytes);
    }
  }
  void post(size_t process) { world.communicators[process]->post(operations[process]); }
  const ProcessWorld &world;
  uint64_t bytes;
  std::vector<int64_t> members;
  std::deque<Operation> operations;
  std::deque<Answer> answers;
};

// The others already wait when the process ends its step, or arrive later. 3 and 2 are never neighbours in the tree of the gather.
TEST(ProcessFaultsTest, whoEndsItsStepWithoutJoiningIsNamedByThoseThatWait) {
  for (size_t skipping : {0, 1, 3})
    for (bool later : {false, true}) {
      ProcessWorld world(4);
      Pair pair(world, 8);
      auto postOthers = [&] {
        for (size_t process = 0; process < 4; ++process)
          if (process != skipping)
            pair.post(process);
      };
      auto giveThemTime = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }; // any order is right, both are to be seen
      if (!later)
        postOthers(), giveThemTime();
      std::thread ending([&] { EXPECT_FALSE(world.communicators[skipping]->gather({}, 60).ok()); });
      if (later)
        giveThemTime(), postOthers();
      ending.join();
      for (size_t process = 0; process < 4; ++process)
        if (process != skipping) {
          ASSERT_TRUE(pair.answers[process].done());
          std::string named = "rank " + std::to_string(skipping) + " has skipped all_reduce of event 0";
          EXPECT_NE(pair.answers[process].status.message().find(named), std::string::npos) << pair.answers[process].status.message();
        }
      EXPECT_EQ(world.queues.failures.first().accused, static_cast<int64_t>(skipping));
    }
}

// Who has got the whole of a gather may join the next step's operation while others still wait for what was gathered.
TEST(ProcessFaultsTest, whoIsAStepAheadIsNotTakenForOneThatWaitsInVain) {
  ProcessWorld world(4, {3, 0.003, false});
  Pair pair(world, 8);
  auto failed = world.told([&](uint32_t process) {
    for (int step = 0; step < 40; ++step) {
      pair.answers[process].calls = 0;
      pair.post(process);
      if (!pair.answers[process].done() || !pair.answers[process].status.ok())
        return pair.answers[process].status.message();
      if (auto all = world.communicators[process]->gather({}, 60); !all.ok())
        return all.status().message();
    }
    return std::string();
  });
  EXPECT_EQ(failed, std::vector<std::string>{""});
}

// This happens after a resume from different checkpoints, or with a program that only some processes have. No data are taken.
TEST(ProcessFaultsTest, otherStepsAndProgramsEndTheRunWithBoth) {
  struct Case {
    std::vector<uint64_t> programs;
    std::vector<int64_t> steps;
  };
  for (const Case &of : {Case{{0x12, 0x12}, {100, 200}}, Case{{0xabc, 0x12}, {100, 100}}}) {
    ProcessWorld world(2);
    Pair pair(world, 8, of.programs);
    for (size_t process : {0, 1}) {
      world.communicators[process]->beginStep(of.steps[process]);
      pair.post(process);
    }
    auto text = [&](size_t process) {
      std::string hash = of.programs[process] == 0x12 ? "0000000000000012" : "0000000000000abc";
      return "process " + std::to_string(process) + " is in step " + std::to_string(of.steps[process]) + " of program " + hash;
    };
    for (size_t process : {0, 1}) {
      ASSERT_TRUE(pair.answers[process].done());
      std::string said = pair.answers[process].status.message();
      EXPECT_NE(said.find(text(0)), std::string::npos) << said;
      EXPECT_NE(said.find(text(1)), std::string::npos) << said;
      EXPECT_NE(said.find(": processes of one job must run the same step of the same program"), std::string::npos) << said;
    }
  }
}

TEST(ProcessFaultsTest, anAbortEndsWhatIsOnItsWay) {
  for (int round = 0; round < 5; ++round) {
    ProcessWorld world(3, {static_cast<uint64_t>(round), 0.5, true}); // so late that nothing is over by itself
    Pair pair(world, 3 << 20);
    for (size_t process = 0; process < 3; ++process)
      pair.post(process);
    ASSERT_TRUE(soon([&] { return world.queues.network->bytesSent(0, 1) > (1 << 20); }));
    EXPECT_TRUE(soon([&] { return world.communicators[2]->pending().size() == 1; }));
    world.communicators[1]->abort(Status::runFailed("enough"));
    for (Answer &answer : pair.answers) {
      ASSERT_TRUE(answer.done());
      EXPECT_EQ(answer.status.message(), "enough");
    }
  }
}

TEST(ProcessFaultsTest, whoIsCutOffIsMissing) {
  ProcessWorld world(2);
  Pair pair(world, 1 << 20);
  world.queues.network->cutOff(1);
  pair.post(0);
  pair.post(1);
  EXPECT_TRUE(soon([&] {
    auto pending = world.communicators[0]->pending();
    return pending.size() == 1 && pending[0].missing == std::vector<int64_t>{1};
  }));
  world.communicators[0]->abort(Status::runFailed("over"));
  EXPECT_TRUE(pair.answers[0].done() && pair.answers[1].done());
}

// The volume of a ring: of n elements each process sends 2 (P - 1) / P n in an all_reduce, half of that in the others; plus frames.
TEST(ProcessTrafficTest, isThatOfARingInPiecesOfBoundedSize) {
  constexpr uint64_t count = 4 << 20, frames = 3 * Frame::bytes;
  for (auto [kind, share] : {std::pair<CollectiveKind, uint64_t>(CollectiveKind::AllReduce, 6),
                             {CollectiveKind::ReduceScatter, 3},
                             {CollectiveKind::AllToAll, 3}}) {
    ProcessWorld world(4);
    Pair four(world, count);
    for (Operation &operation : four.operations)
      operation.kind = kind;
    world.queues.network->forgetTraffic();
    for (size_t process = 0; process < 4; ++process)
      four.post(process);
    for (Answer &answer : four.answers)
      ASSERT_TRUE(answer.done() && answer.status.ok()) << answer.status.message();
    for (size_t from = 0; from < 4; ++from) {
      uint64_t bytes = 0;
      for (size_t to = 0; to < 4; ++to)
        bytes += world.queues.network->bytesSent(from, to);
      EXPECT_EQ(bytes, count / 4 * share * sizeof(float) + frames) << static_cast<int>(kind);
    }
    EXPECT_LE(world.queues.network->greatestMessage(), 512u << 10);
  }
}

// A step of processes that have one neighbour each: what each of them says does not depend on how many there are.
TEST(ProcessTrafficTest, ofAStepGrowsWithTheProcessesAndNoFaster) {
  std::vector<uint64_t> messages;
  for (size_t processes : {4, 12, 36}) {
    ProcessWorld world(processes);
    Pair all(world, 4096);
    for (Operation &operation : all.operations)
      operation.members += operation.member / 2 * 2, operation.memberCount = 2, operation.member %= 2, operation.split = 2048;
    world.queues.network->forgetTraffic();
    auto failed = world.told([&](uint32_t process) {
      all.post(process);
      return all.answers[process].done() && world.communicators[process]->gather({7}, 60).ok() ? "" : "failed";
    });
    EXPECT_EQ(failed, std::vector<std::string>{""});
    uint64_t sum = 0;
    for (size_t process = 0; process < processes; ++process)
      sum += world.queues.network->messagesSent(process);
    EXPECT_EQ((sum - 2 * (processes - 1)) % processes, 0u);
    messages.push_back((sum - 2 * (processes - 1)) / processes);
  }
  EXPECT_EQ(messages, (std::vector<uint64_t>{3, 3, 3})) << "an envelope, a slice of the elements, its sum";
}

TEST(ProcessTrafficTest, memoryForMessagesDoesNotGrowWithTheTensor) {
  for (uint32_t processes : {2, 8, 1024})
    for (CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllToAll}) {
      CommunicationPlan plan;
      std::vector<int64_t> members;
      for (uint32_t i = 0; i < 2 * processes; ++i)
        members.push_back(i), plan.sessionOf.push_back(i / 2);
      Operation operation;
      operation.kind = kind, operation.members = members.data(), operation.memberCount = 2 * processes;
      operation.count = operation.split = uint64_t{1} << 40;
      plan.operations.push_back(&operation);
      Groups groups;
      groups.prepare(plan, 0);
      ExchangePlan exchange(operation, groups.of(operation));
      EXPECT_GT(exchange.sentBytes, uint64_t{1} << 40);
      EXPECT_LE(exchange.scratchBytes, (processes > 8 ? 128u : 40u) << 20) << processes << " processes";
    }
}

} // namespace
} // namespace npar::testing
