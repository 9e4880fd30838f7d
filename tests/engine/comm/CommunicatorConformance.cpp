// Conformance tests of meetings in a communicator: transfers, pending operations, disagreement, abort, many threads.
#include "tests/engine/comm/ConformanceGroup.h"

namespace npar::testing {
namespace {

TEST_P(CommunicatorConformance, transferReachesItsReceiverInEitherOrder) {
  for (bool receiveFirst : {false, true}) {
    Group<double> pair(world, 2, 7, 7);
    pair.prototype.micro = receiveFirst;
    for (size_t i = 0; i < 7; ++i)
      pair.input[0][i] = 0.5 * double(i);
    Operation send = pair.operation(0), receive = pair.operation(1);
    send.step = StepKind::Send, receive.step = StepKind::Receive;
    world.post(receiveFirst ? receive : send);
    EXPECT_EQ(pair.answers[0].calls + pair.answers[1].calls, 0) << "no rank completes before both are there";
    world.post(receiveFirst ? send : receive);
    ASSERT_TRUE(pair.answers[0].done() && pair.answers[1].done());
    pair.fetch();
    EXPECT_EQ(pair.output[1], pair.input[0]);
  }
}

TEST_P(CommunicatorConformance, oppositeTransfersOfOneEventDoNotMeet) {
  if (world.byOrder())
    GTEST_SKIP() << "what waits for each other meets by order";
  Group<float> pair(world, 2, 1, 1);
  std::vector<int64_t> back{pair.members[1], pair.members[0]};
  pair.input = {{1}, {2}};
  Answer answers[4];
  const Operation both[] = {pair.operation(0), pair.operation(1)}; // made once: they write the inputs, which posted ones read
  auto post = [&](StepKind step, size_t self, const int64_t *members, uint32_t member, Answer &answer) {
    Operation operation = both[self];
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

// A collective of two ranks has the same members as a transfer; a receive may have waited long when the collective comes.
TEST_P(CommunicatorConformance, aTransferAndACollectiveOfOneNumberDoNotMeet) {
  if (world.byOrder())
    GTEST_SKIP() << "what comes later waits for what came first";
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
  if (world.byOrder()) // a session knows of its own members alone
    EXPECT_EQ(pending().size(), 3u);
  else
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

// The control channel asks like this, at any time of an operation.
TEST_P(CommunicatorConformance, anotherThreadMayAskWhatIsPendingWhileBytesMove) {
  std::atomic<bool> ended{false};
  std::thread asking([&] {
    while (!ended) {
      for (const Endpoint &session : world.sessions)
        for (const PendingOperation &operation : session.communicator->pending())
          EXPECT_LE(operation.missing.size(), 4u);
      std::this_thread::sleep_for(std::chrono::microseconds(100)); // mutexes are not fair: without a pause the others wait for seconds
    }
  });
  for (int step = 0; step < 10; ++step)
    checkAllReduce<float>(world, 4, 1 << 16, true, step % 2, ReduceOp::Sum, 7);
  ended = true;
  asking.join();
}

TEST_P(CommunicatorConformance, disagreementIsAnErrorForAll) {
  if (world.byOrder())
    GTEST_SKIP() << "sessions compare their plans instead";
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
  // It takes a while until others hear of it; what is complete before has no reason to fail.
  for (size_t session = 1; session < world.sessions.size(); ++session)
    EXPECT_TRUE(soon([&] { return world.sessions[session].communicator->abortedElsewhere().message() == "rank 9 broke"; }));
  world.post(group.operation(1));
  for (Answer &answer : group.answers) {
    ASSERT_TRUE(answer.done());
    EXPECT_EQ(answer.status.message(), "rank 9 broke");
  }
  EXPECT_TRUE(world.sessions[0].communicator->abortedElsewhere().ok()) << "this one has aborted itself";
}

// Sessions exchange such bytes between training steps.
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
  if (world.sessions.size() == 1) { // a single session never waits
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
  if (world.byOrder())
    GTEST_SKIP() << "ranks post in different orders";
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
  std::vector<Status> said(sessions.size());
  std::vector<std::thread> threads;
  for (size_t session = 0; session < sessions.size(); ++session) {
    CommunicationPlan plan;
    for (size_t rank = 0; rank < ranks; ++rank) {
      plan.sessionOf.push_back(static_cast<uint32_t>(rank % sessions.size()));
      if (plan.sessionOf.back() == session)
        plan.ranks.push_back(static_cast<int64_t>(rank));
    }
    threads.emplace_back([this, session, &said, plan] { said[session] = sessions[session].communicator->prepare(plan); });
  }
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &status : said)
    ASSERT_TRUE(status.ok()) << status.message();
}

} // namespace npar::testing
