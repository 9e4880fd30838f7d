// What a compiled program has no room for is refused, not cut.
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"
#include "compiler/emit/Emit.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace npar {
namespace {

/// One step: a bucket of so many collectives.
std::string bucketOf(size_t parts) {
  std::string places;
  for (size_t i = 0; i < parts; ++i)
    places += i ? ", static[0, 64]" : "static[0, 64]";
  return R"(module attributes {dist.mesh = #dist.mesh<dp = 2>} {
    rank.program @all stage(0) arena(64) fixed {} memory {} {
      rank.region "static" bytes(64) slots(1) offset(0)
      rank.fragment "U" phase(U) {
        rank.step collective "bucket" ()" +
         places + ") -> (" + places + R"() after []
          does {axes = ["dp"], count = 16 : i64, event = 0 : i64, geometry = array<i64: 1, 1, 1>, kind = "all_reduce", op = "sum", type = f32}
          path "" flops 0.0 begin 0.0 end 1.0
      }
    }
  })";
}

TEST(BuildProgram, RefusesMoreOperandsThanAStepCounts) {
  MLIRContext context;
  context.loadDialect<rank::RankDialect, dist::DistDialect, nn::NnDialect>();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  OwningOpRef<ModuleOp> most = parseSourceString<ModuleOp>(bucketOf(65535), &context);
  ASSERT_TRUE(most) << message;
  auto program = buildProgram(*most);
  ASSERT_TRUE(succeeded(program)) << message;
  EXPECT_EQ((*program)->classes[0]->fragments[0]->steps[0].inputs(), 65535);
  OwningOpRef<ModuleOp> more = parseSourceString<ModuleOp>(bucketOf(65536), &context);
  ASSERT_TRUE(more) << message;
  EXPECT_TRUE(failed(buildProgram(*more)));
  EXPECT_NE(message.find("has 65536 inputs and 65536 outputs; a step of a compiled program has at most 65535 of each"), std::string::npos)
      << message;
}

} // namespace
} // namespace npar
