// The deadlock proof: every bad program is refused with the right cycle, no good one is, and the simulation of all ranks agrees.
#include "engine/program/Deadlock.h"

#include "engine/program/Checks.h"
#include "engine/program/Describe.h"
#include "engine/program/Verify.h"
#include "tests/engine/program/BadPrograms.h"
#include "tests/engine/program/Mutation.h"
#include "tests/engine/program/Simulation.h"

#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>

namespace npar::program {
namespace {

bool longRun() {
  const char *value = std::getenv("NPAR_LONG");
  return value && *value;
}

const CheckResult *find(const std::vector<CheckResult> &results, const std::string &name) {
  for (const CheckResult &result : results)
    if (result.name == name)
      return &result;
  return nullptr;
}

/// `rank 4 (`, of the class's rank at coordinate 0 of all axes that are parameters.
std::string rankText(const Program &program, uint32_t rankClass) {
  std::string text = describeExampleRank(program, *program.classes()->Get(rankClass));
  return text.substr(0, text.find('(') + 1);
}

void expectRefused(const BadProgram &bad) {
  Packed packed(bad.program);
  std::mt19937 chance(3);
  EXPECT_NE(simulate(packed.root(), chance).fate, Fate::Ends) << "it does not hang at all";
  std::vector<CheckResult> results = checkProgram(packed.root());
  const CheckResult *well = find(results, "well formed"), *result = find(results, bad.check);
  ASSERT_TRUE(well->ok) << well->detail;
  ASSERT_FALSE(result->ok) << bad.check;
  std::string message = bad.anyOrder ? findDeadlock(packed.root(), /*withCommunicationOrder=*/false) : result->detail;
  if (bad.anyOrder) {
    EXPECT_EQ(simulate(packed.root(), chance, /*inOrder=*/false).fate, Fate::Hangs);
  }
  for (const std::string &text : bad.texts)
    EXPECT_NE(message.find(text), std::string::npos) << "'" << text << "' is not in\n" << message;
  if (bad.check != "no deadlock")
    return;
  for (uint32_t rankClass : bad.classes)
    EXPECT_NE(message.find(rankText(packed.root(), rankClass)), std::string::npos) << rankClass << "\n" << message;
  for (const char *other : {"sends and receives match", "collectives agree"})
    EXPECT_TRUE(find(results, other)->ok) << find(results, other)->detail;
  if (bad.steps) {
    EXPECT_EQ(message.find(std::to_string(bad.steps) + " steps wait for each other"), 0u) << message;
  }
}

TEST(Deadlock, BadProgramsAreRefusedWithTheirCycle) {
  uint32_t count = 0;
  for (const BadFamily &family : badFamilies()) {
    uint32_t made = 0;
    for (uint32_t stages = 2; stages <= 6; ++stages)
      for (uint32_t micros : {2, 3, 5, 8}) {
        PipelineShape shape;
        shape.stages = stages, shape.micros = micros;
        shape.dp = 1 + (stages + micros) % 2, shape.tp = 1 + micros / 2 % 2;
        shape.slots = micros % 2 ? 0 : 2;
        SCOPED_TRACE(std::string(family.name) + ", " + std::to_string(stages) + " stages, " + std::to_string(micros) + " micro-batches");
        if (std::optional<BadProgram> bad = family.make(shape)) {
          expectRefused(*bad);
          ++made;
        }
      }
    EXPECT_GE(made, 5u) << family.name;
    count += made;
  }
  std::cout << count << " bad programs of " << badFamilies().size() << " families\n";
  EXPECT_GE(count, 100u);
}

// The whole text, as people read it.
TEST(Deadlock, TheMessage) {
  PipelineShape shape;
  shape.micros = 2, shape.tp = 2;
  for (const BadFamily &family : badFamilies()) {
    if (std::string(family.name).find("172668") == std::string::npos)
      continue;
    EXPECT_EQ(findDeadlock(Packed(family.make(shape)->program).root()),
              "2 steps wait for each other on ranks 0, 2 (and also on 1 more such set of ranks):\n"
              "  rank 0 (dp = 0, pp = 0, cp = 0, tp = 0): task B0:0 step 0 \"recv grad\"\n"
              "    waits for task F0:1 step 3 \"send act\", which comes first in this rank's order of communication\n"
              "  its receiver, rank 2 (dp = 0, pp = 1, cp = 0, tp = 0): task F1:1 step 0 \"recv act\"\n"
              "    waits for task B1:0 step 3 \"send grad\", which comes first in this rank's order of communication\n"
              "  which waits for its receiver, the first step of this list");
  }
}

PipelineShape drawShape(std::mt19937 &chance) {
  PipelineShape shape;
  shape.stages = 2 + chance() % 4, shape.micros = 1 + chance() % 5;
  (chance() % 3 == 0 ? shape.dp : chance() % 2 ? shape.tp : shape.cp) = 2;
  shape.slots = chance() % 3;
  shape.splitBackward = chance() % 2, shape.tpReductions = chance() % 2, shape.cpReductions = chance() % 2;
  shape.count = chance() % 2, shape.tied = chance() % 2, shape.norm = chance() % 2, shape.groups = chance() % 2, shape.ring = chance() % 2;
  for (uint32_t i = chance() % 3; i-- > 0 && shape.stages > 2;) {
    uint32_t from = chance() % (shape.stages - 2);
    shape.skips.push_back({from, from + 2 + chance() % (shape.stages - from - 2)});
  }
  return shape;
}

/// Some backwards overlap the forward of another micro-batch before them, where memory permits.
void overlapBackwards(ProgramT &program, std::mt19937 &chance) {
  for (auto &rankClass : program.classes)
    for (uint32_t task = 1; task < rankClass->tasks.size(); ++task) {
      Task &one = rankClass->tasks[task], &before = rankClass->tasks[task - 1];
      if (rankClass->fragments[before.fragment()]->phase != Phase::Forward ||
          rankClass->fragments[one.fragment()]->phase != Phase::Backward || before.micro() == one.micro() || chance() % 2)
        continue;
      one.mutate_overlaps(1);
      if (!checkMemory(Packed(program).root()).empty())
        one.mutate_overlaps(0);
    }
}

bool hasOverlaps(const ProgramT &program) {
  for (const auto &rankClass : program.classes)
    for (const Task &task : rankClass->tasks)
      if (task.overlaps())
        return true;
  return false;
}

/// Any pipeline in any order. Nothing, after a check that it is refused, when its boxes are too few for the order.
std::optional<ProgramT> drawPipeline(std::mt19937 &chance, uint32_t &refused) {
  PipelineShape shape = drawShape(chance);
  shape.overlaps = chance() % 2;
  ProgramT program = buildPipeline(shape, chance() % 4 ? drawOrder(shape, chance) : oneForwardOneBackward(shape));
  if (shape.overlaps)
    overlapBackwards(program, chance);
  if (orderBySimulation(program, chance))
    return program;
  EXPECT_NE(findDeadlock(Packed(program).root(), /*withCommunicationOrder=*/false), "");
  EXPECT_FALSE(finishProgram(program));
  ++refused;
  return std::nullopt;
}

TEST(Deadlock, GoodProgramsRaiseNoAlarm) {
  uint32_t seed = 11, good = 0, overlapping = 0, refused = 0, wanted = longRun() ? 5000 : 1000;
  std::mt19937 chance(seed);
  while (good < wanted) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", program " + std::to_string(good + refused));
    std::optional<ProgramT> program = drawPipeline(chance, refused);
    if (!program)
      continue;
    ++good;
    overlapping += hasOverlaps(*program);
    Packed packed(*program);
    for (const CheckResult &result : checkProgram(packed.root()))
      ASSERT_TRUE(result.ok) << result.name << ": " << result.detail;
    Simulated outcome = simulate(packed.root(), chance);
    ASSERT_EQ(outcome.fate, Fate::Ends) << outcome.why;
    // The checker's own choice of an order is as good.
    ASSERT_TRUE(finishProgram(*program));
    Packed ordered(*program);
    ASSERT_EQ(findDeadlock(ordered.root()), "");
    ASSERT_EQ(simulate(ordered.root(), chance).fate, Fate::Ends);
  }
  EXPECT_GT(overlapping, wanted / 10);
  std::cout << good << " good programs without alarm, " << overlapping << " with tasks that overlap; " << refused
            << " whose memory was too small for their order, all refused (seed " << seed << ")\n";
}

TEST(Deadlock, EveryMutantThatCanHangIsRefused) {
  uint32_t seed = 23, refused = 0, wanted = longRun() ? 5000 : 1000;
  std::mt19937 chance(seed);
  Score score;
  while (score.mutants < wanted) {
    std::optional<ProgramT> good = drawPipeline(chance, refused);
    if (!good || std::all_of(good->classes.begin(), good->classes.end(),
                             [](const auto &rankClass) { return rankClass->communication_order.empty(); }))
      continue;
    Packed base(*good);
    for (int i = 0; i < 5; ++i) {
      ProgramT mutant;
      base.root().UnPackTo(&mutant);
      std::string what = mutate(mutant, chance);
      Packed packed(mutant);
      ASSERT_TRUE(checkProgram(packed.root())[0].ok) << what << ": " << checkProgram(packed.root())[0].detail;
      score.add(packed.root(), what, chance);
    }
  }
  std::cout << score.text() << " (seed " << seed << ")\n";
  EXPECT_EQ(score.caught, score.hang);
  EXPECT_EQ(score.wrongCycle, 0u);
  for (const std::string &missed : score.missed)
    ADD_FAILURE() << missed;
  EXPECT_GT(score.hang, wanted / 4);
  EXPECT_GT(score.harmless, wanted / 20);
}

// The order in which steps start does not matter to what becomes of a program: the simulation may judge from one run.
TEST(Deadlock, TheSimulationJudgesAlikeInEveryOrder) {
  std::mt19937 chance(31);
  uint32_t refused = 0;
  for (int round = 0; round < 50; ++round) {
    std::optional<ProgramT> program = drawPipeline(chance, refused);
    if (!program)
      continue;
    if (!program->classes[0]->communication_order.empty() && round % 2) {
      auto &order = program->classes[0]->communication_order;
      std::swap(order.front(), order.back());
    }
    Packed packed(*program);
    Fate fate = simulate(packed.root(), chance).fate;
    for (int again = 0; again < 5; ++again)
      ASSERT_EQ(simulate(packed.root(), chance).fate, fate);
  }
}

// 64 stages x 512 micro-batches, and as many ranks per stage as the mesh may hold: time grows with classes, tasks and steps alone.
TEST(Deadlock, LargePrograms) {
  PipelineShape shape;
  shape.stages = 64, shape.micros = 512, shape.dp = 512, shape.tp = 128, shape.slots = 64;
  ProgramT program = buildPipeline(shape, oneForwardOneBackward(shape));
  ASSERT_TRUE(finishProgram(program));
  auto timed = [](const char *what, auto work) {
    auto begin = std::chrono::steady_clock::now();
    work();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::cout << what << ": " << seconds << " s\n";
    return seconds;
  };
  double seconds = 0;
  {
    Packed packed(program);
    seconds += timed("checkProgram", [&] {
      for (const CheckResult &result : checkProgram(packed.root()))
        EXPECT_TRUE(result.ok) << result.name << ": " << result.detail;
    });
  }
  // The worst to explain: the cycle runs through all stages.
  auto &order = program.classes[63]->communication_order;
  std::rotate(order.begin(), order.end() - 1, order.end()); // the update's reduction first
  Packed packed(program);
  std::string cycle;
  seconds += timed("findDeadlock", [&] { cycle = findDeadlock(packed.root()); });
  EXPECT_NE(cycle.find("\"norm\""), std::string::npos) << cycle;
  EXPECT_LT(seconds, 60) << "far beyond what it takes";
}

} // namespace
} // namespace npar::program
