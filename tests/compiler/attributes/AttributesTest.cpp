// Attributes are read as they were written, also after the module was printed and parsed; a missing attribute is read as missing.
#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/attributes/TableAttributes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace npar::attributes {
namespace {

class Attributes : public testing::Test {
protected:
  Attributes() : builder(&context), module(ModuleOp::create(UnknownLoc::get(&context))) { context.allowUnregisteredDialects(); }

  /// Prints the module and reads it again: from now on, views of strings point into the new one.
  ModuleOp again() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream, OpPrintingFlags().enableDebugInfo());
    module = parseSourceString<ModuleOp>(text, &context);
    return *module;
  }
  StringAttr word(const char *text) { return builder.getStringAttr(text); }
  LocationAttr place() { return FileLineColLoc::get(&context, "m.npar", 3, 7); }

  MLIRContext context;
  Builder builder;
  OwningOpRef<ModuleOp> module;
};

TEST_F(Attributes, AbsentIsAbsent) {
  EXPECT_FALSE(batch.get(*module));
  EXPECT_FALSE(flops.get(*module));
  EXPECT_FALSE(model.get(*module));
  EXPECT_EQ(model.text(*module), "");
  EXPECT_TRUE(groups.get(*module).empty());
  EXPECT_FALSE(kind.is(*module, program::ProgramKind::Training));
  EXPECT_TRUE(getStores(*module).empty());
  EXPECT_FALSE(getRecompute(*module));
  EXPECT_FALSE(getExpertBuffer(*module));
  EXPECT_FALSE(getServers(*module));
  EXPECT_FALSE(getPrecision(*module));
  EXPECT_FALSE(getLimits(*module));
  EXPECT_FALSE(getPlace(*module));
  EXPECT_FALSE(getInputs(*module));
  EXPECT_FALSE(getProductFlops(*module));
  EXPECT_TRUE(getPredictions(*module).empty());
  EXPECT_TRUE(getSavedValues(*module).empty());
  FailureOr<std::optional<DataBlockEntry>> data = getDataBlock(*module);
  ASSERT_TRUE(succeeded(data));
  EXPECT_FALSE(*data);
}

TEST_F(Attributes, AnotherTypeReadsAsAbsent) {
  (*module)->setAttr(batch.str(), word("eight"));
  EXPECT_FALSE(batch.get(*module));
  (*module)->setAttr(model.str(), builder.getI64IntegerAttr(8));
  EXPECT_FALSE(model.get(*module));
}

TEST_F(Attributes, PlainValues) {
  batch.set(*module, -8), flops.set(*module, 0.1), model.set(*module, "Größe \"1\"");
  kind.set(*module, program::ProgramKind::Evaluation);
  groups.set(*module, {word("h.*"), word("")});
  untestedPositions.set(*module);
  ModuleOp read = again();
  EXPECT_EQ(batch.get(read), -8);
  EXPECT_EQ(flops.get(read), 0.1);
  EXPECT_EQ(model.text(read), "Größe \"1\"");
  EXPECT_TRUE(kind.is(read, program::ProgramKind::Evaluation));
  EXPECT_FALSE(kind.is(read, program::ProgramKind::Training));
  ASSERT_EQ(groups.get(read).size(), 2u);
  EXPECT_EQ(groups.get(read)[0].getValue(), "h.*");
  EXPECT_TRUE(untestedPositions.isOn(read));
  untestedPositions.remove(read);
  EXPECT_FALSE(untestedPositions.isOn(read));
}

TEST_F(Attributes, CopyTakesWhatIsThere) {
  OwningOpRef<ModuleOp> other = ModuleOp::create(UnknownLoc::get(&context));
  batch.copy(*module, *other);
  EXPECT_FALSE(batch.isOn(*other));
  batch.set(*module, 3);
  batch.copy(*module, *other);
  EXPECT_EQ(batch.get(*other), 3);
}

TEST_F(Attributes, Stores) {
  setStores(*module, {{"gradients", {word("dp"), word("cp")}, true, place()}, {"optimizer", {word("dp")}, false, nullptr}});
  llvm::SmallVector<StoreClause> read = getStores(again());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].what, "gradients");
  EXPECT_EQ(read[0].mesh[1].getValue(), "cp");
  EXPECT_TRUE(read[0].perStep);
  EXPECT_EQ(read[0].loc, place());
  EXPECT_FALSE(read[1].perStep);
}

TEST_F(Attributes, RecomputeAndLimitsAndPlaceAndBuffer) {
  setRecompute(*module, {"every", 2, {"h.*", "x"}, place()});
  setLimits(*module, {int64_t{1} << 40, std::nullopt, place(), nullptr});
  setPlace(*module, {{"pp", "dp"}, {"tp"}, place()});
  setExpertBuffer(*module, {1.5, place()});
  setServers(*module, {builder.getStringAttr("dp"), place()});
  ModuleOp read = again();
  std::optional<RecomputeClause> recompute = getRecompute(read);
  ASSERT_TRUE(recompute);
  EXPECT_EQ(recompute->kind, "every");
  EXPECT_EQ(recompute->every, 2);
  ASSERT_EQ(recompute->layers.size(), 2u);
  EXPECT_EQ(recompute->layers[1], "x");
  std::optional<LimitsClause> limits = getLimits(read);
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->memory, int64_t{1} << 40);
  EXPECT_FALSE(limits->bubble);
  EXPECT_EQ(limits->memoryLoc, place());
  std::optional<PlaceClause> placed = getPlace(read);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->order, (std::vector<std::string>{"pp", "dp"}));
  EXPECT_EQ(placed->inside, std::vector<std::string>{"tp"});
  std::optional<ExpertBufferClause> buffer = getExpertBuffer(read);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->buffer, 1.5);
  EXPECT_EQ(buffer->loc, place());
  std::optional<ServersClause> servers = getServers(read);
  ASSERT_TRUE(servers);
  EXPECT_EQ(servers->axis, "dp");
  EXPECT_EQ(servers->loc, place());
}

TEST_F(Attributes, Precision) {
  PrecisionClause clause;
  clause.compute = builder.getBF16Type(), clause.reduce = builder.getF32Type();
  clause.keeps = {{"softmax", false, builder.getF32Type(), place()}, {"head.*", true, builder.getF32Type(), nullptr}};
  setPrecision(*module, clause);
  std::optional<PrecisionClause> read = getPrecision(again());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->compute, clause.compute);
  EXPECT_FALSE(read->gradients);
  EXPECT_EQ(read->reduce, clause.reduce);
  ASSERT_EQ(read->keeps.size(), 2u);
  EXPECT_EQ(read->keeps[0].what, "softmax");
  EXPECT_FALSE(read->keeps[0].layer);
  EXPECT_TRUE(read->keeps[1].layer);
}

TEST_F(Attributes, InputsAndProducts) {
  setInputs(*module, {{word("tokens"), builder.getI32Type(), 256, word("vocab"), place(), word("stream"), nullptr},
                      {word("x"), builder.getF32Type(), std::nullopt, nullptr, nullptr, nullptr, builder.getI64IntegerAttr(-100)}});
  setProductFlops(*module, {1e12, 2e12, 0});
  ModuleOp module = again();
  std::optional<std::vector<InputEntry>> read = getInputs(module);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].name.getValue(), "tokens");
  EXPECT_EQ((*read)[0].classes, 256);
  EXPECT_EQ((*read)[0].axis.getValue(), "vocab");
  EXPECT_FALSE((*read)[1].classes);
  EXPECT_EQ((*read)[1].ignore.getInt(), -100);
  std::optional<ProductFlops> products = getProductFlops(module);
  ASSERT_TRUE(products);
  EXPECT_EQ(products->backward, 2e12);
}

TEST_F(Attributes, DataBlock) {
  DataBlockEntry block;
  block.name = "pairs", block.order = program::DataOrder::Sequential, block.last = program::DataLast::Drop;
  block.shares = {0.9, 0.1}, block.splitSeed = UINT64_MAX, block.seed = 7, block.loc = place();
  block.groups = {{{{"a.safetensors", program::DataFormat::Tensors, 2, "lengths"}}, {{"label", "y", 1, true, 4, "labels", place(), true}}}};
  block.training = {{program::PictureStepKind::Flip, {0.25}, program::Interpolation::Nearest, place()}};
  setDataBlock(*module, block);
  ModuleOp read = again();
  FailureOr<std::optional<DataBlockEntry>> found = getDataBlock(read);
  ASSERT_TRUE(succeeded(found) && *found);
  const DataBlockEntry &data = **found;
  EXPECT_EQ(data.name, "pairs");
  EXPECT_EQ(data.order, program::DataOrder::Sequential);
  EXPECT_EQ(data.last, program::DataLast::Drop);
  EXPECT_EQ(data.shares, block.shares);
  EXPECT_EQ(data.splitSeed, UINT64_MAX);
  EXPECT_EQ(data.seed, 7u);
  ASSERT_EQ(data.groups.size(), 1u);
  EXPECT_EQ(data.groups[0].files[0].weight, 2);
  EXPECT_EQ(data.groups[0].files[0].lengths, "lengths");
  const DataFeedEntry &feed = data.groups[0].feeds[0];
  EXPECT_EQ(feed.tensor, "y");
  EXPECT_EQ(feed.shift, 1);
  EXPECT_TRUE(feed.valid);
  EXPECT_EQ(feed.below, 4);
  EXPECT_EQ(feed.axis, "labels");
  EXPECT_TRUE(feed.isClass);
  ASSERT_EQ(data.training.size(), 1u);
  EXPECT_TRUE(data.evaluation.empty());
  EXPECT_EQ(data.training[0].kind, program::PictureStepKind::Flip);
  EXPECT_EQ(data.training[0].numbers, std::vector<double>{0.25});
  EXPECT_EQ(data.training[0].interpolation, program::Interpolation::Nearest);
}

TEST_F(Attributes, TablesOfEvaluationsCheckpointsAndSavedValues) {
  setMeasures(*module,
              {{"accuracy", program::MeasureKind::Mean, 1, {"right"}, "counted"}, {"f1", program::MeasureKind::F1, 0.5, {"a", "b"}, ""}});
  setPredictions(*module, {{"logits", "result0"}});
  setCheckpointRules(*module, {{program::CheckpointRuleKind::Rename, "transformer.*", "*"}});
  setSavedValues(*module, {{"relu", "h.0", "mask", 100, 1, 2, {2, 3}, {1}}});
  ModuleOp read = again();
  FailureOr<std::vector<MeasureEntry>> measures = getMeasures(read);
  ASSERT_TRUE(succeeded(measures));
  ASSERT_EQ(measures->size(), 2u);
  EXPECT_EQ((*measures)[0].counted, "counted");
  EXPECT_EQ((*measures)[1].values, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ((*measures)[1].weight, 0.5);
  ASSERT_EQ(getPredictions(read).size(), 1u);
  EXPECT_EQ(getPredictions(read)[0].result, "result0");
  FailureOr<std::vector<CheckpointEntry>> rules = getCheckpointRules(read);
  ASSERT_TRUE(succeeded(rules) && rules->size() == 1);
  EXPECT_EQ((*rules)[0].file, "transformer.*");
  std::vector<SavedEntry> saved = getSavedValues(read);
  ASSERT_EQ(saved.size(), 1u);
  EXPECT_EQ(saved[0].as, "mask");
  EXPECT_EQ(saved[0].bits, 1);
  ASSERT_EQ(saved[0].uses.size(), 2u);
  EXPECT_EQ(saved[0].uses[1], 3);
  EXPECT_EQ(saved[0].crossings[0], 1);
}

} // namespace
} // namespace npar::attributes
