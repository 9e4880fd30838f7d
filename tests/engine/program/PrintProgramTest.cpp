// A rank's text has its own coordinates, its shard of each variable and the numbers of its peers; a class's has the mesh axes.
#include "engine/program/PrintProgram.h"
#include "tests/engine/program/TwoStages.h"

#include <gtest/gtest.h>

namespace npar::program {
namespace {

std::shared_ptr<const LoadedProgram> load(const ProgramT &program) {
  auto loaded = LoadedProgram::fromTables(program);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return *loaded;
}

std::string textOf(int64_t rank) { return printRank(load(twoStages())->root(), rank); }

void expectLine(const std::string &text, const std::string &line) { EXPECT_NE(text.find(line), std::string::npos) << text; }

TEST(PrintProgram, FillsInCoordinatesAndPeers) {
  std::string text = textOf(1);
  expectLine(text, "rank 1 of 4 at pp = 0, tp = 1: stage0 of Hand");
  expectLine(text, "static[0, 64] w0 [embed 16 of 31 from 16] owner\n");
  expectLine(text, "1: all_reduce 16 elements with ranks 0, 1 (scratch[0, 64]) -> (outbox[0, 64]) after 0  # all_reduce");
  expectLine(text, "2: send 16 elements to rank 3 event 0 (outbox[0, 64]) -> () after 1");
  expectLine(text, "2: F0:1  step 1 after F0:0 step 2");
}

TEST(PrintProgram, NamesTheSenderAndTheWholeGroup) {
  std::string text = textOf(2);
  expectLine(text, "rank 2 of 4 at pp = 1, tp = 0: stage1 of Hand");
  expectLine(text, "0: receive 16 elements from rank 0 event 0 () -> (inbox[0, 64])");
  expectLine(text, "1: all_reduce 16 elements with ranks 0, 1, 2, 3");
}

TEST(PrintProgram, NamesMeshAxesOfAClass) {
  std::string text = printProgram(load(twoStages())->root());
  expectLine(text, "program Hand, plan");
  expectLine(text, "  4 ranks: pp = 2, tp = 2\n");
  expectLine(text, "\nclass stage0 at pp = 0: ranks 0-1\n");
  expectLine(text, "\nclass stage1 at pp = 1: ranks 2-3\n");
  expectLine(text, "static[0, 64] w0 [embed 16 of 31 by tp] owner\n");
  expectLine(text, "1: all_reduce 16 elements over tp (scratch[0, 64]) -> (outbox[0, 64]) after 0  # all_reduce");
  expectLine(text, "2: send 16 elements to pp = 1 event 0 (outbox[0, 64]) -> () after 1");
  expectLine(text, "  F0:1 step 2: send 16 elements to pp = 1 event 0\n");
}

/// The text tells what a rank itself need not know: where its share of a flat variable begins, and which samples it reads.
TEST(PrintProgram, SaysWhichPartARankHas) {
  ProgramT program = twoStages();
  program.variables[0]->shape = program.variables[0]->stored = {3000};
  PieceT &piece = *program.classes[0]->pieces[0];
  piece.dimensions = {{3000, 3000, 0, 0}};
  piece.mesh_axes.clear();
  piece.flat_axes = {1};
  program.inputs.push_back(std::make_unique<LogicalInputT>());
  program.inputs.back()->name = "tokens";
  program.inputs.back()->axes = {"batch", "seq"};
  program.inputs.back()->shape = {4, 16};
  auto input = std::make_unique<InputT>();
  input->dimensions = {{4, 2, 0, 1}, {16, 8, 1, 1}};
  input->mesh_axes = {0, 1};
  input->zigzag = {0, 2};
  input->type = ElementType::I32;
  program.classes[0]->inputs.push_back(std::move(input));
  flatbuffers::FlatBufferBuilder builder; // the checks would refuse it: its memory is too small
  builder.Finish(Program::Pack(builder, &program));
  const Program &packed = *GetProgram(builder.GetBufferPointer());
  expectLine(printProgram(packed), "w0 [embed 3000, 2048 elements by tp] owner\n");
  expectLine(printProgram(packed), "input tokens i32 [batch 2 of 4 by pp, seq 8 of 16 by tp in zigzag of 2] at 0\n");
  expectLine(printRank(packed, 1), "w0 [embed 3000, 2048 elements from 2048] owner\n");
  expectLine(printRank(packed, 1), "input tokens i32 [batch 2 of 4 from 0, seq 8 of 16 in zigzag of 2] at 0\n");
}

/// A bucket's parts have their own geometry; layouts, cause and rules are printed to explain the collective.
TEST(PrintProgram, SaysWhyACollectiveIsThere) {
  ProgramT program = twoStages();
  program.labels.push_back(std::make_unique<LabelT>());
  program.labels.back()->text = "batch -> tp";
  program.labels.back()->source = std::make_unique<SourcePlaceT>();
  program.labels.back()->source->file = "p.npar", program.labels.back()->source->line = 3;
  CollectiveT &collective = *program.collectives[0];
  collective.from = "embed : 16, partial = {tp : sum}", collective.to = "embed : 16";
  collective.cause = std::make_unique<CauseT>();
  collective.cause->kind = CauseKind::AddsOwned, collective.cause->operation = "square_sums";
  collective.rules = {static_cast<uint32_t>(program.labels.size() - 1)};
  expectLine(printProgram(load(program)->root()),
             ", sum of f32, event 0, [0, 0, 0] {embed : 16, partial = {tp : sum}} -> {embed : 16} because "
             "'square_sums' adds what each rank owns, rule 'batch -> tp' at p.npar:3\n");
}

} // namespace
} // namespace npar::program
