// A rank's text has its own coordinates, its shard of each variable and the numbers of its peers.
#include "compiler/emit/PrintRank.h"
#include "tests/engine/program/TwoStages.h"

#include <gtest/gtest.h>

namespace npar {
namespace {

std::string textOf(int64_t rank) {
  auto program = program::LoadedProgram::fromBytes(program::packProgram(program::twoStages()), "test.npx");
  EXPECT_TRUE(program.ok()) << program.status().message();
  return printRank((*program)->root(), rank);
}

void expectLine(const std::string &text, const std::string &line) { EXPECT_NE(text.find(line), std::string::npos) << text; }

TEST(PrintRank, FillsInCoordinatesAndPeers) {
  std::string text = textOf(1);
  expectLine(text, "rank 1 of 4 at pp = 0, tp = 1: stage0 of Hand");
  expectLine(text, "static[0, 64] w0 [embed 16 of 31 from 16]");
  expectLine(text, "1: all_reduce 16 elements with ranks 0, 1 (scratch[0, 64]) -> (outbox[0, 64]) after 0  # all_reduce");
  expectLine(text, "2: send 16 elements to rank 3 event 0 (outbox[0, 64]) -> () after 1");
  expectLine(text, "2: F0:1  step 1 after F0:0 step 2");
}

TEST(PrintRank, NamesTheSenderAndTheWholeGroup) {
  std::string text = textOf(2);
  expectLine(text, "rank 2 of 4 at pp = 1, tp = 0: stage1 of Hand");
  expectLine(text, "0: receive 16 elements from rank 0 event 0 () -> (inbox[0, 64])");
  expectLine(text, "1: all_reduce 16 elements with ranks 0, 1, 2, 3");
}

} // namespace
} // namespace npar
