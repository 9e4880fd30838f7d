// Refusals by the verifier: one hand-made fault per test, in a program that is otherwise right.
#include "tests/engine/program/Refusals.h"
#include "tests/engine/program/TwoStages.h"

#include "engine/program/Words.h"

#include <gtest/gtest.h>

namespace npar::program {
namespace {

TEST(Verify, AcceptsTheGoodProgram) {
  std::vector<CheckResult> results = check(twoStages());
  EXPECT_EQ(results.size(), 6u);
  for (const CheckResult &result : results)
    EXPECT_TRUE(result.ok) << result.name << ": " << result.detail;
}

TEST(Verify, SendWithoutReceive) {
  ProgramT program = twoStages();
  step(program, 1, 1, 0).mutate_kind(StepKind::Zero);
  auto &order = program.classes[1]->communication_order;
  order.erase(order.begin(), order.begin() + 2);
  expectRefused(program, "sends and receives match", "\"send\" has no receive");
}

TEST(Verify, SwappedPeers) {
  ProgramT program = twoStages();
  program.transfers[0]->peer = 0;
  expectRefused(program, "sends and receives match", "sends to itself");
}

TEST(Verify, UnequalCounts) {
  ProgramT program = twoStages();
  program.transfers[1]->type = ElementType::I32;
  expectRefused(program, "sends and receives match", "sends 16 f32, but stage1 (ranks 2-3) task F1:0 step 0 \"receive\" receives 16 i32");
}

TEST(Verify, ReceiveOfAnotherEvent) {
  ProgramT program = twoStages();
  program.transfers[1]->event = 5;
  expectRefused(program, "sends and receives match", "waits for event 5 of micro-batch 0 from pp = 0, which never sends it");
}

TEST(Verify, CheckpointRules) {
  auto refused = [](CheckpointRuleKind kind, const std::string &file, const std::string &model, const std::string &why) {
    ProgramT program = twoStages();
    program.variables[0]->name = "w", program.variables[0]->kind = VariableKind::Parameter;
    program.checkpoint.push_back(std::make_unique<CheckpointRuleT>());
    program.checkpoint[0]->kind = kind, program.checkpoint[0]->file = file, program.checkpoint[0]->model = model;
    expectRefused(program, "well formed", why);
  };
  refused(static_cast<CheckpointRuleKind>(9), "a", "w", "a checkpoint rule of an unknown kind");
  refused(CheckpointRuleKind::Rename, "a.*.*", "*", "the checkpoint rule of 'a.*.*' and '*' has a '*' that stands for nothing");
  refused(CheckpointRuleKind::Rename, "a", "*", "has a '*' that stands for nothing");
  refused(CheckpointRuleKind::Same, "a*", "w", "has a '*' that stands for nothing");
  refused(CheckpointRuleKind::Rename, "a.{i}", "w.{i}.{embed}",
          "has a number that stands for nothing, or too many"); // 'w' has no axis in its name
  refused(CheckpointRuleKind::Rename, "a.{i}", "{j}", "has a number that stands for nothing, or too many");
  refused(CheckpointRuleKind::Rename, "{a}{b}{c}{d}{e}", "w", "has a number that stands for nothing, or too many");
  refused(CheckpointRuleKind::Same, "a", "v", "a checkpoint rule is for parameter 'v', which does not exist");
  refused(CheckpointRuleKind::Fresh, "", "v*", "a checkpoint rule is for parameter 'v*', which does not exist");

  ProgramT program = twoStages();
  VariableT &several = *program.variables[0];
  several.name = "w.{" + several.axes[0] + "}", several.kind = VariableKind::Parameter;
  program.checkpoint.push_back(std::make_unique<CheckpointRuleT>());
  program.checkpoint[0]->kind = CheckpointRuleKind::Same, program.checkpoint[0]->file = "a", program.checkpoint[0]->model = several.name;
  expectRefused(program, "well formed", "a checkpoint rule compares 'a' with parameter '" + several.name + "', which is several tensors");
}

TEST(Verify, CountsOfParametersThatContradict) {
  ProgramT program = twoStages();
  program.parameters = 10, program.active_parameters = 4, program.table_parameters = 4;
  EXPECT_TRUE(check(program)[0].ok);
  program.table_parameters = 5;
  expectRefused(program, "well formed", "of 10 parameters 4 are active, and of these 5 are in tables");
  program.active_parameters = 11;
  expectRefused(program, "well formed", "of 10 parameters 11 are active, and of these 5 are in tables");
}

TEST(Verify, TasksThatCannotOverlap) {
  size_t tasks = twoStages().classes[0]->tasks.size();
  for (size_t task : {size_t(0), tasks - 1}) {
    ProgramT program = twoStages();
    program.classes[0]->tasks[task].mutate_overlaps(1);
    expectRefused(program, "well formed", "overlaps a task that it cannot overlap");
  }
}

// Both stages reduce twice over pp, in opposite orders: each waits for the other's second collective.
TEST(Verify, CrossedCollectives) {
  ProgramT program = emptyProgram({{"pp", 2}}, 1);
  uint32_t a = addAllReduce(program, {0}, 0, 16), b = addAllReduce(program, {0}, 1, 16);
  for (uint32_t stage = 0; stage < 2; ++stage) {
    RankClassT &rankClass = addClass(program, "stage" + std::to_string(stage), {{0, stage}}, 128);
    uint32_t update = addFragment(rankClass, "U", Phase::Update);
    Span first = {0, 0, 64}, second = {0, 64, 64};
    addStep(program, rankClass, update, StepKind::Collective, stage ? b : a, {first}, {first}, {}, "first");
    addStep(program, rankClass, update, StepKind::Collective, stage ? a : b, {second}, {second}, {}, "second");
    addTask(rankClass, update, 0);
    rankClass.communication_order = {{0, 0}, {0, 1}};
  }
  expectRefused(program, "no deadlock", "2 steps wait for each other on ranks 0, 1:\n  rank 0 (pp = 0): task U step 1 \"second\"");
}

// Stage 1 receives micro-batch 1 before 0 while stage 0 has one outbox.
TEST(Verify, CycleThroughMemoryReuse) {
  ProgramT program = twoStages();
  RankClassT &stage = *program.classes[1];
  std::swap(stage.tasks[1], stage.tasks[2]);
  stage.communication_order.clear();
  EXPECT_FALSE(finishProgram(program));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Program::Pack(builder, &program));
  std::string cycle = findDeadlock(*flatbuffers::GetRoot<Program>(builder.GetBufferPointer()), /*withCommunicationOrder=*/false);
  EXPECT_NE(
      cycle.find(
          "task F0:1 step 1 \"all_reduce\", whose result it reads\n    waits for task F0:0 step 2 \"send\", whose memory it uses again"),
      std::string::npos)
      << cycle;
}

TEST(Verify, OverlappingBuffersOfConcurrentSteps) {
  ProgramT program = twoStages();
  RankClassT &stage = *program.classes[0];
  addStep(program, stage, 1, StepKind::Zero, 0, {}, {{2, 32, 64}}, {}, "intruder");
  expectRefused(program, "memory as planned", "may run at the same time on the same bytes of region 'scratch'");
}

TEST(Verify, MissingReuseEdgeOfAnOutbox) {
  ProgramT program = twoStages();
  program.classes[0]->task_dependencies.clear();
  expectRefused(program, "memory as planned", "\"send\" and stage0 (ranks 0-1) task F0:1 step 1 \"all_reduce\" may run at the same time");
}

TEST(Verify, MissingReuseEdgeOfAnInbox) {
  ProgramT program = twoStages();
  program.classes[1]->task_dependencies.clear();
  expectRefused(program, "memory as planned", "may run at the same time on the same bytes of region 'inbox'");
}

TEST(Verify, OutputThatOverlapsAnInput) {
  ProgramT program = twoStages();
  program.classes[0]->fragments[2]->operands[1] = Operand(0, 0, 32, 64);
  expectRefused(program, "memory as planned", "writes an operand that overlaps another one in region 'static'");
}

// A step works in place only where its output is all of an input.
TEST(Verify, OutputThatIsAPartOfAnInput) {
  ProgramT program = twoStages();
  program.classes[1]->fragments[1]->operands.back().mutate_bytes(32); // accumulate
  expectRefused(program, "memory as planned", "writes an operand that overlaps another one in region 'static'");
}

/// The good program with one more task: a bucket of two collectives of a kind with these operands, which may be in region 3 of 256 bytes.
ProgramT withBucket(CollectiveKind kind, const std::vector<Span> &inputs, const std::vector<Span> &outputs) {
  ProgramT program = twoStages();
  uint32_t first = addAllReduce(program, {0, 1}, 20, 16);
  addAllReduce(program, {0, 1}, 20, 16);
  for (uint32_t part : {first, first + 1})
    program.collectives[part]->kind = kind, program.collectives[part]->shift = kind == CollectiveKind::Permute;
  for (auto &rankClass : program.classes) {
    addRegion(*rankClass, "bucket", 256, 1);
    uint32_t fragment = addFragment(*rankClass, "bucket", Phase::Update);
    addStep(program, *rankClass, fragment, StepKind::Collective, first, inputs, outputs, {}, "bucket");
    rankClass->tasks.clear(), rankClass->bases.clear(), rankClass->task_dependencies.clear();
    for (uint32_t task = 0; task < 5; ++task) // P, F:0, F:1, U, bucket
      addTask(*rankClass, task < 2 ? task : task - 1, task == 2);
    rankClass->task_dependencies = {rankClass == program.classes[0] ? TaskDependency(2, 1, 1, 2) : TaskDependency(2, 0, 1, 1)};
  }
  finishProgram(program);
  return program;
}

TEST(Verify, CollectivesInPlace) {
  const Span a = {3, 0, 64}, b = {3, 64, 64}, c = {3, 128, 64}, d = {3, 192, 64};
  for (const CheckResult &result : check(withBucket(CollectiveKind::AllReduce, {a, b}, {a, b})))
    EXPECT_TRUE(result.ok) << result.detail;
  for (const CheckResult &result : check(withBucket(CollectiveKind::Permute, {a, b}, {c, d})))
    EXPECT_TRUE(result.ok) << result.detail;
  std::string refusal = "\"bucket\" writes an operand that overlaps another one in region 'bucket'";
  expectRefused(withBucket(CollectiveKind::AllReduce, {a, b}, {b, a}), "memory as planned", refusal);
  expectRefused(withBucket(CollectiveKind::AllReduce, {a, a}, {a, b}), "memory as planned", refusal);
  expectRefused(withBucket(CollectiveKind::Permute, {a, b}, {a, d}), "memory as planned", refusal);
}

TEST(Verify, ProductOntoItsOperand) {
  ProgramT program = twoStages();
  program.matmuls.push_back(std::make_unique<MatmulT>());
  MatmulT &matmul = *program.matmuls.back();
  matmul.m = matmul.n = matmul.k = matmul.a_row = matmul.b_row = matmul.c_row = 4;
  matmul.a_column = matmul.b_column = 1;
  addStep(program, *program.classes[0], 0, StepKind::Matmul, 0, {{0, 0, 64}, {2, 0, 64}}, {{2, 0, 64}}, {}, "product");
  expectRefused(program, "memory as planned", "writes an operand that overlaps another one in region 'scratch'");
}

TEST(Verify, OverlappingRegions) {
  ProgramT program = twoStages();
  program.classes[0]->regions[2]->offset -= 64;
  for (size_t i = 2; i < program.classes[0]->bases.size(); i += 3)
    program.classes[0]->bases[i] -= 64;
  expectRefused(program, "memory as planned", "regions 'outbox' and 'scratch' overlap");
}

TEST(Verify, ElementWithoutOwner) {
  ProgramT program = twoStages();
  program.classes[1]->pieces[0]->owner = false;
  expectRefused(program, "every element owned", "'w1' is owned by no rank");
}

TEST(Verify, ElementWithTwoOwners) {
  ProgramT program = twoStages();
  program.classes[1]->pieces[0]->variable = 0;
  program.variables.pop_back();
  expectRefused(program, "every element owned", "'w0' is owned by stage0 and by stage1");
}

TEST(Verify, PieceThatDoesNotCover) {
  ProgramT program = twoStages();
  program.classes[0]->pieces[0]->dimensions[0] = PieceDimension(31, 15, 0, 1);
  expectRefused(program, "well formed", "dimension 0 of size 31 kept as 15 does not cover");
}

/// One variable of 1,500 elements, of which each of two ranks keeps a block in `bytes` bytes.
ProgramT sharedOverTwo(uint64_t bytes, VariableKind kind) {
  ProgramT program = emptyProgram({{"dp", 2}}, 1);
  program.variables.push_back(std::make_unique<VariableT>());
  program.variables[0]->name = "w", program.variables[0]->kind = kind, program.variables[0]->axes = {"embed"};
  program.variables[0]->shape = program.variables[0]->stored = {1500};
  RankClassT &all = addClass(program, "all", {}, 8192);
  all.pieces.push_back(std::make_unique<PieceT>());
  PieceT &piece = *all.pieces.back();
  piece.bytes = bytes, piece.dimensions = {{1500, 1500, 0, 0}}, piece.flat_axes = {0}, piece.owner = true;
  finishProgram(program);
  return program;
}

TEST(Verify, SharesAreWholeBlocks) {
  for (auto [bytes, kind] : {std::pair(4096, VariableKind::Parameter), std::pair(6000, VariableKind::Accumulator)})
    for (const CheckResult &result : check(sharedOverTwo(bytes, kind)))
      EXPECT_TRUE(result.ok) << result.detail;
  expectRefused(sharedOverTwo(6000, VariableKind::Parameter), "well formed", "has 6000 bytes, its shape needs 4096");
  expectRefused(sharedOverTwo(4092, VariableKind::Accumulator), "well formed", "has 4092 bytes, its shape needs 4096");
}

TEST(Verify, PieceSplitAndDealtOutOverOneAxis) {
  ProgramT program = sharedOverTwo(4096, VariableKind::Parameter);
  program.classes[0]->pieces[0]->dimensions = {PieceDimension(1500, 750, 0, 1)};
  program.classes[0]->pieces[0]->mesh_axes = {0};
  expectRefused(program, "well formed", "is split and dealt out over mesh axis 'dp'");
}

TEST(Verify, SharesThatDoNotCoverTheWhole) {
  ProgramT program = sharedOverTwo(4096, VariableKind::Parameter);
  program.collectives.push_back(std::make_unique<CollectiveT>());
  CollectiveT &gather = *program.collectives.back();
  gather.kind = CollectiveKind::AllGather, gather.axes = {0}, gather.count = 1024;
  gather.outer = gather.inner = 1, gather.split = 1024, gather.whole = 1500;
  for (const CheckResult &result : check(program))
    EXPECT_TRUE(result.ok) << result.detail;
  gather.whole = 3000;
  expectRefused(program, "well formed", "shares of 1024 elements for 2 ranks do not fit the whole of 3000");
  gather.outer = 3, gather.inner = 2, gather.split = 750, gather.count = 6 * 750, gather.whole = 1499; // along one of three dimensions
  for (const CheckResult &result : check(program))
    EXPECT_TRUE(result.ok) << result.detail;
  gather.kind = CollectiveKind::ReduceScatter, gather.count = 1499;
  expectRefused(program, "well formed", "do not fit the whole of 1499");
}

// Shares that cover the whole many times over, up to sizes in bytes that pass 2^64.
TEST(Verify, SharesThatAreLargerThanNeeded) {
  for (auto [kind, split] : {std::pair(CollectiveKind::AllGather, int64_t(2048)), std::pair(CollectiveKind::ReduceScatter, int64_t(2048)),
                             std::pair(CollectiveKind::ReduceScatter, (int64_t(1) << 62) + 16)}) {
    ProgramT program = sharedOverTwo(4096, VariableKind::Parameter);
    program.collectives.push_back(std::make_unique<CollectiveT>());
    CollectiveT &shares = *program.collectives.back();
    shares.kind = kind, shares.axes = {0}, shares.outer = shares.inner = 1, shares.split = split, shares.whole = 1500;
    shares.count = kind == CollectiveKind::AllGather ? 2048 : 1500;
    expectRefused(program, "well formed", "do not fit the whole of 1500");
  }
}

TEST(Verify, OperandOutsideItsRegion) {
  ProgramT program = twoStages();
  program.classes[0]->fragments[0]->operands[0] = Operand(0, 0, 96, 64);
  expectRefused(program, "well formed", "operand 0 is outside its region");
}

/// The scratch of stage 0, its last region, is in files.
ProgramT withScratchInFiles() {
  ProgramT program = twoStages();
  RankClassT &rankClass = *program.classes[0];
  RegionT &scratch = *rankClass.regions.back();
  scratch.tier = Tier::File;
  rankClass.file_bytes = rankClass.arena_bytes - scratch.offset, rankClass.arena_bytes = scratch.offset;
  program.tier_folder = "folder";
  return program;
}

TEST(Verify, OnlyCopiesReachFiles) {
  ProgramT program = withScratchInFiles();
  expectRefused(program, "well formed", "fragment 'F0' step 0 operand 1 is in a file, which only copies read and write");
  program.tier_folder.clear();
  expectRefused(program, "well formed", "has memory in files, and the program names no folder for them");
}

TEST(Verify, CopyFromAFileToAFile) {
  ProgramT program = withScratchInFiles();
  FragmentT &forward = *program.classes[0]->fragments[1];
  forward.steps[0].mutate_kind(StepKind::Copy);
  const auto scratch = static_cast<uint32_t>(program.classes[0]->regions.size() - 1);
  forward.operands[0] = Operand(scratch, 0, 64, 64);
  expectRefused(program, "well formed", "fragment 'F0' step 0 copies from a file to a file");
}

TEST(Verify, RegionsBeyondTheirTier) {
  ProgramT program = withScratchInFiles();
  program.classes[0]->file_bytes = 64;
  expectRefused(program, "well formed", "does not fit the tier 'file' of 64 bytes");
  program.classes[0]->regions[0]->tier = Tier::Host;
  expectRefused(program, "well formed", "has its static region in the tier 'host'");
  program = withScratchInFiles();
  program.classes[0]->regions.back()->tier = static_cast<Tier>(9);
  expectRefused(program, "well formed", "is in an unknown tier");
}

TEST(Verify, BaseThatIsNoSlot) {
  ProgramT program = twoStages();
  program.classes[0]->bases[1] += 64;
  expectRefused(program, "well formed", "which is no slot of it");
}

TEST(Verify, DependencyOnALaterStep) {
  ProgramT program = twoStages();
  program.classes[0]->fragments[1]->dependencies[0] = 1;
  expectRefused(program, "well formed", "depends on step 1, which is not earlier");
}

TEST(Verify, CommunicationLeftOut) {
  ProgramT program = twoStages();
  program.classes[0]->communication_order.pop_back();
  expectRefused(program, "well formed", "is missing from the communication order");
}

TEST(Verify, ProductBeyondItsOperand) {
  ProgramT program = twoStages();
  program.matmuls.push_back(std::make_unique<MatmulT>());
  MatmulT &matmul = *program.matmuls.back();
  matmul.m = matmul.n = matmul.k = 4;
  matmul.a_row = matmul.b_row = matmul.c_row = 4;
  matmul.a_column = matmul.b_column = 1;
  RankClassT &stage = *program.classes[0];
  addStep(program, stage, 0, StepKind::Matmul, 0, {{0, 0, 64}, {2, 0, 64}}, {{1, 0, 64}}, {}, "product");
  for (const CheckResult &result : check(program))
    EXPECT_TRUE(result.ok) << result.detail;
  matmul.b_row = 5;
  expectRefused(program, "well formed", "the matrix product reaches beyond its operands");
}

TEST(Verify, ProductOfTypesThatAreNotMultiplied) {
  for (auto [type, result, good] :
       {std::tuple(ElementType::F32, ElementType::F32, true), std::tuple(ElementType::F64, ElementType::F64, true),
        std::tuple(ElementType::BF16, ElementType::BF16, true), std::tuple(ElementType::F16, ElementType::F32, true),
        std::tuple(ElementType::F32, ElementType::F64, false), std::tuple(ElementType::F64, ElementType::F32, false),
        std::tuple(ElementType::F32, ElementType::BF16, false), std::tuple(ElementType::BF16, ElementType::F16, false),
        std::tuple(ElementType::I32, ElementType::I32, false), std::tuple(ElementType::U8, ElementType::U8, false)}) {
    ProgramT program = twoStages();
    program.matmuls.push_back(std::make_unique<MatmulT>());
    MatmulT &matmul = *program.matmuls.back();
    matmul.m = matmul.n = matmul.k = 1, matmul.type = type, matmul.result = result;
    if (good)
      EXPECT_TRUE(check(program)[0].ok) << wordOf(type);
    else
      expectRefused(program, "well formed", std::string("a matrix product of ") + wordOf(type) + " with a result of " + wordOf(result));
  }
}

TEST(Verify, OnlyProductsOfFloat32RoundToTf32) {
  for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::F64}) {
    ProgramT program = twoStages();
    program.matmuls.push_back(std::make_unique<MatmulT>());
    MatmulT &matmul = *program.matmuls.back();
    matmul.m = matmul.n = matmul.k = 1, matmul.type = matmul.result = type, matmul.tf32 = true;
    if (type == ElementType::F32)
      EXPECT_TRUE(check(program)[0].ok);
    else
      expectRefused(program, "well formed", std::string("a matrix product of ") + wordOf(type) + " that rounds its operands to tf32");
  }
}

/// The good program with a state of slot "master" of variable `of`.
VariableT &addMaster(ProgramT &program, int32_t of) {
  program.variables.push_back(std::make_unique<VariableT>());
  VariableT &master = *program.variables.back();
  master.name = "w0.master", master.kind = VariableKind::State, master.slot = "master", master.of = of;
  master.axes = {"embed"}, master.shape = master.stored = {31};
  return master;
}

TEST(Verify, MasterOfSomethingElse) {
  ProgramT program = twoStages();
  addMaster(program, 0);
  EXPECT_TRUE(check(program)[0].ok) << check(program)[0].detail;
  program.variables.back()->shape = {32};
  expectRefused(program, "well formed", "variable 'w0.master' is the master of 'w0', which has another shape or is no parameter");
  program.variables.back()->shape = {31}, program.variables[0]->kind = VariableKind::Accumulator;
  expectRefused(program, "well formed", "which has another shape or is no parameter");
  program.variables[0]->kind = VariableKind::Parameter, program.variables.back()->of = 2; // itself
  expectRefused(program, "well formed", "which has another shape or is no parameter");
  program.variables.back()->of = 0;
  addMaster(program, 0);
  expectRefused(program, "well formed", "is a second master of 'w0'");
}

TEST(Verify, StateOfAFrozenParameter) {
  ProgramT program = twoStages();
  program.variables[0]->frozen = true;
  EXPECT_TRUE(check(program)[0].ok) << check(program)[0].detail;
  addMaster(program, 0);
  expectRefused(program, "well formed", "variable 'w0.master' belongs to 'w0', which is frozen and has none");
}

} // namespace
} // namespace npar::program
