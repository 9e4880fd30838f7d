// The importer on a hand-built GPT-2: what it makes of nodes, parameters, train block and plan; and that gradients of it are whole.
#include "tests/compiler/import/TinyGpt2.h"

#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/import/Import.h"
#include "compiler/passes/autodiff/Autodiff.h"
#include "compiler/passes/prepare/Prepare.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace mlir;
using namespace npar;
using namespace npar::nn;

namespace {

std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text;
}

template <typename Op> int countOf(Operation *root) {
  int count = 0;
  root->walk([&](Op) { ++count; });
  return count;
}

struct ImportTest : testing::Test {
  MLIRContext context;
  dsl::Sources sources;
  test::TinyGpt2 gpt2{3};
};

TEST_F(ImportTest, MakesOneOpPerNodeAndTheLoss) {
  OwningOpRef<ModuleOp> module = compiler::importProgram(context, gpt2.program, sources);
  ASSERT_TRUE(module);
  auto micro = module->lookupSymbol<func::FuncOp>("micro");
  // Besides the nodes: sum, scale, convert, accumulate, return.
  EXPECT_EQ(std::distance(micro.front().begin(), micro.front().end()), gpt2.program.model.nodes.size() + 5);
  for (Operation &op : micro.front().without_terminator())
    EXPECT_TRUE(getAt(&op)) << textOf(&op);
  // 4 x 4 tokens in each of 2 micro-batches.
  int scales = 0;
  micro.walk([&](ScaleOp scale) {
    ++scales;
    EXPECT_EQ(scale.getFactor().convertToDouble(), 1.0 / 32);
  });
  EXPECT_EQ(scales, 1);
}

TEST_F(ImportTest, CountsValidTokensBeforeTheStep) {
  gpt2.program.model.nodes[gpt2.program.model.losses[0].node].attributes["ignore"] = int64_t(-100);
  OwningOpRef<ModuleOp> module = compiler::importProgram(context, gpt2.program, sources);
  ASSERT_TRUE(module);
  auto count = module->lookupSymbol<func::FuncOp>("count"), start = module->lookupSymbol<func::FuncOp>("start");
  auto micro = module->lookupSymbol<func::FuncOp>("micro");
  ASSERT_TRUE(count && start && micro);
  EXPECT_EQ(countOf<KeepValidOp>(count), 1);
  EXPECT_EQ(countOf<WriteOp>(start), 1);
  EXPECT_EQ(countOf<ScaleOp>(micro), 0) << "the reader of the sum divides it";
  // The prologue is where the loss is: after the last block.
  for (auto [function, phase] : {std::pair(count, Phase::Count), std::pair(start, Phase::Prologue)})
    for (Operation &op : function.front().without_terminator())
      EXPECT_EQ(getAt(&op), AtAttr::get(&context, phase, "", 3)) << textOf(&op);
}

TEST_F(ImportTest, KeepsParametersInOrderWithStoredShapes) {
  OwningOpRef<ModuleOp> module = compiler::importProgram(context, gpt2.program, sources);
  ASSERT_TRUE(module);
  auto weight = findVariable(*module, "h.0.attn.c_attn.weight");
  ASSERT_TRUE(weight);
  EXPECT_EQ(textOf(weight),
            "nn.variable @h.0.attn.c_attn.weight : tensor<8x3x2x4xf32, #nn.axes<embed, part, head, feature>> {index = 4 : i64, init "
            "= #nn.init<normal, 2.000000e-02>, kind = #nn.kind<parameter>, stored = [8, 24]}");
}

TEST_F(ImportTest, WritesThePlanAsAttributes) {
  OwningOpRef<ModuleOp> module = compiler::importProgram(context, gpt2.program, sources);
  ASSERT_TRUE(module);
  std::string text = textOf(*module);
  for (const char *part : {"dist.mesh = #dist.mesh<dp = 2, pp = 2, tp = 2>", "npar.batch = 8 : i64", "npar.micro_count = 2 : i64",
                           "#dist.rule<axis = \"vocab\", mesh = [\"tp\"], pad", "pipe.axis = \"pp\"", "pipe.schedule = \"1f1b\"",
                           "pipe.chunks = 0 : i64", "nn.clip = 1.0"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_EQ(text.find("pipe.schedule_text"), std::string::npos);
}

TEST_F(ImportTest, CarriesTheTextOfAScheduleFile) {
  dsl::Pipeline &pipeline = *gpt2.program.plan.pipeline;
  pipeline.schedule = "mine.csv";
  pipeline.path = "folder/mine.csv";
  pipeline.text = "0F0,0B0\n1F0,1B0\n";
  pipeline.chunks = 1;
  OwningOpRef<ModuleOp> module = compiler::importProgram(context, gpt2.program, sources);
  ASSERT_TRUE(module);
  std::string text = textOf(*module);
  for (const char *part : {"pipe.chunks = 1 : i64", "pipe.schedule = \"mine.csv\"", "pipe.schedule_text = \"0F0,0B0\\0A1F0,1B0\\0A\""})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST_F(ImportTest, CarriesTheLimitOfLiveMicroBatches) {
  EXPECT_EQ(textOf(*compiler::importProgram(context, gpt2.program, sources)).find("pipe.live"), std::string::npos);
  gpt2.program.plan.pipeline->live = 2.5;
  OwningOpRef<ModuleOp> module = compiler::importProgram(context, gpt2.program, sources);
  ASSERT_TRUE(module);
  EXPECT_NE(textOf(*module).find("pipe.live = 2.500000e+00 : f64"), std::string::npos);
  EXPECT_TRUE((*module)->getAttrOfType<LocationAttr>("pipe.live_loc"));
}

TEST_F(ImportTest, RefusesAnUnknownOperation) {
  gpt2.program.model.nodes[4].op = "conv3d";
  std::string message;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  EXPECT_FALSE(compiler::importProgram(context, gpt2.program, sources));
  EXPECT_EQ(message, "internal error: unknown operation 'conv3d'");
}

// The kind of a number is the table's: nothing is guessed from how it is written or what it is called.
TEST_F(ImportTest, RefusesAttributesThatTheTableDoesNotList) {
  auto message = [&](const std::string &op, const std::string &name, std::optional<dsl::Attribute> value) {
    test::TinyGpt2 model(1);
    for (dsl::Node &node : model.program.model.nodes)
      if (node.op == op) {
        node.attributes.erase(name);
        if (value)
          node.attributes[name] = *value;
      }
    std::string said;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { said += diagnostic.str() + "\n"; });
    EXPECT_FALSE(compiler::importProgram(context, model.program, sources));
    return said;
  };
  EXPECT_EQ(message("attention", "scale", std::nullopt), "internal error: operation 'attention' needs its attribute 'scale'\n");
  EXPECT_EQ(message("attention", "scale", int64_t(1)), "internal error: operation 'attention' needs its attribute 'scale'\n");
  EXPECT_EQ(message("gelu", "scale", 0.5), "internal error: operation 'gelu' has attributes that no table lists\n");
}

TEST_F(ImportTest, ComputesInFloat64WhenThePlanSaysSo) {
  gpt2.program.plan.compute = dsl::ElementType::F64;
  OwningOpRef<ModuleOp> module = compiler::importProgram(context, gpt2.program, sources);
  ASSERT_TRUE(module);
  EXPECT_EQ(textOf(*module).find("xf32"), std::string::npos);
}

// Every use of every parameter gets one accumulation and every parameter one optimizer step; NPAR_DUMP names a folder for the texts.
TEST_F(ImportTest, HasGradientsOfEveryUse) {
  OwningOpRef<ModuleOp> module = compiler::importProgram(context, gpt2.program, sources);
  ASSERT_TRUE(module);
  auto dump = [&](const std::string &name) {
    if (const char *folder = std::getenv("NPAR_DUMP"))
      std::ofstream(std::string(folder) + "/" + name) << textOf(*module);
  };
  dump("gpt2_nn.mlir");
  PassManager passes(&context);
  compiler::buildPreparePipeline(passes);
  compiler::buildAutodiffPipeline(passes);
  ASSERT_TRUE(succeeded(passes.run(*module)));
  dump("gpt2_grad.mlir");
  auto micro = module->lookupSymbol<func::FuncOp>("micro"), update = module->lookupSymbol<func::FuncOp>("update");
  int parameters = static_cast<int>(gpt2.program.model.parameters.size());
  EXPECT_EQ(countOf<ReadOp>(micro), parameters + 1); // wte.weight twice
  EXPECT_EQ(countOf<AccumulateOp>(micro), parameters + 1 + 1);
  EXPECT_EQ(countOf<OptimizeOp>(update), parameters);
  EXPECT_EQ(countOf<CombineOp>(update), parameters);
  EXPECT_EQ(countOf<StackOp>(micro), 3); // q, k, v of three blocks
  EXPECT_TRUE(findVariable(*module, "wte.weight.grad.1"));
  EXPECT_EQ(textOf(*module).find("nn.optimizers"), std::string::npos);
}

} // namespace
