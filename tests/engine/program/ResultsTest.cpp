// Refusals of forward-only programs by the verifier: one hand-made fault per test, in a program that is otherwise right.
#include "tests/engine/program/ProgramBuilder.h"

#include "engine/program/PrintProgram.h"
#include "engine/program/Verify.h"

#include <gtest/gtest.h>

namespace npar::program {
namespace {

/// Two stages of one micro-batch: the second leaves "losses" over [batch 2, seq 4].
ProgramT evaluation() {
  ProgramT program = emptyProgram({{"pp", 2}, {"tp", 2}}, 1);
  program.kind = ProgramKind::Evaluation;
  uint32_t send = addTransfer(program, 0, 1, 0, 8), receive = addTransfer(program, 0, 0, 0, 8);
  program.kernels.push_back(std::make_unique<KernelT>());
  program.kernels.back()->symbol = "k0";
  for (uint32_t stage = 0; stage < 2; ++stage) {
    RankClassT &rankClass = addClass(program, "stage" + std::to_string(stage), {{0, stage}});
    uint32_t box = addRegion(rankClass, stage ? "inbox" : "outbox", 64, 1), result = addRegion(rankClass, "result", 64, 1);
    uint32_t forward = addFragment(rankClass, "F" + std::to_string(stage), Phase::Forward);
    if (stage == 0) {
      addStep(program, rankClass, forward, StepKind::Kernel, 0, {}, {{box, 0, 32}}, {}, "embed");
      addStep(program, rankClass, forward, StepKind::Send, send, {{box, 0, 32}}, {}, {0}, "send");
      addInput(program, rankClass, "tokens", 2, 4).region = addRegion(rankClass, "input", 64, 1);
    } else {
      addStep(program, rankClass, forward, StepKind::Receive, receive, {}, {{box, 0, 32}}, {}, "receive");
      addStep(program, rankClass, forward, StepKind::Kernel, 0, {{box, 0, 32}}, {{result, 0, 32}}, {0}, "loss");
      program.results.push_back(std::make_unique<LogicalResultT>());
      LogicalResultT &logical = *program.results.back();
      logical.name = "losses", logical.type = ElementType::F32, logical.axes = {"batch", "seq"}, logical.shape = {2, 4};
      rankClass.results.push_back(std::make_unique<ResultBufferT>());
      ResultBufferT &buffer = *rankClass.results.back();
      buffer.region = result;
      buffer.dimensions = {PieceDimension(2, 2, 0, 0), PieceDimension(4, 2, 0, 1)};
      buffer.mesh_axes = {1};
      buffer.zigzag = {0, 0};
    }
    addTask(rankClass, forward, 0);
  }
  finishProgram(program);
  return program;
}

std::shared_ptr<const LoadedProgram> examine(const ProgramT &program) {
  auto loaded = LoadedProgram::examineBytes(packProgram(program), "test.npx");
  EXPECT_TRUE(loaded.ok());
  return *loaded;
}

/// Expects that a program is not well formed once `damage` has changed it, its result or the buffer of it.
template <typename Damage> void expectRefused(Damage damage, const std::string &why) {
  ProgramT program = evaluation();
  damage(program, *program.results[0], *program.classes[1]->results[0]);
  CheckResult first = examine(program)->checks()[0];
  EXPECT_FALSE(first.ok) << why;
  EXPECT_NE(first.detail.find(why), std::string::npos) << first.detail;
}

TEST(Results, GoodProgramIsAcceptedByEveryCheck) {
  std::shared_ptr<const LoadedProgram> loaded = examine(evaluation());
  EXPECT_EQ(loaded->checks().size(), 6u);
  EXPECT_TRUE(loaded->status().ok()) << loaded->status().message();
  std::string text = printProgram(loaded->root());
  EXPECT_NE(text.find("program Hand, plan , for evaluation\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nresults\n  losses: f32 [batch 2, seq 4]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  result losses f32 [batch 2, seq 2 of 4 by tp] at 0\n"), std::string::npos) << text;
}

TEST(Results, KindsOfPrograms) {
  expectRefused([](ProgramT &program, LogicalResultT &, ResultBufferT &) { program.kind = static_cast<ProgramKind>(9); },
                "unknown kind of program");
  expectRefused([](ProgramT &program, LogicalResultT &, ResultBufferT &) { program.kind = ProgramKind::Training; },
                "a program for training with 1 results");
  expectRefused([](ProgramT &program, LogicalResultT &, ResultBufferT &) { program.results.clear(), program.classes[1]->results.clear(); },
                "a program for evaluation with 0 results");
  expectRefused([](ProgramT &program, LogicalResultT &, ResultBufferT &) { program.inputs.clear(), program.classes[0]->inputs.clear(); },
                "a program with results but without inputs");
}

// Nothing of a training step is in a program without one.
TEST(Results, NothingOfTraining) {
  expectRefused([](ProgramT &program, LogicalResultT &, ResultBufferT &) { program.classes[1]->fragments[0]->phase = Phase::Backward; },
                "a program for evaluation runs 'F1' of phase B in class 'stage1'");
  for (VariableKind kind : {VariableKind::State, VariableKind::Accumulator, VariableKind::Output})
    expectRefused(
        [&](ProgramT &program, LogicalResultT &, ResultBufferT &) {
          program.variables.push_back(std::make_unique<VariableT>());
          program.variables[0]->name = "w.exp_avg", program.variables[0]->kind = kind;
        },
        "a program for evaluation has 'w.exp_avg', a variable of kind ");
}

TEST(Results, LogicalResults) {
  auto refused = [](auto damage, const std::string &why) {
    expectRefused([&](ProgramT &, LogicalResultT &logical, ResultBufferT &) { damage(logical); }, "result 'losses' " + why);
  };
  refused([](LogicalResultT &result) { result.type = ElementType::U8; }, "has an unsupported type");
  refused([](LogicalResultT &result) { result.axes.pop_back(); }, "has an impossible shape");
  refused([](LogicalResultT &result) { result.shape[1] = 0; }, "has an impossible shape");
  refused([](LogicalResultT &result) { result.shape[0] = 3; }, "does not begin with the batch of 2 samples");
  expectRefused([](ProgramT &program, LogicalResultT &,
                   ResultBufferT &) { program.results.push_back(std::make_unique<LogicalResultT>(*program.results[0])); },
                "result 'losses' is twice in the program");
}

TEST(Results, Measures) {
  auto measured = [](ProgramT &program) -> MeasureT & {
    program.measures.push_back(std::make_unique<MeasureT>());
    MeasureT &measure = *program.measures[0];
    measure.name = "words", measure.kind = MeasureKind::Loss, measure.weight = 0.5, measure.values = {0}, measure.counted = 0;
    return measure;
  };
  ProgramT good = evaluation();
  measured(good);
  good.predictions.push_back(std::make_unique<PredictionT>());
  good.predictions[0]->name = "points";
  std::string text = printProgram(examine(good)->root());
  EXPECT_NE(text.find("  loss words of losses where losses, weight 0.5\n  prediction points is losses\n"), std::string::npos) << text;
  auto refused = [&](auto damage, const std::string &why) {
    expectRefused([&](ProgramT &program, LogicalResultT &, ResultBufferT &) { damage(measured(program)); }, "measure 'words' " + why);
  };
  refused([](MeasureT &measure) { measure.kind = static_cast<MeasureKind>(9); }, "has an unknown kind");
  refused([](MeasureT &measure) { measure.kind = MeasureKind::F1; }, "takes 1 results, not 2");
  refused([](MeasureT &measure) { measure.values = {3}; }, "takes result 3 of 1");
  refused([](MeasureT &measure) { measure.counted = 2; }, "takes result 2 of 1");
  expectRefused(
      [](ProgramT &program, LogicalResultT &, ResultBufferT &) {
        program.predictions.push_back(std::make_unique<PredictionT>());
        program.predictions[0]->name = "points", program.predictions[0]->result = 1;
      },
      "prediction 'points' takes result 1 of 1");
}

TEST(Results, Buffers) {
  auto refused = [](auto damage, const std::string &why) {
    expectRefused([&](ProgramT &program, LogicalResultT &, ResultBufferT &buffer) { damage(program, buffer); }, why);
  };
  std::string name = "class 'stage1': result 'losses'";
  refused([](ProgramT &, ResultBufferT &buffer) { buffer.result = 1; }, "class 'stage1' keeps result 1 of 1");
  refused([](ProgramT &, ResultBufferT &buffer) { buffer.mesh_axes = {7}; }, name + " names mesh axis 7 of 2");
  refused([](ProgramT &, ResultBufferT &buffer) { buffer.zigzag.pop_back(); }, name + " has 2 dimensions, the program's 2");
  refused([](ProgramT &, ResultBufferT &buffer) { buffer.dimensions[1] = PieceDimension(4, 1, 0, 1); },
          name + ": dimension 1 of size 4 kept as 1 on each of 2 ranks does not cover the program's 4");
  refused([](ProgramT &, ResultBufferT &buffer) { buffer.region = 9; }, name + " does not fit its region");
  refused([](ProgramT &, ResultBufferT &buffer) { buffer.offset = 56; }, name + " of 16 bytes does not fit its region");
  refused([](ProgramT &, ResultBufferT &buffer) { buffer.mesh_axes = {0}; }, name + " is split over mesh axis 'pp', which its class fixes");
  refused([](ProgramT &program, ResultBufferT &) { program.classes[1]->results.clear(); }, "result 'losses' is kept by no class");
  refused([](ProgramT &program, ResultBufferT &buffer) { program.classes[0]->results.push_back(std::make_unique<ResultBufferT>(buffer)); },
          "result 'losses' is kept by class 'stage0' and by class 'stage1'");
}

} // namespace
} // namespace npar::program
