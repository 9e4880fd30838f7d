// Rewrites attention that placing has left whole to one step on strides: for each head of k and v, the heads of q that attend to it.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/outline/Outline.h"
#include "compiler/codegen/outline/View.h"

#include "engine/program/Attentions.h"

using namespace mlir;

namespace npar::codegen {
namespace {

/// The axes of lse.
template <typename Op> ArrayRef<StringAttr> rowAxesOf(Op op) {
  if constexpr (std::is_same_v<Op, nn::AttentionOp> || std::is_same_v<Op, nn::AttentionGradOp>)
    return nn::axesOf(op.getLse().getType());
  else
    return op.getRowAxes();
}

/// The loops of an attention, and its operands and results as a step takes them.
template <typename Op> class Strided {
public:
  explicit Strided(Op op) : op(op), builder(op) {
    ArrayRef<StringAttr> ofLse = rowAxesOf(op);
    Type q = op.getQ().getType();
    for (StringAttr axis : ofLse) {
      if (axis == op.getSeqAttr())
        continue;
      if (!nn::hasAxis(op.getK().getType(), axis))
        heads.push_back(axis);
      else if (nn::sizeOf(q, axis) > 1)
        batch.push_back(axis);
    }
    for (StringAttr axis : nn::axesOf(q))
      if (!llvm::is_contained(ofLse, axis))
        features.push_back(axis);
    values.push_back(op.getFeatureAttr());
    rows = heads;
    rows.push_back(op.getSeqAttr());
  }

  ArrayRef<StringAttr> featureAxes() const { return features; }
  ArrayRef<StringAttr> valueAxes() const { return values; }
  /// The axes that are contiguous together in the lse of a group; in a state, the axis inside a row follows them.
  ArrayRef<StringAttr> rowAxes() const { return rows; }
  SmallVector<StringAttr> stateAxes(Value state) const {
    SmallVector<StringAttr> all(rows);
    all.push_back(nn::axesOf(state.getType()).back());
    return all;
  }

  /// Adds an operand. It is copied first if `columns` are not contiguous in this order or the heads of a group are not equally spaced.
  void addOperand(Value value, ArrayRef<StringAttr> columns) {
    if (View view(value); !isStrided(view, value.getType(), columns))
      value = inOrder(op, value, lastOf(value.getType(), columns));
    View view(value);
    operands.push_back(view.base);
    offsets.push_back(view.offset);
    addStrides(view, columns);
    isOfKeys = false;
  }
  /// The next operand or result has keys for rows.
  Strided &ofKeys() {
    isOfKeys = true;
    return *this;
  }
  void addResult(Value value, ArrayRef<StringAttr> columns) {
    auto type = cast<RankedTensorType>(value.getType());
    types.push_back(isStrided(View(value), type, columns) ? type : inOrder(type, lastOf(type, columns)));
    resultColumns.push_back({SmallVector<StringAttr>(columns), isOfKeys});
    isOfKeys = false;
  }

  /// Adds the data that change the scores and the slopes of the `sloped` ones, after all other operands and results.
  template <typename Kernels> LogicalResult addScores(ValueRange values, ArrayRef<int64_t> sloped, ValueRange slopes, Kernels make) {
    if (!op.getScores())
      return success();
    auto scores = op->template getParentOfType<ModuleOp>().template lookupSymbol<nn::ScoresOp>(op.getScoresAttr().getAttr());
    if (!scores)
      return op.emitOpError("has no formula ") << op.getScoresAttr();
    if (op.getKeysAttr() && dist::zigzagOf(op, op.getKeysAttr()))
      return op.emitOpError("changes scores by positions of '") << op.getKeysAttr().getValue() << "', which is in zigzag order";
    for (Value value : values) {
      if (!isDatum(View(value), value.getType())) {
        value = withHeads(value);
        value = inOrder(op, value, datumOrder(value.getType()));
      }
      View view(value);
      operands.push_back(view.base);
      offsets.push_back(view.offset);
      addDatum(view, value.getType(), -1);
    }
    for (Value slope : slopes)
      types.push_back(inOrder(cast<RankedTensorType>(slope.getType()), datumOrder(slope.getType())));
    this->sloped.assign(sloped.begin(), sloped.end());
    back = scores.getBackAttr(), ahead = scores.getAheadAttr();
    for (FailureOr<rank::KernelOp> kernel : make(scores)) {
      if (failed(kernel))
        return failure();
      kernels.push_back(FlatSymbolRefAttr::get(kernel->getSymNameAttr()));
    }
    return success();
  }
  int64_t columnsOfKeys() const { return program::scoreColumns(nn::sizeOf(Op(op).getK().getType(), keyAxis())); }
  int64_t columnsOfQueries() const { return program::scoreColumns(nn::sizeOf(Op(op).getQ().getType(), Op(op).getSeqAttr())); }

  /// The step in place of the op.
  template <typename Step> Step replace() {
    Type q = op.getQ().getType(), k = op.getK().getType(), v = op.getV().getType();
    SmallVector<int64_t> sizes;
    for (StringAttr axis : batch)
      sizes.push_back(nn::sizeOf(q, axis));
    // The results' strides are known once they exist.
    auto step = Step::create(builder, op.getLoc(), types, operands, ArrayRef<NamedAttribute>());
    for (auto [result, columns] : llvm::zip(step->getResults(), resultColumns)) {
      isOfKeys = columns.second;
      addStrides(View(result), columns.first);
    }
    for (auto [number, slope] : llvm::zip(sloped, step->getResults().take_back(sloped.size())))
      addDatum(View(slope), slope.getType(), number);
    if (!kernels.empty())
      step.setKernelsAttr(builder.getArrayAttr(kernels));
    if (back)
      step.setBackAttr(back);
    if (ahead)
      step.setAheadAttr(ahead);
    if (!data.empty())
      step.setDataAttr(builder.getArrayAttr(data));
    step.setOther(keyAxis() != op.getSeqAttr());
    step.setBatch(sizes);
    step.setHeads(sizeOf(q, heads));
    step.setRows(nn::sizeOf(q, op.getSeqAttr()));
    step.setKeys(nn::sizeOf(k, keyAxis()));
    step.setFeatures(sizeOf(q, features));
    step.setValues(nn::sizeOf(v, op.getFeatureAttr()));
    step.setScaleAttr(op.getScaleAttr());
    step.setCausal(op.getCausal());
    if (op.getCausal() || !kernels.empty())
      setPieces(step);
    step.setStridesAttr(builder.getArrayAttr(strides));
    step.setOffsets(offsets);
    step.setFlopsAttr(builder.getF64FloatAttr(op.getFlops()));
    attributes::at.copy(op, step);
    for (auto [old, made] : llvm::zip(op->getResults(), step->getResults()))
      old.replaceAllUsesWith(inOrder(op, made, nn::axesOf(old.getType())));
    op->erase();
    return step;
  }

private:
  StringAttr keyAxis() const { return Op(op).getKeyAxis(); }

  /// Axes of a datum that are neither of samples, heads, queries nor keys: of a table.
  SmallVector<StringAttr> tableAxes(Type type) const {
    SmallVector<StringAttr> axes;
    for (StringAttr axis : nn::axesOf(type))
      if (axis != Op(op).getDataAxis() && axis != Op(op).getSeqAttr() && !llvm::is_contained(rowAxesOf(op), axis))
        axes.push_back(axis);
    return axes;
  }
  /// Heads of a group at one distance, entries of a table together.
  bool isDatum(const View &view, Type type) const {
    for (StringAttr axis : tableAxes(type))
      if (nn::sizeOf(type, axis) != 1 && view.stride(axis) != 1)
        return false;
    return hasHeads(type) && strideOf(view, type, heads).has_value();
  }
  /// All heads of a group or none.
  bool hasHeads(Type type) const {
    size_t count = llvm::count_if(heads, [&](StringAttr axis) { return nn::hasAxis(type, axis); });
    return count == 0 || count == heads.size();
  }
  Value withHeads(Value value) {
    if (hasHeads(value.getType()))
      return value;
    dist::LayoutAttr layout = dist::layoutOf(value), q = dist::layoutOf(op.getQ());
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<StringAttr> names(nn::axesOf(type));
    SmallVector<int64_t> sizes(layout ? layout.getSizes() : type.getShape());
    SmallVector<SmallVector<StringAttr>> splits;
    for (size_t dim = 0; layout && dim < names.size(); ++dim)
      splits.push_back(layout.splitsOf(dim));
    for (StringAttr axis : heads)
      if (!nn::hasAxis(type, axis)) {
        names.push_back(axis);
        sizes.push_back(q ? q.getSizes()[q.dimOf(axis)] : nn::sizeOf(op.getQ().getType(), axis));
        splits.push_back(q ? q.splitsOf(q.dimOf(axis)) : SmallVector<StringAttr>());
      }
    Type wide = layout ? dist::localType(type.getElementType(), dist::makeLayout(op.getContext(), names, sizes, splits), dist::meshOf(op))
                       : nn::withAxes(type.getElementType(), names, sizes);
    return nn::BroadcastOp::create(builder, op.getLoc(), wide, value);
  }
  /// Samples, heads of a group, queries, keys, entries.
  SmallVector<StringAttr> datumOrder(Type type) const {
    SmallVector<StringAttr> last, order;
    auto take = [&](StringAttr axis) {
      if (nn::hasAxis(type, axis))
        last.push_back(axis);
    };
    for (StringAttr axis : heads)
      take(axis);
    take(Op(op).getSeqAttr()), take(Op(op).getDataAxis());
    last.append(tableAxes(type));
    for (StringAttr axis : nn::axesOf(type))
      if (!llvm::is_contained(last, axis))
        order.push_back(axis);
    order.append(last);
    return order;
  }
  /// Appends a datum in the encoding of rank.attention: strides, sizes and the number of its slope.
  void addDatum(const View &view, Type type, int64_t slopeOf) {
    SmallVector<int64_t> each;
    for (StringAttr axis : batch)
      each.push_back(view.stride(axis));
    StringAttr seq = Op(op).getSeqAttr(), keys = Op(op).getDataAxis();
    bool hasKeys = nn::hasAxis(type, keys);
    SmallVector<StringAttr> table = tableAxes(type);
    each.push_back(hasHeads(type) ? *strideOf(view, type, heads) : 0);
    each.push_back(nn::hasAxis(type, seq) ? view.stride(seq) : -1);
    each.push_back(hasKeys ? view.stride(keys) : -1);
    each.push_back(hasKeys ? nn::sizeOf(type, keys) : 0);
    each.push_back(table.empty() ? 0 : sizeOf(type, table));
    each.push_back(slopeOf);
    data.push_back(builder.getDenseI64ArrayAttr(each));
  }

  static int64_t sizeOf(Type type, ArrayRef<StringAttr> axes) {
    int64_t size = 1;
    for (StringAttr axis : axes)
      size *= nn::sizeOf(type, axis);
    return size;
  }

  /// Records the rows and the keys of the sequence that a rank has.
  template <typename Step> void setPieces(Step step) {
    if constexpr (std::is_same_v<Op, nn::AttentionOp> || std::is_same_v<Op, nn::AttentionGradOp>) {
      dist::LayoutAttr layout = dist::layoutOf(op.getQ());
      SmallVector<StringAttr> splits = layout ? layout.splitsOf(layout.dimOf(op.getSeqAttr())) : SmallVector<StringAttr>();
      if (!splits.empty())
        step.setPiecesAttr(dist::stringArray(op.getContext(), splits));
    } else {
      step.setPiecesAttr(op.getRingAttr());
      step.setStepAttr(op.getStepAttr());
    }
    if (int64_t ranks = dist::zigzagOf(op, op.getSeqAttr()))
      step.setZigzag(ranks);
  }

  /// The stride of the innermost of `axes` whose size is above 1; 0 if all have size 1, nullopt if the axes cannot be walked as one axis.
  static std::optional<int64_t> strideOf(const View &view, Type type, ArrayRef<StringAttr> axes) {
    std::optional<int64_t> first;
    int64_t next = 0;
    for (StringAttr axis : llvm::reverse(axes)) {
      int64_t size = nn::hasAxis(type, axis) ? nn::sizeOf(type, axis) : 1;
      if (size == 1)
        continue;
      if (first && view.stride(axis) != next)
        return std::nullopt;
      if (!first)
        first = view.stride(axis);
      next = view.stride(axis) * size;
    }
    return first.value_or(0);
  }

  bool isStrided(const View &view, Type type, ArrayRef<StringAttr> columns) const {
    int64_t stride = 1;
    for (StringAttr axis : llvm::reverse(columns)) {
      int64_t size = nn::sizeOf(type, axis);
      if (size != 1 && view.stride(axis) != stride)
        return false;
      stride *= size;
    }
    return strideOf(view, type, heads).has_value();
  }

  /// All axes in an order that ends with `columns`; if there are several axes of heads, these come right before.
  SmallVector<StringAttr> lastOf(Type type, ArrayRef<StringAttr> columns) const {
    SmallVector<StringAttr> last, order;
    for (StringAttr axis : heads)
      if (heads.size() > 1 && nn::hasAxis(type, axis) && !llvm::is_contained(columns, axis))
        last.push_back(axis);
    last.append(columns.begin(), columns.end());
    for (StringAttr axis : nn::axesOf(type))
      if (!llvm::is_contained(last, axis))
        order.push_back(axis);
    order.append(last);
    return order;
  }

  void addStrides(const View &view, ArrayRef<StringAttr> columns) {
    SmallVector<int64_t> each;
    for (StringAttr axis : batch)
      each.push_back(view.stride(axis));
    int64_t inRow = columns.take_front(rows.size()) == rowAxes() ? sizeOf(view.base.getType(), columns.drop_front(rows.size())) : 0;
    if (inRow) // an axis of size 1 may have any stride
      each.append({nn::sizeOf(op.getQ().getType(), op.getSeqAttr()) * inRow, inRow});
    else
      each.append({*strideOf(view, op.getQ().getType(), heads), view.stride(isOfKeys ? keyAxis() : op.getSeqAttr())});
    strides.push_back(builder.getDenseI64ArrayAttr(each));
  }

  Op op;
  OpBuilder builder;
  SmallVector<StringAttr> heads; ///< the axes of q that k and v lack
  SmallVector<StringAttr> batch, features, values, rows;
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<std::pair<SmallVector<StringAttr>, bool>> resultColumns; ///< columns of each result, and whether its rows are keys
  bool isOfKeys = false;
  SmallVector<int64_t> sloped;
  SmallVector<Attribute> kernels, data;
  IntegerAttr back, ahead;
  SmallVector<int64_t> offsets;
  SmallVector<Attribute> strides;
};

ValueRange scoreDataOf(nn::AttentionOp op) { return op.getScoreData(); }
ValueRange scoreDataOf(nn::RingAttentionOp op) { return op.getData(); }

/// New scores, with rows of queries.
template <typename Op> LogicalResult addScores(Op op, Strided<Op> &step, ShareKernel share) {
  return step.addScores(scoreDataOf(op), {}, {}, [&](nn::ScoresOp scores) {
    return SmallVector<FailureOr<rank::KernelOp>>{share(scoreKernel(scores, {step.columnsOfKeys()}))};
  });
}

LogicalResult rewrite(nn::AttentionOp op, ShareKernel share) {
  Strided<nn::AttentionOp> step(op);
  step.addOperand(op.getQ(), step.featureAxes());
  step.ofKeys().addOperand(op.getK(), step.featureAxes());
  step.ofKeys().addOperand(op.getV(), step.valueAxes());
  if (Value positions = op.getPositions())
    step.addOperand(positions, {});
  step.addResult(op.getOut(), step.valueAxes());
  step.addResult(op.getLse(), step.rowAxes());
  if (failed(addScores(op, step, share)))
    return failure();
  step.replace<rank::AttentionOp>();
  return success();
}

LogicalResult rewrite(nn::RingAttentionOp op, ShareKernel share) {
  Strided<nn::RingAttentionOp> step(op);
  step.addOperand(op.getQ(), step.featureAxes());
  step.ofKeys().addOperand(op.getK(), step.featureAxes());
  step.ofKeys().addOperand(op.getV(), step.valueAxes());
  if (Value before = op.getBefore())
    step.addOperand(before, step.stateAxes(before));
  if (op.ends()) {
    step.addResult(op.getMade()[0], step.valueAxes());
    step.addResult(op.getMade()[1], step.rowAxes());
  } else {
    step.addResult(op.getMade()[0], step.stateAxes(op.getMade()[0]));
  }
  if (failed(addScores(op, step, share)))
    return failure();
  step.replace<rank::AttentionOp>();
  return success();
}

/// A gradient of attention or of a step of it.
template <typename Op> FailureOr<rank::AttentionGradOp> rewriteGradient(Op op, ShareKernel share) {
  Strided<Op> step(op);
  step.addOperand(op.getQ(), step.featureAxes());
  step.ofKeys().addOperand(op.getK(), step.featureAxes());
  step.ofKeys().addOperand(op.getV(), step.valueAxes());
  step.addOperand(op.getOut(), step.valueAxes());
  step.addOperand(op.getDout(), step.valueAxes());
  step.addOperand(op.getLse(), step.rowAxes());
  step.addResult(op.getDq(), step.featureAxes());
  step.ofKeys().addResult(op.getDk(), step.featureAxes());
  step.ofKeys().addResult(op.getDv(), step.valueAxes());
  LogicalResult added = step.addScores(op.getData(), op.getSlopeNumbers(), op.getSlopes(), [&](nn::ScoresOp scores) {
    ScoreBlocks ofKeys{step.columnsOfQueries(), /*ofKeys=*/true}, gradient{step.columnsOfQueries(), true, true, op.getSlopeNumbers()};
    return SmallVector<FailureOr<rank::KernelOp>>{share(scoreKernel(scores, ofKeys)), share(scoreKernel(scores, gradient))};
  });
  if (failed(added))
    return failure();
  return step.template replace<rank::AttentionGradOp>();
}

} // namespace

LogicalResult rewriteAttentions(Block &block, ShareKernel share) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    LogicalResult good = success();
    if (auto attention = dyn_cast<nn::AttentionOp>(op); attention && attention.getBlocked()) {
      good = rewrite(attention, share);
    } else if (auto gradient = dyn_cast<nn::AttentionGradOp>(op); gradient && gradient.getBlocked()) {
      good = rewriteGradient(gradient, share);
    } else if (auto ring = dyn_cast<nn::RingAttentionOp>(op)) {
      good = rewrite(ring, share);
    } else if (auto ringGradient = dyn_cast<nn::RingAttentionGradOp>(op)) {
      FailureOr<rank::AttentionGradOp> made = rewriteGradient(ringGradient, share);
      if (good = made; succeeded(good))
        made->setPartly(true);
    }
    if (failed(good))
      return failure();
  }
  return success();
}

} // namespace npar::codegen
