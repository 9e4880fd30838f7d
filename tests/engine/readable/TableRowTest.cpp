// Cells of tables never touch.
#include "engine/readable/TableRow.h"

#include <gtest/gtest.h>

namespace npar::readable {
namespace {

TEST(TableRow, PadsCells) {
  EXPECT_EQ(TableRow(2).left("a", 4).right("1", 5).right("22", 5).str(), "  a       1   22\n");
  EXPECT_EQ(TableRow().left("a", 4).text("b").str(), "a   b\n");
  EXPECT_EQ(TableRow(2).left("alone", 8).str(), "  alone   \n");
}

TEST(TableRow, KeepsLongCellsApart) {
  EXPECT_EQ(TableRow(2).left("reduce_scatter", 15).left("over tp.0,tp.1", 13).left("forward", 10).str(),
            "  reduce_scatter over tp.0,tp.1 forward   \n");
  EXPECT_EQ(TableRow().left("seconds", 3).right("12345", 3).right("6", 1).text("s").str(), "seconds 12345 6 s\n");
}

} // namespace
} // namespace npar::readable
