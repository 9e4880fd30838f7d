// prepare-scores: what a text says of attention's scores (bias, condition, cap, dropout) becomes one formula for a score, so that no
// matrix of queries by keys is made of positions, and what the formula needs besides positions becomes the attention's data.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/Function.h"
#include "compiler/dialects/nn/ops/Integer.h"
#include "compiler/dialects/nn/ops/Scores.h"
#include "compiler/passes/prepare/Prepare.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

#include <limits>
#include <map>

namespace npar::compiler {

using namespace mlir;
using namespace nn;

#define GEN_PASS_DEF_PREPARESCORES
#include "compiler/passes/prepare/Passes.h.inc"

namespace {

/// The formula of one attention. It absorbs a value whose size would be queries by keys or that depends only on positions; the other
/// operands of absorbed ops stay outside and become data.
class Formula {
public:
  explicit Formula(AttentionOp op)
      : op(op), context(op.getContext()), outside(op), seq(op.getSeqAttr()), key(op.getDataAxis()), queryAxis(name(ScoresOp::query)),
        keyAxis(name(ScoresOp::keys)), tableAxis(name(ScoresOp::table)) {
    sums = nn::widened(op.getQ().getType());
  }

  /// Leaves the attention with its data; the formula has no name yet.
  OwningOpRef<ScoresOp> take() {
    OwningOpRef<ScoresOp> scores = ScoresOp::create(outside, op.getLoc(), "scores", IntegerAttr(), IntegerAttr());
    scores->getOperation()->remove();
    Block &block = scores->getBody().emplaceBlock();
    Type i32 = IntegerType::get(context, 32);
    score = block.addArgument(typeOf(sums, {queryAxis, keyAxis}), op.getLoc());
    queryPositions = block.addArgument(typeOf(i32, {queryAxis}), op.getLoc());
    keyPositions = block.addArgument(typeOf(i32, {keyAxis}), op.getLoc());
    inside = OpBuilder::atBlockEnd(&block);
    SmallVector<Value> results = {changed()};
    if (std::optional<APFloat> rate = op.getDropout())
      results.push_back(factors(rate->convertToDouble()));
    ScoresYieldOp::create(inside, op.getLoc(), results);
    if (op.getMasked().value_or(false))
      bound(op.getData().back(), *scores);
    replace();
    return scores;
  }

private:
  //===- What is done, in this order ---------------------------------------------------------------------------------------===//

  Value changed() {
    Value x = score;
    auto number = [&](double value) { return inside.getF64FloatAttr(value); };
    if (std::optional<APFloat> cap = op.getCap()) {
      double bound = cap->convertToDouble();
      Value y = ScaleOp::create(inside, op.getLoc(), x.getType(), x, number(1 / bound));
      y = TanhOp::create(inside, op.getLoc(), x.getType(), y);
      x = ScaleOp::create(inside, op.getLoc(), x.getType(), y, number(bound));
    }
    bool isBiased = op.getBiased().value_or(false);
    if (isBiased)
      x = AddOp::create(inside, op.getLoc(), x.getType(), x, take(op.getData().front()));
    if (op.getMasked().value_or(false)) {
      Value condition = take(op.getData()[isBiased ? 1 : 0]);
      Value hidden = FillOp::create(inside, op.getLoc(), typeOf(sums, {}), number(-std::numeric_limits<double>::infinity()));
      x = WhereOp::create(inside, op.getLoc(), score.getType(), condition, x, hidden);
    }
    return x;
  }

  /// Samples and heads are numbered outside of the formula, in the order of the axes of the probabilities.
  Value factors(double rate) {
    auto probs = cast<RankedTensorType>(op.getProbs().getType());
    Value row;
    int64_t rows = 1;
    for (auto [axis, size] : llvm::zip(axesOf(probs), probs.getShape())) {
      if (axis == seq || axis == op.getKeyAttr())
        continue;
      Type i32 = outside.getI32Type();
      Value index = placed(IndexOp::create(outside, op.getLoc(), withAxes(i32, {axis}, {size})));
      rows *= size;
      if (!row) {
        row = index;
        continue;
      }
      auto before = cast<RankedTensorType>(row.getType());
      Value count = placed(FillOp::create(outside, op.getLoc(), withAxes(i32, {}, {}), outside.getF64FloatAttr(double(size))));
      row = placed(IntegerOp::create(outside, op.getLoc(), before, row, count, outside.getStringAttr("mul")));
      SmallVector<StringAttr> axes(axesOf(before));
      SmallVector<int64_t> sizes(before.getShape());
      axes.push_back(axis), sizes.push_back(size);
      row = placed(IntegerOp::create(outside, op.getLoc(), withAxes(i32, axes, sizes), row, index, outside.getStringAttr("add")));
    }
    auto count = [&](int64_t value) { return inside.getI64IntegerAttr(value); };
    return ScoreDropoutOp::create(inside, op.getLoc(), score.getType(), datum(row, /*isTable=*/false), queryPositions, keyPositions,
                                  inside.getF64FloatAttr(rate), op.getSiteAttr(), count(rows), count(sizeOf(probs, seq)),
                                  count(sizeOf(probs, op.getKeyAttr())));
  }

  void replace() {
    SmallVector<Value> operands = {op.getQ(), op.getK(), op.getV()};
    SmallVector<int64_t> sloped, paired;
    for (auto [number, entry] : llvm::enumerate(data)) {
      operands.push_back(entry.value);
      if (spansScores(entry.value))
        paired.push_back(static_cast<int64_t>(number));
      if (entry.isSloped)
        sloped.push_back(static_cast<int64_t>(number));
    }
    op->setOperands(operands);
    for (StringRef said : {"biased", "masked", "cap", "dropout", "site"})
      op->removeAttr(said);
    if (!sloped.empty())
      op.setSloped(sloped);
    if (!paired.empty())
      attributes::pairedData.set(op, outside.getDenseI64ArrayAttr(paired));
  }

  //===- What is hidden for certain ----------------------------------------------------------------------------------------===//

  /// query * i + key * j + number.
  struct Linear {
    int64_t query = 0, key = 0, number = 0;
  };

  std::optional<Linear> linear(Value value) {
    Operation *made = value.getDefiningOp();
    if (!made || !isPosition(value) || isa<RenameOp>(made))
      return std::nullopt;
    if (isa<IndexOp>(made))
      return axesOf(value.getType()).front() == key ? Linear{0, 1, 0} : Linear{1, 0, 0};
    if (auto fill = dyn_cast<FillOp>(made))
      return Linear{0, 0, static_cast<int64_t>(fill.getValue().convertToDouble())};
    if (isa<BroadcastOp>(made))
      return linear(made->getOperand(0));
    auto integer = dyn_cast<IntegerOp>(made);
    if (!integer)
      return std::nullopt;
    std::optional<Linear> a = linear(integer.getA()), b = linear(integer.getB());
    if (!a || !b)
      return std::nullopt;
    if (integer.getKind() == "add")
      return Linear{a->query + b->query, a->key + b->key, a->number + b->number};
    if (integer.getKind() == "sub")
      return Linear{a->query - b->query, a->key - b->key, a->number - b->number};
    return std::nullopt;
  }

  /// Takes what a condition, or one of those that must hold together, says of the distance between query and key.
  void bound(Value condition, ScoresOp scores) {
    Operation *made = condition.getDefiningOp();
    if (auto both = dyn_cast_or_null<IntegerOp>(made); both && both.getKind() == "and") {
      bound(both.getA(), scores);
      bound(both.getB(), scores);
      return;
    }
    auto compare = dyn_cast_or_null<CompareOp>(made);
    if (!compare || (compare.getRelation() != "less" && compare.getRelation() != "less_equal"))
      return;
    std::optional<Linear> a = linear(compare.getA()), b = linear(compare.getB());
    if (!a || !b)
      return;
    // 0 <= difference
    Linear difference{b->query - a->query, b->key - a->key, b->number - a->number - (compare.getRelation() == "less")};
    auto least = [&](std::optional<uint64_t> before) {
      return before ? std::min(static_cast<int64_t>(*before), difference.number) : difference.number;
    };
    if (difference.query == -1 && difference.key == 1)
      scores.setBack(least(scores.getBack()));
    else if (difference.query == 1 && difference.key == -1)
      scores.setAhead(least(scores.getAhead()));
  }

  //===- What goes in ------------------------------------------------------------------------------------------------------===//

  bool spansScores(Value value) const { return hasAxis(value.getType(), seq) && hasAxis(value.getType(), key); }

  /// One value of each operand for one of the result, wherever in the tensor that is.
  static bool isElementwise(Operation *made) {
    auto kernel = dyn_cast<KernelOpInterface>(made);
    if (!kernel || !isa<LowerableOpInterface>(made) || made->getNumResults() != 1 || made->getNumOperands() == 0 ||
        kernel.getNest() != Nest::Shared || isa<DropoutOp, OneHotOp, SinusoidOp, CausalMaskOp>(made))
      return false;
    for (OpOperand &operand : made->getOpOperands()) {
      if (kernel.readsElsewhere(operand.getOperandNumber()))
        return false;
      for (StringAttr axis : axesOf(operand.get().getType()))
        if (!hasAxis(made->getResult(0).getType(), axis))
          return false;
    }
    return true;
  }

  /// Returns whether a gather looks up positions in a table that has neither queries nor keys.
  bool looksUp(GatherOp gather) {
    return gather && !hasAxis(gather.getTable().getType(), seq) && !hasAxis(gather.getTable().getType(), key) &&
           llvm::all_of(axesOf(gather.getTable().getType()),
                        [&](StringAttr axis) { return axis == gather.getAxisAttr() || hasAxis(op.getProbs().getType(), axis); });
  }

  bool isPosition(Value value) const {
    Operation *made = value.getDefiningOp();
    if (!made)
      return false;
    if (auto index = dyn_cast<IndexOp>(made))
      return axesOf(index.getType()).front() == seq || axesOf(index.getType()).front() == key;
    if (auto rename = dyn_cast<RenameOp>(made))
      return renames(rename) && isPosition(rename.getX());
    return isa<FillOp>(made) || (isElementwise(made) && llvm::all_of(made->getOperands(), [&](Value x) { return isPosition(x); }));
  }
  bool renames(RenameOp rename) const {
    StringAttr from = rename.getFromAttr(), to = rename.getToAttr();
    return (from == seq && to == key) || (from == key && to == seq);
  }

  /// `isSwapped`: positions of queries are those of keys, and the other way round, as under another name.
  Value take(Value value, bool isSwapped = false) {
    auto [found, isNew] = taken.insert({std::pair(value, unsigned(isSwapped)), Value()});
    if (!isNew)
      return found->second;
    Value made = make(value, isSwapped);
    taken[std::pair(value, unsigned(isSwapped))] = made;
    return made;
  }

  Value make(Value value, bool isSwapped) {
    Operation *made = value.getDefiningOp();
    bool position = isPosition(value);
    auto gather = dyn_cast_or_null<GatherOp>(made);
    if (position && isa<IndexOp>(made))
      return (axesOf(value.getType()).front() == key) != isSwapped ? keyPositions : queryPositions;
    if (position && isa<RenameOp>(made))
      return take(made->getOperand(0), !isSwapped);
    if (isa_and_nonnull<FillOp>(made))
      return FillOp::create(inside, op.getLoc(), typeOf(elementOf(value), {}), cast<FillOp>(made).getValueAttr());
    if (looksUp(gather) && (spansScores(value) || isPosition(gather.getIdx())))
      return lookUp(gather, isSwapped);
    if (!made || !(position || spansScores(value)) || !isElementwise(made))
      return datum(value, /*isTable=*/false);
    // All floats have the same type here, and operands broadcast by name.
    if (isa<BroadcastOp, ConvertOp>(made))
      return take(made->getOperand(0), isSwapped);
    SmallVector<Value> operands;
    for (Value operand : made->getOperands())
      operands.push_back(take(operand, isSwapped));
    OperationState state(made->getLoc(), made->getName());
    state.addOperands(operands);
    state.addTypes(unionOf(elementOf(value), operands));
    for (NamedAttribute attribute : made->getAttrs())
      if (attribute.getName() != attributes::at.str())
        state.addAttribute(attribute.getName(), attribute.getValue());
    return inside.create(state)->getResult(0);
  }

  Value lookUp(GatherOp gather, bool isSwapped) {
    Value table = datum(gather.getTable(), /*isTable=*/true);
    bool isSloped = data.back().isSloped;
    Value index = take(gather.getIdx(), isSwapped);
    if (isSloped && cast<RankedTensorType>(index.getType()).getRank() < 2)
      index = BroadcastOp::create(inside, op.getLoc(), typeOf(elementOf(index), {queryAxis, keyAxis}), index);
    Type element = getElementTypeOrSelf(table.getType());
    return GatherOp::create(inside, op.getLoc(), withElement(index.getType(), element), table, index, tableAxis);
  }

  /// The argument for a value from outside. Each use of a table gets its own datum, because its slope goes to other entries.
  Value datum(Value value, bool isTable) {
    Datum entry{value, dependsOnParameter(value)};
    auto type = cast<RankedTensorType>(value.getType());
    if (isTable && elementOf(value) != type.getElementType()) { // slopes of its entries are not to be rounded one by one
      type = withElement(type, sums);
      entry.value = placed(ConvertOp::create(outside, op.getLoc(), type, value));
    }
    SmallVector<StringAttr> axes;
    SmallVector<int64_t> sizes;
    for (auto [axis, size] : llvm::zip(axesOf(type), type.getShape()))
      if (axis == seq || axis == key)
        axes.push_back(axis == seq ? queryAxis : keyAxis), sizes.push_back(1);
      else if (isTable && !hasAxis(op.getProbs().getType(), axis))
        axes.push_back(tableAxis), sizes.push_back(size);
    data.push_back(entry);
    Value argument = score.getParentBlock()->addArgument(withAxes(type.getElementType(), axes, sizes), op.getLoc());
    if (isTable)
      return argument;
    argument = widened(argument);
    // Every product with a slope has queries and keys; the engine sums over the axes that the datum lacks.
    return entry.isSloped ? BroadcastOp::create(inside, op.getLoc(), score.getType(), argument).getResult() : argument;
  }

  Value widened(Value value) {
    if (elementOf(value) == getElementTypeOrSelf(value.getType()))
      return value;
    return ConvertOp::create(inside, op.getLoc(), withElement(value.getType(), sums), value);
  }

  bool dependsOnParameter(Value value) {
    auto [found, isNew] = parameters.insert({value, false});
    if (!isNew)
      return found->second;
    Operation *made = value.getDefiningOp();
    bool depends = isa<FloatType>(getElementTypeOrSelf(value.getType())) && made && !isa<StopGradientOp>(made) &&
                   (isa<ReadOp>(made) || llvm::any_of(made->getOperands(), [&](Value x) { return dependsOnParameter(x); }));
    parameters[value] = depends;
    return depends;
  }

  //===- Types -------------------------------------------------------------------------------------------------------------===//

  StringAttr name(StringRef text) const { return StringAttr::get(context, text); }
  Type elementOf(Value value) const {
    Type element = getElementTypeOrSelf(value.getType());
    return isa<FloatType>(element) ? sums : element;
  }
  RankedTensorType typeOf(Type element, ArrayRef<StringAttr> axes) const {
    return withAxes(element, axes, SmallVector<int64_t>(axes.size(), 1));
  }
  Type unionOf(Type element, ValueRange operands) const {
    SmallVector<StringAttr> axes;
    for (StringAttr axis : {queryAxis, keyAxis})
      if (llvm::any_of(operands, [&](Value operand) { return hasAxis(operand.getType(), axis); }))
        axes.push_back(axis);
    return typeOf(element, axes);
  }
  Value placed(Operation *made) {
    if (AtAttr at = getAt(op))
      setAt(made, at);
    return made->getResult(0);
  }

  struct Datum {
    Value value;
    bool isSloped;
  };

  AttentionOp op;
  MLIRContext *context;
  OpBuilder outside, inside{op};
  StringAttr seq, key;
  const StringAttr queryAxis, keyAxis, tableAxis;
  Type sums; ///< what scores are in
  Value score, queryPositions, keyPositions;
  SmallVector<Datum> data;
  llvm::DenseMap<std::pair<Value, unsigned>, Value> taken; ///< by value and `isSwapped`
  llvm::DenseMap<Value, bool> parameters;
};

struct PrepareScores : impl::PrepareScoresBase<PrepareScores> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto op : function.getOps<AttentionOp>())
        if (!op.getScores() && (!op.getData().empty() || op.getCap() || op.getDropout()))
          attentions.push_back(op);
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    std::map<std::string, StringAttr> known; // equal formulas, of the blocks of a model, are one
    for (AttentionOp op : attentions) {
      OwningOpRef<ScoresOp> scores = Formula(op).take();
      std::string text;
      llvm::raw_string_ostream stream(text);
      scores->print(stream, OpPrintingFlags().enableDebugInfo(false).printGenericOpForm(true).useLocalScope());
      auto [found, isNew] = known.insert({text, builder.getStringAttr("formula_" + Twine(known.size()))});
      if (isNew) {
        scores->setSymNameAttr(found->second);
        builder.insert(scores.release());
      }
      op.setScoresAttr(FlatSymbolRefAttr::get(found->second));
    }
  }
};
} // namespace

std::unique_ptr<Pass> createPrepareScoresPass() { return std::make_unique<PrepareScores>(); }

} // namespace npar::compiler
