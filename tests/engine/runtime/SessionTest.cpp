// Sessions on programs written by hand: numbers against plain arithmetic, determinism, failures, time-outs, memory.
#include "engine/runtime/Session.h"
#include "engine/logging/Trace.h"
#include "engine/runtime/SessionParts.h"
#include "tests/engine/comm/FaultyCommunicator.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

/// The same mathematics without an engine.
struct Reference {
  std::vector<float> w0, w1;
  double step(const PipelineShape &shape, const std::vector<int32_t> &tokens) {
    size_t width = w0.size();
    double loss = 0;
    std::vector<float> sum0(width, 0), sum1(width, 0);
    for (uint32_t dp = 0; dp < shape.dataParallel; ++dp) {
      std::vector<float> acc0(width, 0), acc1(width, 0);
      double part = 0;
      for (int64_t micro = 0; micro < shape.micros; ++micro) {
        float sum = 0;
        for (int i = 0; i < 4; ++i)
          sum += static_cast<float>(tokens[static_cast<size_t>(micro * shape.dataParallel + dp) * 4 + i]);
        for (size_t i = 0; i < width; ++i) {
          float x = w0[i] * sum * static_cast<float>(dp + 1);
          part += static_cast<double>(x * w1[i]) / 1024;
          acc1[i] += x;
          acc0[i] += w1[i];
        }
      }
      for (size_t i = 0; i < width; ++i)
        sum0[i] = dp ? sum0[i] + acc0[i] : acc0[i], sum1[i] = dp ? sum1[i] + acc1[i] : acc1[i];
      loss = dp ? loss + part : part;
    }
    for (size_t i = 0; i < width; ++i)
      w0[i] -= 0.001f * sum0[i], w1[i] -= 0.001f * sum1[i];
    return loss;
  }
};

SessionOptions withThreads(int threads) {
  SessionOptions options;
  options.threads = threads;
  options.seed = 3;
  return options;
}

void expectLikeReference(const PipelineShape &shape, int threads, int steps) {
  auto program = pipelineProgram(shape)->load();
  ASSERT_TRUE(program);
  auto session = Session::create(program, withThreads(threads));
  ASSERT_TRUE(session.ok()) << session.status().message();
  Reference reference{*(*session)->readFloat("w0"), *(*session)->readFloat("w1")};
  std::vector<int32_t> tokens = someTokens(shape);
  for (int step = 0; step < steps; ++step) {
    auto result = (*session)->step({tokens}, step);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->loss, reference.step(shape, tokens)) << "step " << step;
  }
  EXPECT_EQ(*(*session)->readFloat("w0"), reference.w0);
  EXPECT_EQ(*(*session)->readFloat("w1"), reference.w1);
}

TEST(SessionTest, twoStagesTwoReplicasComputeWhatPlainLoopsCompute) { expectLikeReference({}, 2, 3); }
TEST(SessionTest, oneThreadRunsFourRanks) { expectLikeReference({}, 1, 3); }
TEST(SessionTest, moreThreadsThanCores) { expectLikeReference({}, 4, 3); }
TEST(SessionTest, sixtyFourRanksOnTwoThreads) { expectLikeReference({32, 8, 64, true, true}, 2, 3); }
TEST(SessionTest, engineZeroesAccumulatorsWithoutPrologue) { // the loss is no accumulator here, so one step
  expectLikeReference({2, 2, 8, false, true}, 2, 1);
}

TEST(SessionTest, bitsDoNotDependOnThreads) {
  PipelineShape shape{4, 4, 1 << 17, true, true};
  auto program = pipelineProgram(shape)->load();
  ASSERT_TRUE(program);
  std::vector<int32_t> tokens = someTokens(shape);
  std::string hash;
  for (int threads : {1, 2, 4, 2}) {
    auto session = Session::create(program, withThreads(threads));
    ASSERT_TRUE(session.ok()) << session.status().message();
    for (int step = 0; step < 2; ++step)
      ASSERT_TRUE((*session)->step({tokens}, step).ok());
    if (hash.empty())
      hash = (*session)->parameterHash();
    EXPECT_EQ((*session)->parameterHash(), hash) << threads << " threads";
  }
  EXPECT_EQ(hash.size(), 32u);
}

TEST(SessionTest, arenaIsUsedAsPlanned) {
  auto session = Session::create(pipelineProgram({})->load(), withThreads(1));
  ASSERT_TRUE(session.ok());
  auto uses = (*session)->arenaUse();
  ASSERT_EQ(uses.size(), 4u);
  for (const ArenaUse &use : uses) {
    EXPECT_GT(use.planned, 0u);
    EXPECT_EQ(use.used, use.planned) << "rank " << use.rank;
  }
}

TEST(SessionTest, writtenVariablesAreReadBackFromAllReplicas) {
  auto session = Session::create(pipelineProgram({})->load(), withThreads(1));
  ASSERT_TRUE(session.ok());
  std::vector<double> values{1, 2, 3, 4};
  ASSERT_TRUE((*session)->write("w1", values).ok());
  EXPECT_EQ(*(*session)->read("w1"), values);
  Status wrong = (*session)->write("w1", {1, 2});
  EXPECT_EQ(wrong.message(), "variable 'w1' has 4 elements, 2 were given");
  EXPECT_EQ((*session)->read("w7").status().message(), "the program has no variable 'w7'");
}

TEST(SessionTest, accumulatorsHoldTheReducedGradient) {
  PipelineShape shape;
  auto session = Session::create(pipelineProgram(shape)->load(), withThreads(2));
  ASSERT_TRUE(session.ok());
  std::vector<double> w1 = *(*session)->read("w1");
  ASSERT_TRUE((*session)->step({someTokens(shape)}, 0).ok());
  std::vector<double> gradient = *(*session)->read("w0.grad.0");
  for (size_t i = 0; i < w1.size(); ++i)
    EXPECT_NEAR(gradient[i], 8 * w1[i], 1e-5);
}

TEST(SessionTest, refusesABatchOfAnotherSize) {
  auto session = Session::create(pipelineProgram({})->load(), withThreads(1));
  ASSERT_TRUE(session.ok());
  auto refused = [&](const Batch &batch) {
    auto result = (*session)->step(batch, 0);
    EXPECT_EQ(result.status().code(), Code::BadInput);
    return result.status().message();
  };
  EXPECT_EQ(refused({std::vector<int32_t>{1, 2, 3}}), "input 'tokens' is 3 values of i32, the program takes 32: i32 [batch 8, a1 4]");
  EXPECT_EQ(refused({std::vector<float>(32)}), "input 'tokens' is 32 values of f32, the program takes 32: i32 [batch 8, a1 4]");
  EXPECT_EQ(refused({}), "a batch of 0 inputs, the program takes 1: tokens");
}

/// Kernels index tables with these integers, so no other value reaches a kernel, whatever the source of the batch.
TEST(SessionTest, refusesAnIntegerWithoutAClass) {
  auto program = pipelineProgram({});
  program->program.inputs[0]->classes = 5, program->program.inputs[0]->axis = "words";
  auto session = Session::create(program->load(), withThreads(1));
  ASSERT_TRUE(session.ok());
  std::vector<int32_t> tokens(32, 4);
  EXPECT_TRUE((*session)->step({tokens}, 0).ok());
  tokens[14] = 5;
  EXPECT_EQ((*session)->step({tokens}, 1).status().message(),
            "input 'tokens' has the value 5 in sample 3 of the batch at position 2, but axis 'words' has 5 classes, 0 to 4");
  tokens[14] = -1;
  EXPECT_EQ((*session)->step({tokens}, 1).status().code(), Code::BadInput);
  tokens[14] = 0;
  EXPECT_TRUE((*session)->step({tokens}, 1).ok()) << "nothing was begun with the others";
}

TEST(SessionTest, nullBackendRunsWithoutKernelsAndFollowsThePlan) {
  PipelineShape shape{2, 4, 4, true, false};
  auto program = pipelineProgram(shape)->load();
  ASSERT_TRUE(program);
  auto refused = Session::create(program, withThreads(1));
  EXPECT_EQ(refused.status().message(), "the program was compiled without kernels: it runs only on the null backend");
  Trace trace;
  SessionOptions options = withThreads(2);
  options.backend = "null";
  options.trace = &trace;
  auto session = Session::create(program, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  ASSERT_TRUE((*session)->step({}, 0).ok());
  std::vector<TraceEvent> first = trace.events();
  ASSERT_FALSE(first.empty());
  for (const TraceEvent &event : first)
    EXPECT_NEAR(event.end - event.begin, 1e-6, 1e-12);
  // Stage 1 (ranks 1 and 3) receives when stage 0 sends.
  EXPECT_EQ(trace.json().find("\"name\":\"recv x\"") == std::string::npos, false);
}

TEST(SessionTest, unknownBackendIsRefused) {
  SessionOptions options;
  options.backend = "tpu";
  EXPECT_EQ(Session::create(pipelineProgram({})->load(), options).status().message(), "unknown backend 'tpu': use cpu, cuda or null");
}

TEST(SessionTest, whatACheckRefusedIsNotRun) {
  auto builder = pipelineProgram({});
  builder->program.micro_count = 0;
  auto examined = program::LoadedProgram::examineBytes(builder->bytes(), "wrong.npx");
  ASSERT_TRUE(examined.ok());
  EXPECT_EQ(Session::create(*examined, withThreads(1)).status().message(), "program refused (well formed): micro_count is 0");
}

TEST(SessionTest, missingKernelIsNamed) {
  auto builder = pipelineProgram({});
  builder->kernel("absent", 1);
  EXPECT_EQ(Session::create(builder->load(), withThreads(1)).status().message(), "the program's kernel object has no function 'absent'");
}

TEST(SessionTest, brokenKernelObjectIsRefused) {
  auto builder = pipelineProgram({});
  builder->program.codes[0]->object.resize(100);
  Status status = Session::create(builder->load(), withThreads(1)).status();
  EXPECT_EQ(status.message().rfind("cannot load the program's kernels: ", 0), 0u) << status.message();
}

// A program may hold code for several kinds of devices; a backend takes its own.
TEST(SessionTest, aBackendTakesItsOwnCode) {
  auto builder = pipelineProgram({});
  auto &codes = builder->program.codes;
  auto gpu = std::make_unique<program::DeviceCodeT>(*codes[0]);
  gpu->backend = "gpu", gpu->features = "+warp", gpu->object = {1, 2, 3};
  codes.insert(codes.begin(), std::move(gpu));
  EXPECT_TRUE(Session::create(builder->load(), withThreads(1)).ok());
  codes.pop_back();
  EXPECT_EQ(Session::create(builder->load(), withThreads(1)).status().message(),
            "the program's kernels are for gpu, not for cpu: compile it for this backend");
}

/// A session whose communication suffers the faults.
struct FaultyRun {
  FaultyRun(const PipelineShape &shape, std::vector<Fault> faults, double timeout) {
    SessionOptions options = withThreads(2);
    options.timeoutSeconds = timeout;
    SessionParts parts;
    parts.communicator = [&](Backend &backend) { return faultyInMemory(backend, faults); };
    auto created = createSession(pipelineProgram(shape)->load(), options, std::move(parts));
    EXPECT_TRUE(created.ok()) << created.status().message();
    session = std::move(*created);
    tokens = someTokens(shape);
  }
  Status step(int64_t step) { return session->step({tokens}, step).status(); }
  std::unique_ptr<Session> session;
  std::vector<int32_t> tokens;
};

TEST(SessionTest, failureOfOneRankStopsAllAndIsReportedByEach) {
  FaultyRun run({}, {{Fault::Fail, 1, 0, 2, 0}}, 60);
  Status status = run.step(5);
  EXPECT_EQ(status.code(), Code::RunFailed);
  EXPECT_NE(status.message().find("training step 5: rank 1, task F1:2, step 0 'recv x' (hand.npar:"), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("injected failure"), std::string::npos);
  for (const char *rank : {"\n  rank 0", "\n  rank 2", "\n  rank 3"})
    EXPECT_NE(status.message().find(rank), std::string::npos) << status.message();
  EXPECT_FALSE(run.step(6).ok()) << "a failed session stays failed";
}

TEST(SessionTest, lostMessageEndsInATimeoutThatSaysWhoWaits) {
  FaultyRun run({}, {{Fault::Drop, 2, 0, 1, 0}}, 0.3);
  Status status = run.step(0);
  EXPECT_EQ(status.code(), Code::Timeout);
  EXPECT_NE(status.message().find("rank 3, task F1:1, step 0 'recv x'"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("waits for rank 2"), std::string::npos) << status.message();
}

TEST(SessionTest, delaysChangeNoBits) {
  std::string hash;
  for (auto &faults : {std::vector<Fault>{}, std::vector<Fault>{{Fault::Delay, 0, -1, -1, 0.002}, {Fault::Delay, 3, -1, 1, 0.01}}}) {
    FaultyRun run({}, faults, 60);
    for (int step = 0; step < 3; ++step) {
      Status status = run.step(step);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    if (hash.empty())
      hash = run.session->parameterHash();
    EXPECT_EQ(run.session->parameterHash(), hash);
  }
}

// Programs share one memory, so a step of one program changes the parameters that the other one uses.
TEST(SessionTest, programsRunByTurnsInOneMemory) {
  PipelineShape small, large;
  small.micros = 2, large.micros = 6;
  auto hosted = pipelineProgram(large)->load(), program = pipelineProgram(small)->load();
  ASSERT_TRUE(hosted && program);
  SessionOptions options = withThreads(2);
  auto without = Session::create(program, options);
  options.guests = {hosted};
  auto host = Session::create(program, options);
  ASSERT_TRUE(host.ok() && without.ok());
  SessionOptions inside = withThreads(2);
  inside.initialise = false;
  inside.host = without->get();
  auto crowded = Session::create(hosted, inside);
  ASSERT_FALSE(crowded.ok());
  EXPECT_NE(crowded.status().message().find("to share"), std::string::npos) << crowded.status().message();
  inside.host = host->get();
  auto guest = Session::create(hosted, inside);
  ASSERT_TRUE(guest.ok()) << guest.status().message();
  Reference reference{*(*host)->readFloat("w0"), *(*host)->readFloat("w1")};
  EXPECT_EQ(*(*guest)->readFloat("w0"), reference.w0);
  for (int step = 0; step < 4; ++step) {
    const PipelineShape &shape = step % 2 ? small : large;
    std::vector<int32_t> tokens = someTokens(shape);
    auto result = (*(step % 2 ? host : guest))->step({tokens}, step);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->loss, reference.step(shape, tokens)) << "step " << step;
  }
  EXPECT_EQ(*(*host)->readFloat("w1"), reference.w1);
  EXPECT_EQ((*guest)->parameterHash(), (*host)->parameterHash());
}

TEST(SessionTest, programsWithOtherParametersShareNoMemory) {
  PipelineShape one, other;
  other.width = 64;
  auto program = pipelineProgram(one)->load(), wider = pipelineProgram(other)->load();
  SessionOptions options = withThreads(1);
  options.guests = {wider};
  auto host = Session::create(program, options);
  ASSERT_TRUE(host.ok());
  options.guests.clear(), options.host = host->get();
  auto guest = Session::create(wider, options);
  ASSERT_FALSE(guest.ok());
  EXPECT_NE(guest.status().message().find("'w0' is at another place"), std::string::npos) << guest.status().message();
}

} // namespace
} // namespace npar::testing
