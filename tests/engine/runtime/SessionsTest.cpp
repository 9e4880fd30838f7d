// Runs a program in several sessions that share no memory: the same numbers as in one, one cause for a failure, never a hang.
#include "tests/engine/runtime/Sessions.h"
#include "engine/logging/Trace.h"
#include "engine/program/Classes.h"
#include "engine/program/ProgramHash.h"
#include "engine/runtime/CommunicationPlan.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using program::Program;

std::vector<int32_t> tokensOf(const PipelineShape &shape) {
  std::vector<int32_t> tokens(static_cast<size_t>(shape.micros) * shape.dataParallel * 4);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>(i * 7 % 5);
  return tokens;
}

SessionsOptions optionsOf(size_t count, const std::string &memory = "cpu") {
  SessionsOptions options;
  options.count = count, options.memory = memory;
  options.session.threads = 2, options.session.seed = 3, options.session.timeoutSeconds = 20;
  return options;
}

/// Losses of three steps, then the hash of the parameters: of every session.
std::vector<std::vector<std::string>> train(const PipelineShape &shape, const SessionsOptions &options) {
  Sessions sessions(pipelineProgram(shape)->load(), options);
  std::vector<std::vector<std::string>> told(options.count);
  std::vector<int32_t> tokens = tokensOf(shape);
  for (size_t i = 0; i < options.count; ++i)
    if (!sessions.opened[i].ok())
      return {{sessions.opened[i].message()}};
  for (int64_t step = 0; step < 3; ++step) {
    std::vector<Status> statuses = sessions.step({tokens}, step);
    for (size_t i = 0; i < options.count; ++i)
      told[i].push_back(statuses[i].ok() ? std::to_string(sessions.results[i].loss) : statuses[i].message());
  }
  std::vector<std::string> hashes = sessions.each([](Session &session) { return session.parameterHash(); });
  for (size_t i = 0; i < options.count; ++i)
    told[i].push_back(hashes[i]);
  return told;
}

PipelineShape fourReplicas() { return {4, 4, 64, true, true}; }

std::vector<std::string> expected() {
  SessionsOptions options = optionsOf(1);
  options.local = true;
  return train(fourReplicas(), options)[0];
}

TEST(SessionsTest, anyNumberOfSessionsComputesTheSame) {
  std::vector<std::string> one = expected();
  ASSERT_EQ(one.size(), 4u) << one[0];
  for (size_t count : {1, 2, 4, 8})
    for (bool inTurns : {false, true})
      for (bool processes : {false, true}) {
        SessionsOptions options = optionsOf(count);
        options.inTurns = inTurns, options.processes = processes;
        for (const std::vector<std::string> &told : train(fourReplicas(), options))
          EXPECT_EQ(told, one) << count << " sessions, in turns: " << inTurns << ", processes: " << processes;
      }
}

// Half of the parameters have a hash, too.
TEST(SessionsTest, withoutTheOthersThereIsNoHash) {
  SessionsOptions options = optionsOf(2);
  Sessions sessions(pipelineProgram(fourReplicas())->load(), options);
  sessions.sessions[0]->abandon(Status::runFailed("gone"));
  for (const std::string &hash : sessions.each([](Session &session) { return session.parameterHash(); }))
    EXPECT_EQ(hash, "");
}

// Dereferencing an address outside of its backend ends this program; a step that counts as done too early changes the numbers.
TEST(SessionsTest, memoryMayBeWhereNobodyElseCanSee) {
  std::vector<std::string> one = expected();
  for (const char *memory : {"offset", "queued"})
    for (size_t count : {1, 2, 4}) {
      SessionsOptions options = optionsOf(count, memory);
      options.local = count == 1, options.processes = count == 4;
      for (const std::vector<std::string> &told : train(fourReplicas(), options))
        EXPECT_EQ(told, one) << count << " sessions, memory " << memory;
    }
}

TEST(SessionsTest, aTransportThatMatchesByOrderIsGivenTheProgramsOrder) {
  std::vector<std::string> one = expected();
  for (bool inTurns : {false, true}) {
    SessionsOptions options = optionsOf(4);
    options.bytes.matchByOrder = true, options.inTurns = inTurns;
    for (const std::vector<std::string> &told : train(fourReplicas(), options))
      EXPECT_EQ(told, one) << "in turns: " << inTurns;
  }
}

TEST(SessionsTest, logicalVariablesAreReadAndWrittenByAll) {
  Sessions sessions(pipelineProgram(fourReplicas())->load(), optionsOf(4));
  std::vector<double> values(64);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i) / 8;
  for (const Status &status : sessions.each([&](Session &session) { return session.write("w1", values); }))
    EXPECT_TRUE(status.ok()) << status.message();
  for (const std::vector<double> &read : sessions.each([](Session &session) { return *session.read("w1"); }))
    EXPECT_EQ(read, values);
  for (const std::string &message : sessions.each([](Session &session) { return session.read("w7").status().message(); }))
    EXPECT_EQ(message, "the program has no variable 'w7'");
}

TEST(SessionsTest, eachSessionTellsOfItsOwnArenas) {
  Sessions sessions(pipelineProgram(fourReplicas())->load(), optionsOf(2));
  ASSERT_TRUE(sessions.opened[1].ok());
  std::vector<int64_t> ranks;
  for (const ArenaUse &use : sessions.sessions[1]->arenaUse()) {
    ranks.push_back(use.rank);
    EXPECT_EQ(use.used, use.planned);
  }
  EXPECT_EQ(ranks, (std::vector<int64_t>{4, 5, 6, 7}));
}

TEST(SessionsTest, whatASessionNotesAtTheEndOfAStepAllSessionsHear) {
  SessionsOptions options = optionsOf(4);
  options.alter = [](size_t session, SessionOptions &own) {
    own.note = [session](int64_t step) { return std::vector<uint8_t>(session, static_cast<uint8_t>(step)); };
  };
  Sessions sessions(pipelineProgram(fourReplicas())->load(), options);
  std::vector<int32_t> tokens = tokensOf(fourReplicas());
  for (int64_t step : {0, 1}) {
    std::vector<Status> statuses = sessions.step({tokens}, step);
    auto note = static_cast<uint8_t>(step);
    for (size_t i = 0; i < options.count; ++i) {
      ASSERT_TRUE(statuses[i].ok()) << statuses[i].message();
      EXPECT_EQ(sessions.results[i].notes, (std::vector<std::vector<uint8_t>>{{}, {note}, {note, note}, {note, note, note}}));
    }
  }
}

TEST(SessionsTest, whoCannotGoOnBetweenStepsStopsAll) {
  Sessions sessions(pipelineProgram(fourReplicas())->load(), optionsOf(4));
  std::vector<int32_t> tokens = tokensOf(fourReplicas());
  sessions.sessions[2]->abandon(Status::badInput("data 'x' was cut"));
  for (const Status &status : sessions.step({tokens}, 0)) {
    EXPECT_EQ(status.code(), Code::BadInput);
    EXPECT_NE(status.message().find("data 'x' was cut"), std::string::npos) << status.message();
  }
}

TEST(SessionsTest, whatBreaksInOneSessionStopsAllWithItsCause) {
  for (bool processes : {false, true}) {
    SessionsOptions options = optionsOf(4);
    options.faults = {{Fault::Fail, 1, 0, 2, 0}}, options.processes = processes;
    Sessions sessions(pipelineProgram(fourReplicas())->load(), options);
    std::vector<int32_t> tokens = tokensOf(fourReplicas());
    for (int64_t step : {5, 6})
      for (const Status &status : sessions.step({tokens}, step)) {
        EXPECT_EQ(status.code(), Code::RunFailed);
        EXPECT_NE(status.message().find("rank 1, task F1:2, step 0 'recv x' (hand.npar:"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("injected failure"), std::string::npos) << status.message();
      }
  }
}

// An asynchronous device tells of it after the call that started the kernel.
TEST(SessionsTest, aDeviceThatFailsIsBlamedAtItsStep) {
  std::vector<int32_t> tokens = tokensOf({});
  for (const char *memory : {"offset", "queued"})
    for (size_t count : {1, 2}) {
      SessionsOptions options = optionsOf(count, memory);
      options.lostAtKernel = 0;
      Sessions sessions(pipelineProgram({})->load(), options);
      for (const Status &status : sessions.step({tokens}, 0)) {
        EXPECT_EQ(status.code(), Code::RunFailed);
        EXPECT_EQ(status.message().rfind("training step 0: rank ", 0), 0u) << status.message();
        EXPECT_NE(status.message().find(", task F0:0, step 0 'scale' (hand.npar:"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("the device was lost"), std::string::npos) << status.message();
      }
    }
}

// A session without arithmetic still runs its own ranks' steps, in planned time.
TEST(SessionsTest, nullBackendsMeetToo) {
  SessionsOptions options = optionsOf(2);
  options.session.backend = "null", options.processes = true;
  std::vector<Trace> traces(2);
  options.alter = [&](size_t session, SessionOptions &own) { own.trace = &traces[session]; };
  Sessions sessions(pipelineProgram({2, 4, 4, true, false})->load(), options);
  for (const Status &status : sessions.step({}, 0))
    EXPECT_TRUE(status.ok()) << status.message();
  for (uint32_t session = 0; session < 2; ++session) {
    std::vector<TraceEvent> events = traces[session].events();
    EXPECT_FALSE(events.empty());
    for (const TraceEvent &event : events) {
      EXPECT_EQ(event.rank / 2, session);
      EXPECT_NEAR(event.end - event.begin, 1e-6, 1e-12);
    }
  }
}

TEST(SessionsTest, aLostMessageEndsAllInATimeout) {
  for (bool processes : {false, true}) {
    SessionsOptions options = optionsOf(2);
    options.session.timeoutSeconds = 0.3, options.processes = processes;
    options.faults = {{Fault::Drop, 2, 0, 1, 0}};
    Sessions sessions(pipelineProgram({})->load(), options);
    std::vector<int32_t> tokens = tokensOf({});
    for (const Status &status : sessions.step({tokens}, 0)) {
      EXPECT_EQ(status.code(), Code::Timeout);
      EXPECT_NE(status.message().find("no progress for 0.3 s in training step 0"), std::string::npos) << status.message();
    }
  }
}

TEST(SessionsTest, aBatchThatOneSessionCannotUseStopsAll) {
  Sessions sessions(pipelineProgram({})->load(), optionsOf(2));
  std::vector<int32_t> tokens = tokensOf({});
  auto statuses = sessions.each([&](Session &session) {
    return session.step({&session == sessions.sessions[0].get() ? std::vector<int32_t>{1} : tokens}, 0).status();
  });
  for (const Status &status : statuses) {
    EXPECT_EQ(status.code(), Code::BadInput);
    EXPECT_NE(status.message().find("input 'tokens' is 1 values of i32, the program takes 32"), std::string::npos) << status.message();
  }
}

// Over a communicator that tells by its envelopes, and over one that tells nothing itself, as that of GPUs: at the end of the step.
TEST(SessionsTest, sessionsInDifferentStepsStop) {
  for (bool processes : {true, false}) {
    SessionsOptions options = optionsOf(2);
    options.processes = processes;
    auto program = pipelineProgram(fourReplicas())->load();
    Sessions sessions(program, options);
    std::vector<int32_t> tokens = tokensOf(fourReplicas());
    for (const Status &status : sessions.step({tokens}, 6))
      EXPECT_TRUE(status.ok()) << status.message();
    auto statuses = sessions.each([&](Session &session) {
      return session.step({tokens}, &session == sessions.sessions[0].get() ? 7 : 9).status();
    });
    char hash[17];
    std::snprintf(hash, sizeof(hash), "%016llx", static_cast<unsigned long long>(program::hashOf(*program)));
    for (const Status &status : statuses) {
      EXPECT_EQ(status.code(), Code::RunFailed);
      for (const char *part : {"process 0 is in step 7 of program ", "process 1 is in step 9 of program "})
        EXPECT_NE(status.message().find(part + std::string(hash)), std::string::npos) << status.message();
    }
  }
}

TEST(SessionsTest, sessionsThatDoNotFitAreRefusedByAll) {
  auto program = pipelineProgram({})->load();
  auto messages = [&](const SessionsOptions &options) {
    std::vector<std::string> all;
    for (const Status &status : Sessions(program, options).opened)
      all.push_back(status.message());
    return all;
  };
  auto both = [](const std::string &message) { return std::vector<std::string>(2, message); };
  SessionsOptions options = optionsOf(2);
  options.ranks = {{1, {2}}};
  EXPECT_EQ(messages(options), both("rank 3 is in none of the 2 sessions"));
  options.ranks = {{1, {1, 2, 3}}};
  EXPECT_EQ(messages(options), both("rank 1 is in session 0 and in session 1"));
  options.ranks = {{1, {2, 4}}};
  EXPECT_EQ(messages(options), both("there is no rank 4: the program has ranks 0 to 3"));
  options.ranks = {{1, {2, 2}}};
  EXPECT_EQ(messages(options), both("rank 2 is asked for twice"));
  options = optionsOf(2);
  options.alter = [](size_t session, SessionOptions &own) { own.seed = session; };
  EXPECT_EQ(messages(options), both("session 1 has seed 1, session 0 has 0"));
  options.alter = [](size_t session, SessionOptions &own) { own.backend = session ? "null" : "cpu"; };
  EXPECT_EQ(messages(options), both("session 1 has the backend 'null', session 0 has 'cpu': a training must use one kind of device"));
}

TEST(SessionsTest, ranksElsewhereNeedACommunicatorThatReachesThem) {
  SessionOptions options;
  options.threads = 1, options.ranks = {0, 1};
  EXPECT_EQ(Session::create(pipelineProgram({})->load(), options).status().message(),
            "rank 2 is not in this session, whose communicator reaches no other");
}

/// The plan of the session that has these ranks, with what it refers to.
struct Planned {
  Planned(const Program &program, const std::vector<int64_t> &ranks) {
    std::vector<LocalRank> local;
    for (int64_t rank : ranks)
      local.push_back({rank, DeviceAddress() + 4096});
    graph = expandProgram(program, local);
    operations = std::make_unique<Operations>(program, graph);
    plan = planCommunication(program, graph, *operations, {}, /*ordered=*/true);
  }
  StepGraph graph;
  std::unique_ptr<Operations> operations;
  CommunicationPlan plan;
};

TEST(CommunicationPlanTest, everyRanksPartIsItsCommunicationOrder) {
  auto loaded = pipelineProgram(fourReplicas())->load();
  const Program &program = loaded->root();
  Planned all(program, {0, 1, 2, 3, 4, 5, 6, 7});
  for (int64_t rank = 0; rank < 8; ++rank) {
    std::vector<std::pair<uint32_t, uint32_t>> order, asked;
    for (const program::CommunicationRef *reference : *program.classes()->Get(program::classOf(program, rank))->communication_order())
      order.emplace_back(reference->task(), reference->step());
    for (const Operation *operation : all.plan.operations)
      if (operation->rank() == rank)
        asked.emplace_back(all.graph.nodes[operation->tag].task, all.graph.nodes[operation->tag].step);
    EXPECT_EQ(asked, order) << "rank " << rank;
  }
}

TEST(CommunicationPlanTest, sessionsHavePartsOfOneOrder) {
  auto loaded = pipelineProgram(fourReplicas())->load();
  using Id = std::tuple<StepKind, uint32_t, uint32_t, int64_t>;
  auto order = [&](const std::vector<int64_t> &ranks, const std::vector<int64_t> &of) {
    std::vector<Id> ids;
    for (const Operation *operation : Planned(loaded->root(), ranks).plan.operations)
      if (std::count(of.begin(), of.end(), operation->rank()))
        ids.emplace_back(operation->step, operation->event, operation->micro, operation->rank());
    return ids;
  };
  std::vector<int64_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  for (const std::vector<int64_t> &some : {std::vector<int64_t>{0, 1, 2, 3}, {1, 3, 5, 7}, {0, 3, 6}, {5}})
    EXPECT_EQ(order(some, some), order(all, some));
}

TEST(CommunicationPlanTest, groupsAreThoseOfTheSessionsRanks) {
  auto loaded = pipelineProgram(fourReplicas())->load();
  Planned stage1(loaded->root(), {1, 3});
  ASSERT_EQ(stage1.plan.groups.size(), 1u) << "dp is the only axis with collectives";
  const CommunicationGroup &group = stage1.plan.groups[0];
  EXPECT_EQ(std::vector<int64_t>(group.members, group.members + group.memberCount), (std::vector<int64_t>{1, 3, 5, 7}));
  EXPECT_EQ(Planned(loaded->root(), {0, 1}).plan.groups.size(), 2u);
}

} // namespace
} // namespace npar::testing
