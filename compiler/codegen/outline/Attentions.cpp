// Writes attention that nobody expands as one step on strides: for each head of k and v the heads of q that attend to it.
#include "compiler/codegen/outline/Outline.h"
#include "compiler/codegen/outline/View.h"

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
  /// Of lse all rows of a group lie together, of a state also what is in them.
  ArrayRef<StringAttr> rowAxes() const { return rows; }
  SmallVector<StringAttr> stateAxes(Value state) const {
    SmallVector<StringAttr> all(rows);
    all.push_back(nn::axesOf(state.getType()).back());
    return all;
  }

  /// Where `columns` do not lie together, in this order, or the heads of a group not at one distance, the operand is copied.
  void addOperand(Value value, ArrayRef<StringAttr> columns) {
    if (View view(value); !isStrided(view, value.getType(), columns))
      value = inOrder(op, value, lastOf(value.getType(), columns));
    View view(value);
    operands.push_back(view.base);
    offsets.push_back(view.offset);
    addStrides(view, columns);
  }
  void addResult(Value value, ArrayRef<StringAttr> columns) {
    auto type = cast<RankedTensorType>(value.getType());
    types.push_back(isStrided(View(value), type, columns) ? type : inOrder(type, lastOf(type, columns)));
    resultColumns.emplace_back(columns);
  }

  /// The step in place of the op.
  template <typename Step> Step replace() {
    Type q = op.getQ().getType(), k = op.getK().getType(), v = op.getV().getType();
    SmallVector<int64_t> sizes;
    for (StringAttr axis : batch)
      sizes.push_back(nn::sizeOf(q, axis));
    // The results' strides are known once they exist.
    auto step = Step::create(builder, op.getLoc(), types, operands, ArrayRef<NamedAttribute>());
    for (auto [result, columns] : llvm::zip(step->getResults(), resultColumns))
      addStrides(View(result), columns);
    step.setBatch(sizes);
    step.setHeads(sizeOf(q, heads));
    step.setRows(nn::sizeOf(q, op.getSeqAttr()));
    step.setKeys(nn::sizeOf(k, op.getSeqAttr()));
    step.setFeatures(sizeOf(q, features));
    step.setValues(nn::sizeOf(v, op.getFeatureAttr()));
    step.setScaleAttr(op.getScaleAttr());
    step.setCausal(op.getCausal());
    if (op.getCausal())
      setPieces(step);
    step.setStridesAttr(builder.getArrayAttr(strides));
    step.setOffsets(offsets);
    step.setFlopsAttr(builder.getF64FloatAttr(op.getFlops()));
    if (Attribute at = op->getAttr("at"))
      step->setAttr("at", at);
    for (auto [old, made] : llvm::zip(op->getResults(), step->getResults()))
      old.replaceAllUsesWith(inOrder(op, made, nn::axesOf(old.getType())));
    op->erase();
    return step;
  }

private:
  static int64_t sizeOf(Type type, ArrayRef<StringAttr> axes) {
    int64_t size = 1;
    for (StringAttr axis : axes)
      size *= nn::sizeOf(type, axis);
    return size;
  }

  /// Which rows of the sequence a rank has, and which keys.
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

  /// The distance between neighbours along the last of some axes that has more than one, if they are as one axis; 0 if there are none.
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

  /// All axes, with `columns` at the end and heads before them where there are several axes of them.
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
      each.append({*strideOf(view, op.getQ().getType(), heads), view.stride(op.getSeqAttr())});
    strides.push_back(builder.getDenseI64ArrayAttr(each));
  }

  Op op;
  OpBuilder builder;
  SmallVector<StringAttr> heads; ///< the axes of q that k and v lack
  SmallVector<StringAttr> batch, features, values, rows;
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<SmallVector<StringAttr>> resultColumns;
  SmallVector<int64_t> offsets;
  SmallVector<Attribute> strides;
};

void rewrite(nn::AttentionOp op) {
  Strided<nn::AttentionOp> step(op);
  step.addOperand(op.getQ(), step.featureAxes());
  step.addOperand(op.getK(), step.featureAxes());
  step.addOperand(op.getV(), step.valueAxes());
  step.addResult(op.getOut(), step.valueAxes());
  step.addResult(op.getLse(), step.rowAxes());
  step.replace<rank::AttentionOp>();
}

void rewrite(nn::RingAttentionOp op) {
  Strided<nn::RingAttentionOp> step(op);
  step.addOperand(op.getQ(), step.featureAxes());
  step.addOperand(op.getK(), step.featureAxes());
  step.addOperand(op.getV(), step.valueAxes());
  if (Value before = op.getBefore())
    step.addOperand(before, step.stateAxes(before));
  if (op.ends()) {
    step.addResult(op.getMade()[0], step.valueAxes());
    step.addResult(op.getMade()[1], step.rowAxes());
  } else {
    step.addResult(op.getMade()[0], step.stateAxes(op.getMade()[0]));
  }
  step.replace<rank::AttentionOp>();
}

/// A gradient of attention or of a step of it.
template <typename Op> rank::AttentionGradOp rewriteGradient(Op op) {
  Strided<Op> step(op);
  step.addOperand(op.getQ(), step.featureAxes());
  step.addOperand(op.getK(), step.featureAxes());
  step.addOperand(op.getV(), step.valueAxes());
  step.addOperand(op.getOut(), step.valueAxes());
  step.addOperand(op.getDout(), step.valueAxes());
  step.addOperand(op.getLse(), step.rowAxes());
  step.addResult(op.getDq(), step.featureAxes());
  step.addResult(op.getDk(), step.featureAxes());
  step.addResult(op.getDv(), step.valueAxes());
  return step.template replace<rank::AttentionGradOp>();
}

} // namespace

void rewriteAttentions(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto attention = dyn_cast<nn::AttentionOp>(op); attention && attention.getBlocked())
      rewrite(attention);
    else if (auto gradient = dyn_cast<nn::AttentionGradOp>(op); gradient && gradient.getBlocked())
      rewriteGradient(gradient);
    else if (auto ring = dyn_cast<nn::RingAttentionOp>(op))
      rewrite(ring);
    else if (auto ringGradient = dyn_cast<nn::RingAttentionGradOp>(op))
      rewriteGradient(ringGradient).setPartly(true);
  }
}

} // namespace npar::codegen
