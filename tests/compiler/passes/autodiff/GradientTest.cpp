// Gradients against finite differences of the forward half, on the reference meaning of nn ops, in float64.
#include "compiler/dialects/nn/ops/VariableName.h"
#include "tests/compiler/import/TinyGpt2.h"
#include "tests/compiler/passes/autodiff/Interpreter.h"

#include "compiler/import/Import.h"
#include "compiler/passes/autodiff/Autodiff.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace npar;
using namespace npar::nn;

namespace {

struct GradientTest : testing::Test {
  MLIRContext context;
  std::mt19937_64 random{7};

  double normal(double deviation) { return std::normal_distribution<double>(0, deviation)(random); }

  /// Gives every parameter random values around `center` and every input random data, then checks each parameter's gradient along a
  /// random direction.
  void check(ModuleOp module, double center = 0, double deviation = 0.3) {
    PassManager passes(&context);
    passes.addPass(compiler::createAutodiffBackwardPass());
    ASSERT_TRUE(succeeded(passes.run(module)));
    auto micro = module.lookupSymbol<func::FuncOp>("micro");
    test::Interpreter start;
    for (auto variable : module.getOps<VariableOp>()) {
      test::Tensor &tensor = start.variables[pathOf(variable).str()] = test::filled(test::shapeOf(variable.getType()));
      if (variable.isKind(VariableKind::Parameter))
        for (double &each : tensor.data)
          each = center + normal(deviation);
    }
    micro.walk([&](InputOp input) {
      test::Tensor &tensor = start.inputs[input.getName().str()] = test::filled(test::shapeOf(input.getType()));
      bool isIndex = llvm::cast<RankedTensorType>(input.getType()).getElementType().isInteger();
      for (double &each : tensor.data)
        each = isIndex ? static_cast<double>(random() % 3) : normal(1);
    });
    test::Interpreter once = start;
    ASSERT_TRUE(once.run(micro));
    for (auto parameter : module.getOps<VariableOp>())
      if (parameter.isKind(VariableKind::Parameter))
        checkAlong(module, start, once, pathOf(parameter).str());
  }

  void checkAlong(ModuleOp module, const test::Interpreter &start, const test::Interpreter &once, const std::string &name) {
    std::vector<double> direction(start.variables.at(name).data.size());
    for (double &each : direction)
      each = normal(1);
    double built = 0;
    int uses = 0;
    for (auto variable : module.getOps<VariableOp>())
      if (variable.isKind(VariableKind::Accumulator) && variable.getOf() && *variable.getOf() == name) {
        ++uses;
        const std::vector<double> &gradient = once.variables.at(pathOf(variable).str()).data;
        for (size_t i = 0; i < direction.size(); ++i)
          built += gradient[i] * direction[i];
      }
    EXPECT_GT(uses, 0) << name;
    auto lossAt = [&](double step) {
      test::Interpreter moved = start;
      for (size_t i = 0; i < direction.size(); ++i)
        moved.variables.at(name).data[i] += step * direction[i];
      EXPECT_TRUE(moved.run(module.lookupSymbol<func::FuncOp>("micro")));
      return moved.variables.at("#out.loss.sum").data.front();
    };
    const double h = 1e-5;
    double expected = (lossAt(h) - lossAt(-h)) / (2 * h);
    EXPECT_NEAR(built, expected, 1e-8 + 1e-6 * std::abs(expected)) << name;
  }

  /// A program of two parameters, %a [batch, embed] and %b [embed], whose loss is a weighted sum of %y.
  void checkOps(const std::string &ops, double center = 0) {
    std::string text = R"(
      !x = tensor<2x3xf64, #nn.axes<batch, embed>>
      !e = tensor<3xf64, #nn.axes<embed>>
      !p = tensor<2x2x3xf64, #nn.axes<part, batch, embed>>
      !h = tensor<2x4xf64, #nn.axes<batch, hidden>>
      !w = tensor<3x4xf64, #nn.axes<embed, hidden>>
      !b = tensor<2xf64, #nn.axes<batch>>
      !s = tensor<f64, #nn.axes<>>
      nn.variable @a : !x {kind = #nn.kind<parameter>, stored = [2, 3], init = #nn.init<zeros>, index = 0 : i64}
      nn.variable @b : !e {kind = #nn.kind<parameter>, stored = [3], init = #nn.init<zeros>, index = 1 : i64}
      nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
      func.func @micro() {
        %a = nn.read @a : !x
        %b = nn.read @b : !e
        %uneven = nn.input "uneven" : !x
        %i = nn.input "index" : tensor<2xi32, #nn.axes<batch>>
    )" + ops + R"(
        %weighted = nn.mul %y, %uneven : (!x, !x) -> !x
        %s = nn.sum %weighted : (!x) -> !s
        nn.accumulate @"#out.loss.sum", %s : !s
        return
      })";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    check(*module, center);
  }

  void SetUp() override { context.loadDialect<NnDialect, func::FuncDialect>(); }
};

TEST_F(GradientTest, WholeModelWithTiedTableAndDropout) {
  test::TinyGpt2 gpt2(2);
  gpt2.program.plan.compute = dsl::ElementType::F64;
  dsl::Sources sources;
  OwningOpRef<ModuleOp> module = compiler::importProgram(context, gpt2.program, sources);
  ASSERT_TRUE(module);
  check(*module);
}

TEST_F(GradientTest, BinaryOpsWithBroadcast) {
  checkOps("%y = nn.add %a, %b : (!x, !e) -> !x");
  checkOps("%y = nn.sub %b, %a : (!e, !x) -> !x");
  checkOps("%y = nn.mul %b, %a : (!e, !x) -> !x");
  checkOps("%y = nn.div %b, %a : (!e, !x) -> !x", 3);
  checkOps("%y = nn.div %a, %b : (!x, !e) -> !x", 3);
  checkOps("%y = nn.max2 %a, %b : (!x, !e) -> !x");
}

TEST_F(GradientTest, UnaryOps) {
  for (const char *op : {"nn.exp", "nn.log", "nn.rsqrt", "nn.tanh", "nn.relu", "nn.gelu", "nn.silu"})
    checkOps("%0 = nn.mul %a, %b : (!x, !e) -> !x\n %y = " + std::string(op) + " %0 : (!x) -> !x", 1.5);
  checkOps("%0 = nn.mul %a, %b : (!x, !e) -> !x\n %y = nn.gelu %0 {approximate = \"tanh\"} : (!x) -> !x");
  checkOps("%0 = nn.mul %a, %b : (!x, !e) -> !x\n %1 = nn.scale %0 by 3.0 : (!x) -> !x\n %2 = nn.shift %1 by 1.0 : (!x) -> !x\n"
           "%y = nn.dropout %2 {rate = 0.4, site = \"here\"} : (!x) -> !x");
}

TEST_F(GradientTest, ShapesAndLookups) {
  checkOps("%0 = nn.stack %a, %a along \"part\" : (!x, !x) -> !p\n %1 = nn.mul %0, %b : (!p, !e) -> !p\n %2 = nn.tanh %1 : (!p) -> !p\n"
           "%3 = nn.select %2 at \"part\"[1] : (!p) -> !x\n %4 = nn.exp %3 : (!x) -> !x\n %5 = nn.select %2 at \"part\"[1] : (!p) -> !x\n"
           "%y = nn.add %4, %5 : (!x, !x) -> !x");
  checkOps("%0 = nn.broadcast %b : (!e) -> tensor<3x2xf64, #nn.axes<embed, batch>>\n"
           "%y = nn.mul %0, %a : (tensor<3x2xf64, #nn.axes<embed, batch>>, !x) -> !x");
  checkOps("%0 = nn.pick %a, %i over \"embed\" : (!x, tensor<2xi32, #nn.axes<batch>>) -> !b\n %y = nn.mul %0, %b : (!b, !e) -> !x");
  checkOps("%0 = nn.rename %b from \"embed\" to \"hidden\" : (!e) -> tensor<3xf64, #nn.axes<hidden>>\n"
           "%1 = nn.einsum %a, %0 : (!x, tensor<3xf64, #nn.axes<hidden>>) -> !x\n %y = nn.mul %1, %a : (!x, !x) -> !x");
}

TEST_F(GradientTest, MaximumOverAnAxis) {
  checkOps("%0 = nn.mul %a, %b : (!x, !e) -> !x\n %1 = nn.max %0 : (!x) -> !b\n %y = nn.mul %1, %b : (!b, !e) -> !x");
}

TEST_F(GradientTest, Layers) {
  checkOps("%0 = nn.mul %a, %b : (!x, !e) -> !x\n %y = nn.softmax %0 over \"embed\" : (!x) -> !x");
  checkOps("%y, %m, %r = nn.layer_norm %a, %b, %b over \"embed\" epsilon 1.0e-5 : (!x, !e, !e) -> (!x, !b, !b)");
  checkOps("%y, %r = nn.rms_norm %a, %b over \"embed\" epsilon 1.0e-5 : (!x, !e) -> (!x, !b)");
  checkOps("%0 = nn.mul %a, %b : (!x, !e) -> !x\n"
           "%loss, %lse = nn.cross_entropy %0, %i over \"embed\" : (!x, tensor<2xi32, #nn.axes<batch>>) -> (!b, !b)\n"
           "%y = nn.mul %loss, %b : (!b, !e) -> !x");
  checkOps(
      "%0 = nn.mul %a, %b : (!x, !e) -> !x\n"
      "%loss, %lse = nn.cross_entropy %0, %i over \"embed\" smoothing 0.3 z_loss 0.2 : (!x, tensor<2xi32, #nn.axes<batch>>) -> (!b, !b)\n"
      "%y = nn.mul %loss, %b : (!b, !e) -> !x");
}

// Two query heads of a group share keys and values; queries and keys meet over two axes, values have a third.
TEST_F(GradientTest, GroupedAttention) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    !q = tensor<2x3x2x2x2xf64, #nn.axes<seq, head, group, side, half>>
    !k = tensor<2x3x2x2xf64, #nn.axes<seq, head, side, half>>
    !v = tensor<2x3x3xf64, #nn.axes<seq, head, feature>>
    !o = tensor<2x3x2x3xf64, #nn.axes<seq, head, group, feature>>
    !p = tensor<3x2x2x2xf64, #nn.axes<head, group, seq, key>>
    !s = tensor<f64, #nn.axes<>>
    nn.variable @q : !q {kind = #nn.kind<parameter>, stored = [48], init = #nn.init<zeros>, index = 0 : i64}
    nn.variable @k : !k {kind = #nn.kind<parameter>, stored = [24], init = #nn.init<zeros>, index = 1 : i64}
    nn.variable @v : !v {kind = #nn.kind<parameter>, stored = [18], init = #nn.init<zeros>, index = 2 : i64}
    nn.variable @"#out.loss.sum" : !s {kind = #nn.kind<accumulator>}
    func.func @micro() {
      %q = nn.read @q : !q
      %k = nn.read @k : !k
      %v = nn.read @v : !v
      %uneven = nn.input "uneven" : !o
      %o, %p = nn.attention %q, %k, %v {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5}
        : (!q, !k, !v) -> (!o, !p)
      %w = nn.mul %o, %uneven : (!o, !o) -> !o
      %s = nn.sum %w : (!o) -> !s
      nn.accumulate @"#out.loss.sum", %s : !s
      return
    })",
                                                             &context);
  ASSERT_TRUE(module);
  check(*module, 0, 1);
}

} // namespace
