// Collectives, one by one and between their members: each damage is refused.
#include "tests/engine/program/Refusals.h"
#include "tests/engine/program/TwoStages.h"

#include <gtest/gtest.h>
#include <limits>

namespace npar::program {
namespace {

TEST(Verify, MissingMember) {
  ProgramT program = twoStages();
  step(program, 1, 2, 1).mutate_kind(StepKind::Copy);
  program.classes[1]->communication_order.pop_back();
  expectRefused(program, "collectives agree", "waits for stage1 (ranks 2-3), which never joins event 9");
}

TEST(Verify, MembersDisagree) {
  ProgramT program = twoStages();
  uint32_t other = addAllReduce(program, {0, 1}, 9, 16, ElementType::F32, ReduceOp::Max);
  step(program, 1, 2, 1).mutate_payload(other);
  expectRefused(program, "collectives agree", "disagree: operator sum and max");
}

TEST(Verify, MembersWithOtherPiecesOfRows) {
  ProgramT program = twoStages();
  for (uint32_t stage = 0; stage < 2; ++stage) { // pieces of one row and of two, with ends of 64 bytes each
    uint32_t number = addAllReduce(program, {0, 1}, 9, 16);
    CollectiveT &rows = *program.collectives[number];
    rows.kind = CollectiveKind::AllToAll, rows.concat_first = true;
    rows.outer = rows.inner = 1, rows.split = rows.concat = 2, rows.places = rows.entries = 1 + stage, rows.groups = 8;
    std::vector<Operand> &operands = program.classes[stage]->fragments[2]->operands;
    Step &norm = step(program, stage, 2, 1);
    Operand input = operands[norm.first_operand()], output = operands[norm.first_operand() + 1], sum = operands[0];
    norm.mutate_payload(number), norm.mutate_inputs(3), norm.mutate_first_operand(static_cast<uint32_t>(operands.size()));
    operands.insert(operands.end(), {input, sum, sum, output});
  }
  expectRefused(program, "collectives agree", "disagree: the pieces of rows");
}

TEST(Verify, UnknownCause) {
  ProgramT program = twoStages();
  program.collectives[0]->cause = std::make_unique<CauseT>();
  EXPECT_TRUE(check(program)[0].ok);
  program.collectives[0]->cause->kind = static_cast<CauseKind>(static_cast<int>(CauseKind::MAX) + 1);
  expectRefused(program, "well formed", "a collective with an unknown cause");
}

TEST(Verify, WhatALibraryCannotAddUp) {
  ProgramT program = twoStages();
  program.collectives[0]->library = true;
  EXPECT_TRUE(check(program)[0].ok);
  program.collectives[0]->op = ReduceOp::Max;
  expectRefused(program, "well formed", "a collective of kind all_reduce and type f32 that a library is to add up");
}

TEST(Verify, PermuteByNothingOrARound) {
  for (uint32_t shift : {0u, 4u}) {
    ProgramT program = twoStages();
    CollectiveT &collective = *program.collectives[addAllReduce(program, {0, 1}, 20, 16)];
    collective.kind = CollectiveKind::Permute, collective.shift = shift;
    expectRefused(program, "well formed", "a collective of kind permute of 4 members with shift " + std::to_string(shift));
  }
}

TEST(Verify, AllToAllOfOtherBlocks) {
  ProgramT program = twoStages();
  CollectiveT &collective = *program.collectives[addAllReduce(program, {0, 1}, 20, 48)];
  collective.kind = CollectiveKind::AllToAll;
  collective.outer = 1, collective.split = 2, collective.middle = 3, collective.concat = 2, collective.inner = 2;
  expectRefused(program, "well formed", "a collective of 48 elements whose geometry 1 x 2 x 3 x 2 x 2 does not match");
}

TEST(Verify, RowsInPieces) {
  ProgramT sound = twoStages();
  CollectiveT &rows = *sound.collectives[addAllReduce(sound, {0, 1}, 20, 48)];
  rows.kind = CollectiveKind::AllToAll, rows.concat_first = true, rows.filled = 0.25;
  rows.outer = 1, rows.split = 6, rows.concat = 2, rows.inner = 1, rows.places = 3, rows.entries = 1, rows.groups = 8;
  EXPECT_TRUE(check(sound)[0].ok) << check(sound)[0].detail;
  auto refused = [&](auto damage, const std::string &why) {
    ProgramT program = sound;
    damage(*program.collectives.back());
    expectRefused(program, "well formed", why);
  };
  std::string wrong = "a collective of kind all_to_all whose pieces of ";
  refused([](CollectiveT &collective) { collective.places = 4; }, wrong + "4 rows do not fit its geometry");
  refused([](CollectiveT &collective) { collective.groups = 9; }, wrong + "3 rows do not fit its geometry");
  refused([](CollectiveT &collective) { collective.groups = 0; }, wrong + "3 rows do not fit its geometry");
  refused([](CollectiveT &collective) { collective.entries = 0; }, wrong + "3 rows do not fit its geometry");
  refused([](CollectiveT &collective) { collective.kind = CollectiveKind::AllReduce; }, "with the geometry of all_to_all");
  for (double filled : {-0.1, 1.5, std::numeric_limits<double>::quiet_NaN()})
    refused([&](CollectiveT &collective) { collective.filled = filled; }, "a collective of which the part ");
}

TEST(Verify, AStepWithoutTheEndsOfItsRows) {
  ProgramT program = twoStages();
  CollectiveT &rows = *program.collectives[0];
  rows.kind = CollectiveKind::AllToAll, rows.concat_first = true;
  rows.outer = 1, rows.split = 8, rows.concat = 1, rows.inner = 1;
  EXPECT_TRUE(check(program)[0].ok) << check(program)[0].detail;
  rows.places = 4, rows.entries = 1, rows.groups = 4;
  expectRefused(program, "well formed", "its operands do not match what it does");
}

} // namespace
} // namespace npar::program
