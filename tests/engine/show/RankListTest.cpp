// Lists of ranks are exact.
#include "engine/show/RankList.h"

#include <gtest/gtest.h>

namespace npar::show {
namespace {

TEST(RankList, WritesRuns) {
  EXPECT_EQ(numbersText({}), "");
  EXPECT_EQ(numbersText({5}), "5");
  EXPECT_EQ(numbersText({0, 1, 2, 3}), "0-3");
  EXPECT_EQ(numbersText({0, 1, 2, 3, 8, 9, 10, 11}), "0-3, 8-11");
  EXPECT_EQ(numbersText({0, 8, 16, 24}), "0, 8, 16, 24");
  EXPECT_EQ(ranksText(runsOf({7})), "rank 7");
  EXPECT_EQ(ranksText(runsOf({6, 7})), "ranks 6-7");
}

// Three dots stand for runs that continue like the first two; other lists end with the number of ranks that are left out.
TEST(RankList, LeavesOutWhatFollowsOrSaysHowMany) {
  EXPECT_EQ(numbersText({0, 8, 16, 24, 32, 40}), "0, 8, ... 40");
  EXPECT_EQ(numbersText({0, 1, 8, 9, 16, 17, 24, 25, 32, 33}), "0-1, 8-9, ... 32-33");
  std::vector<int64_t> squares;
  for (int64_t i = 2; i < 40; ++i)
    squares.push_back(i * i);
  EXPECT_EQ(numbersText(squares), "4, 9, 16, 25, 36, 49, 64, 81, ... (38 in all)");
  EXPECT_EQ(ranksText(runsOf(squares), 21), "ranks 4, ... (38 in all)");
}

} // namespace
} // namespace npar::show
