// Logical positions of axes in zigzag order, and the results of ring steps for each coordinate of the rank.
#include "compiler/codegen/Text.h"
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"
#include "tests/compiler/codegen/RunFunction.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace npar::codegen;

namespace {

/// The logical position of a place of an axis of `size` in the zigzag order of `ranks`; 0 ranks: the natural order.
int64_t logical(int64_t place, int64_t size, int64_t ranks) {
  if (!ranks)
    return place;
  int64_t chunk = size / (2 * ranks), slot = place / chunk;
  return (slot % 2 ? 2 * ranks - 1 - slot / 2 : slot / 2) * chunk + place % chunk;
}

std::string module(const std::string &attributes, const std::string &arguments, const std::string &results, const std::string &body) {
  return "module attributes {" + attributes + "} { func.func @f(" + arguments + ") -> (" + results + ") {\n" + body + "\n} }";
}

std::string orderOf(int64_t ranks) {
  std::string number = std::to_string(ranks);
  return ranks ? "dist.zigzag = {key = " + number + " : i64, seq = " + number + " : i64}, " : "";
}

TEST(Order, IndexCountsLogicalPositions) {
  const int64_t size = 48;
  struct Case {
    std::string splits;
    int64_t pieces, zigzag;
  };
  // Two chunks per piece; none split; a quarter of a piece; both mesh axes.
  for (const Case &given : {Case{" {cp}", 4, 4}, Case{"", 1, 4}, Case{" {cp}", 4, 2}, Case{" {cp, tp}", 8, 4}, Case{" {cp}", 4, 0}}) {
    int64_t local = size / given.pieces;
    std::string type = "tensor<" + std::to_string(local) + "xi32, #dist.layout<seq : 48" + given.splits + ">>";
    CompiledFunction f(module(orderOf(given.zigzag) + "dist.mesh = #dist.mesh<cp = 4, tp = 2>", "", type,
                              "%i = nn.index : " + type + "\nreturn %i : " + type));
    ASSERT_TRUE(f.ok());
    for (int64_t cp = 0; cp < 4; ++cp)
      for (int64_t tp = 0; tp < 2; ++tp) {
        int64_t piece = given.pieces == 8 ? cp * 2 + tp : given.pieces == 4 ? cp : 0;
        std::vector<int32_t> expected;
        for (int64_t i = 0; i < local; ++i)
          expected.push_back(static_cast<int32_t>(logical(piece * local + i, size, given.zigzag)));
        EXPECT_EQ(f.run({}, {0, 0, 1, cp, tp})[0].as<int32_t>(), expected)
            << given.splits << " zigzag " << given.zigzag << " rank " << piece;
      }
  }
}

// The text is what the cache knows a kernel by: the same op is another kernel under another order.
TEST(Order, IsPartOfAKernelsText) {
  mlir::DialectRegistry registry;
  registerCodegen(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto text = [&](int64_t zigzag) {
    std::string type = "tensor<8xi32, #dist.layout<seq : 8>>";
    auto parsed = mlir::parseSourceString<mlir::ModuleOp>(
        "module attributes {" + orderOf(zigzag) +
            "dist.mesh = #dist.mesh<cp = 2>} {\nrank.kernel @k attributes {extent = 1 : i64, flops = 1.0 : f64} {\n" +
            "%0 = nn.index : " + type + "\nrank.yield %0 : " + type + "\n}\n}",
        &context);
    return parsed ? kernelText(*parsed->getOps<npar::rank::KernelOp>().begin(), npar::dist::meshOf(*parsed), "k") : "";
  };
  EXPECT_NE(text(0), "");
  EXPECT_NE(text(0), text(2));
  EXPECT_NE(text(4), text(2));
  EXPECT_EQ(text(2), text(2));
}

} // namespace
