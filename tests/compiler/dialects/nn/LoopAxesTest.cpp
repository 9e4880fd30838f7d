// Properties of ops for placing and the cost model: loop axes, linearity, floating-point operations.
#include "compiler/dialects/nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace npar::nn;

namespace {

const char *const types = R"(
!tokens = tensor<2x8xi32, #nn.axes<batch, seq>>
!rows = tensor<2x8xf32, #nn.axes<batch, seq>>
!x = tensor<2x8x16xf32, #nn.axes<batch, seq, embed>>
!e = tensor<16xf32, #nn.axes<embed>>
!h = tensor<2x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
!p = tensor<2x4x8x8xf32, #nn.axes<batch, head, seq, key>>
!qkv = tensor<2x8x3x4x4xf32, #nn.axes<batch, seq, part, head, feature>>
!table = tensor<30x16xf32, #nn.axes<vocab, embed>>
!logits = tensor<2x8x30xf32, #nn.axes<batch, seq, vocab>>
!grouped = tensor<2x8x4x3x4xf32, #nn.axes<batch, seq, head, group, feature>>
!gp = tensor<2x4x3x8x8xf32, #nn.axes<batch, head, group, seq, key>>
!gl = tensor<2x4x3x8xf32, #nn.axes<batch, head, group, seq>>
!sums = tensor<56xf64, #nn.axes<bin>>
!s = tensor<f64, #nn.axes<>>
func.func @f(%tokens: !tokens, %rows: !rows, %x: !x, %e: !e, %h: !h, %p: !p, %qkv: !qkv, %table: !table, %logits: !logits, %sums: !sums,
          %grouped: !grouped, %gp: !gp, %gl: !gl) {
)";

/// Parses one op and describes it as "batch:parallel embed:reduce linear flops".
struct Described {
  std::string axes;
  bool linear = false;
  std::optional<npar::program::ReduceOp> reduction;
  double flops = 0;
};

Described describe(const std::string &op) {
  static MLIRContext context;
  context.loadDialect<NnDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(types + op + "\nreturn }", &context);
  Described result;
  if (!module)
    return result;
  Operation &first = module->lookupSymbol<func::FuncOp>("f").front().front();
  for (const LoopAxis &axis : llvm::cast<ShardableOpInterface>(first).getLoopAxes())
    result.axes += (result.axes.empty() ? "" : " ") + axis.name.str() + ":" + stringifyLoopKind(axis.kind).str();
  result.linear = llvm::cast<ShardableOpInterface>(first).isLinear();
  result.reduction = llvm::cast<ShardableOpInterface>(first).getReduction();
  result.flops = llvm::cast<CostOpInterface>(first).getFlops();
  return result;
}

TEST(LoopAxesTest, DefaultsComeFromTheTypes) {
  Described einsum = describe("%0 = nn.einsum %x, %table : (!x, !table) -> !logits");
  EXPECT_EQ(einsum.axes, "batch:parallel seq:parallel vocab:parallel embed:reduce");
  EXPECT_FALSE(einsum.linear);
  EXPECT_EQ(einsum.flops, 2.0 * 2 * 8 * 30 * 16);
  Described sum = describe("%0 = nn.sum %x : (!x) -> !e");
  EXPECT_EQ(sum.axes, "embed:parallel batch:reduce seq:reduce");
  EXPECT_TRUE(sum.linear);
  EXPECT_EQ(sum.flops, 2.0 * 8 * 16);
}

TEST(LoopAxesTest, SumsOfBothOperandsAreLinearOnlyWithoutBroadcast) {
  EXPECT_TRUE(describe("%0 = nn.add %x, %x : (!x, !x) -> !x").linear);
  EXPECT_FALSE(describe("%0 = nn.add %x, %e : (!x, !e) -> !x").linear);
  EXPECT_FALSE(describe("%0 = nn.mul %x, %x : (!x, !x) -> !x").linear);
  EXPECT_TRUE(describe("%0 = nn.scale %x by 2.0 : (!x) -> !x").linear);
  EXPECT_FALSE(describe("%0 = nn.shift %x by 2.0 : (!x) -> !x").linear);
}

TEST(LoopAxesTest, LookupsReduceOverTheTable) {
  EXPECT_EQ(describe("%0 = nn.gather %table, %tokens over \"vocab\" : (!table, !tokens) -> !x").axes,
            "batch:parallel seq:parallel embed:parallel vocab:reduce");
  EXPECT_EQ(describe("%0 = nn.scatter_add %tokens, %x over \"vocab\" : (!tokens, !x) -> !table").axes,
            "vocab:parallel embed:parallel batch:reduce seq:reduce");
  EXPECT_EQ(describe("%0 = nn.pick %logits, %tokens over \"vocab\" : (!logits, !tokens) -> !rows").axes,
            "batch:parallel seq:parallel vocab:reduce");
}

TEST(LoopAxesTest, LayersHaveAnInternalAxis) {
  EXPECT_EQ(describe("%y, %m, %r = nn.layer_norm %x, %e, %e over \"embed\" epsilon 1.0e-5 : (!x, !e, !e) -> (!x, !rows, !rows)").axes,
            "batch:parallel seq:parallel embed:internal");
  EXPECT_EQ(
      describe("%a, %b, %c = nn.layer_norm_grad %x, %e, %rows, %rows, %x over \"embed\" : (!x, !e, !rows, !rows, !x) -> (!x, !e, !e)").axes,
      "batch:parallel seq:parallel embed:internal");
  EXPECT_EQ(describe("%y, %r = nn.rms_norm %x, %e over \"embed\" epsilon 1.0e-5 : (!x, !e) -> (!x, !rows)").axes,
            "batch:parallel seq:parallel embed:internal");
  EXPECT_EQ(describe("%a, %b = nn.rms_norm_grad %x, %e, %rows, %x over \"embed\" : (!x, !e, !rows, !x) -> (!x, !e)").axes,
            "batch:parallel seq:parallel embed:internal");
  EXPECT_EQ(describe("%0, %1 = nn.cross_entropy %logits, %tokens over \"vocab\" : (!logits, !tokens) -> (!rows, !rows)").axes,
            "batch:parallel seq:parallel vocab:internal");
  EXPECT_EQ(describe("%0 = nn.softmax %p over \"key\" : (!p) -> !p").axes, "batch:parallel head:parallel seq:parallel key:internal");
}

TEST(LoopAxesTest, AttentionSplitsTheSequenceOnlyIfToldHow) {
  Described attention =
      describe("%o, %q = nn.attention %h, %h, %h {seq = \"seq\", key = \"key\", feature = \"feature\", causal = true, scale = 0.5} "
               ": (!h, !h, !h) -> (!h, !p)");
  EXPECT_EQ(attention.axes, "batch:parallel seq:context head:parallel feature:whole key:whole");
  EXPECT_EQ(attention.flops, 2.0 * 2 * 2 * 4 * 8 * 8 * 4 + 7.0 * 2 * 4 * 8 * 8);
}

// The groups of queries are parallel forward; the gradients of k and v lack them, hence are sums.
TEST(LoopAxesTest, GroupedAttentionSplitsHeadsAndGroups) {
  const std::string attributes = "{seq = \"seq\", key = \"key\", feature = \"feature\", causal = true, scale = 0.5}";
  Described forward = describe("%o, %q = nn.attention %grouped, %h, %h " + attributes + " : (!grouped, !h, !h) -> (!grouped, !gp)");
  EXPECT_EQ(forward.axes, "batch:parallel seq:context head:parallel group:parallel feature:whole key:whole");
  double probabilities = 2 * 4 * 3 * 8 * 8;
  EXPECT_EQ(forward.flops, 2 * 2 * 4 * probabilities + 7 * probabilities);
  Described backward = describe("%a, %b, %c = nn.attention_grad %grouped, %h, %h, %gp, %grouped " + attributes +
                                " : (!grouped, !h, !h, !gp, !grouped) -> (!grouped, !h, !h)");
  EXPECT_EQ(backward.axes, "batch:parallel seq:context head:parallel group:parallel feature:whole key:whole");
  EXPECT_EQ(backward.flops, 4 * 2 * 4 * probabilities + 6 * probabilities);
}

// Blocks leave out what is masked, query by query: half of the pairs and half a diagonal. The gradient makes the scores again.
TEST(LoopAxesTest, BlockedAttentionCountsWhatIsNotMasked) {
  const std::string causal = "{seq = \"seq\", key = \"key\", feature = \"feature\", causal = true, scale = 0.5, blocked}";
  const std::string whole = "{seq = \"seq\", key = \"key\", feature = \"feature\", causal = false, scale = 0.5, blocked}";
  Described forward = describe("%o, %q = nn.attention %grouped, %h, %h " + causal + " : (!grouped, !h, !h) -> (!grouped, !gl)");
  EXPECT_EQ(forward.axes, "batch:parallel seq:context head:parallel group:parallel feature:whole key:whole");
  double rows = 2 * 4 * 3 * 8, pairs = rows * (8 + 1) / 2;
  EXPECT_EQ(forward.flops, (2 * 2 * 4 + 7) * pairs);
  for (auto [attributes, counted] : {std::pair(causal, pairs), std::pair(whole, rows * 8)}) {
    Described backward = describe("%a, %b, %c = nn.attention_grad %grouped, %h, %h, %gl, %grouped, %grouped " + attributes +
                                  " : (!grouped, !h, !h, !gl, !grouped, !grouped) -> (!grouped, !h, !h)");
    EXPECT_EQ(backward.axes, "batch:parallel seq:context head:parallel group:parallel feature:whole key:whole");
    EXPECT_EQ(backward.flops, (5 * 2 * 4 + 6) * counted);
  }
}

TEST(LoopAxesTest, PartsAreWhole) {
  Described select = describe("%0 = nn.select %qkv at \"part\"[1] : (!qkv) -> !h");
  EXPECT_EQ(select.axes, "batch:parallel seq:parallel head:parallel feature:parallel part:whole");
  EXPECT_TRUE(select.linear);
  EXPECT_EQ(describe("%0 = nn.stack %h, %h, %h along \"part\" : (!h, !h, !h) -> !qkv").axes,
            "batch:parallel seq:parallel part:whole head:parallel feature:parallel");
}

TEST(LoopAxesTest, NormsSumEveryGradient) {
  EXPECT_EQ(describe("%0 = nn.square_sums %e, %table parameters [0, 1] : (!e, !table) -> !sums").axes,
            "bin:whole embed:reduce vocab:reduce");
}

TEST(LoopAxesTest, EachReductionSaysWhatJoinsItsParts) {
  EXPECT_EQ(describe("%0 = nn.sum %x : (!x) -> !e").reduction, npar::program::ReduceOp::Sum);
  EXPECT_EQ(describe("%0 = nn.max %x : (!x) -> !e").reduction, npar::program::ReduceOp::Max);
  EXPECT_EQ(describe("%0 = nn.einsum %x, %table : (!x, !table) -> !logits").reduction, npar::program::ReduceOp::Sum);
  EXPECT_EQ(describe("%0 = nn.gather %table, %tokens over \"vocab\" : (!table, !tokens) -> !x").reduction, npar::program::ReduceOp::Sum);
  EXPECT_EQ(describe("%0 = nn.exp %x : (!x) -> !x").reduction, std::nullopt);
}

// A new op that reduces and leaves the kind of reduction out: every program with it is refused, none is summed in silence.
class ForgetfulOp : public Op<ForgetfulOp, OpTrait::OneResult, OpTrait::OneOperand, ShardableOpInterface::Trait, AxesAgree> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ForgetfulOp)
  using Op::Op;
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  static StringRef getOperationName() { return "test.forgetful"; }
};
struct TestDialect : Dialect {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestDialect)
  explicit TestDialect(MLIRContext *context) : Dialect(getDialectNamespace(), context, TypeID::get<TestDialect>()) {
    addOperations<ForgetfulOp>();
  }
  static StringRef getDialectNamespace() { return "test"; }
};

TEST(LoopAxesTest, AReductionOfUnknownKindIsRefused) {
  MLIRContext context;
  context.loadDialect<NnDialect, func::FuncDialect, TestDialect>();
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { said += diagnostic.str() + "\n"; });
  auto parse = [&](const std::string &result) {
    return bool(parseSourceString<ModuleOp>(types + ("%0 = \"test.forgetful\"(%x) : (!x) -> " + result) + "\nreturn }", &context));
  };
  EXPECT_TRUE(parse("!x")) << said;
  EXPECT_FALSE(parse("!rows"));
  EXPECT_NE(said.find("result 0 lacks the loop 'embed' and the op does not define what joins its parts"), std::string::npos) << said;
}

} // namespace
