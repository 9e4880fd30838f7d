// Writes attention that nobody expands as one step on strides: for each head of k and v the heads of q that attend to it.
#include "compiler/codegen/outline/Outline.h"
#include "compiler/codegen/outline/View.h"

using namespace mlir;

namespace npar::codegen {
namespace {

/// The loops of an nn.attention, and its operands and results as a step takes them.
template <typename Op> class Strided {
public:
  explicit Strided(Op op) : op(op), builder(op) {
    Type q = op.getQ().getType(), lse = op.getLse().getType();
    for (StringAttr axis : nn::axesOf(lse)) {
      if (axis == op.getSeqAttr())
        continue;
      if (!nn::hasAxis(op.getK().getType(), axis))
        heads = axis;
      else if (nn::sizeOf(lse, axis) > 1)
        batch.push_back(axis);
    }
    for (StringAttr axis : nn::axesOf(q))
      if (!nn::hasAxis(lse, axis))
        features.push_back(axis);
    values.push_back(op.getFeatureAttr());
    if (heads)
      rows.push_back(heads);
    rows.push_back(op.getSeqAttr());
  }

  ArrayRef<StringAttr> featureAxes() const { return features; }
  ArrayRef<StringAttr> valueAxes() const { return values; }
  /// Of lse all rows of a group lie together.
  ArrayRef<StringAttr> rowAxes() const { return rows; }

  /// Where `columns` do not lie together, in this order, the operand is copied.
  void addOperand(Value value, ArrayRef<StringAttr> columns) {
    if (View view(value); !areTogether(view, value.getType(), columns))
      value = inOrder(op, value, lastOf(value.getType(), columns));
    View view(value);
    operands.push_back(view.base);
    offsets.push_back(view.offset);
    addStrides(view, columns);
  }
  void addResult(Value value, ArrayRef<StringAttr> columns) {
    auto type = cast<RankedTensorType>(value.getType());
    types.push_back(areTogether(View(value), type, columns) ? type : inOrder(type, lastOf(type, columns)));
    resultColumns.push_back(columns);
  }

  /// The step in place of the op.
  template <typename Step> void replace() {
    Type q = op.getQ().getType(), k = op.getK().getType(), v = op.getV().getType();
    SmallVector<int64_t> sizes;
    for (StringAttr axis : batch)
      sizes.push_back(nn::sizeOf(q, axis));
    int64_t contracted = 1;
    for (StringAttr axis : features)
      contracted *= nn::sizeOf(q, axis);
    // The results' strides are known once they exist.
    auto step = Step::create(builder, op.getLoc(), types, operands, ArrayRef<NamedAttribute>());
    for (auto [result, columns] : llvm::zip(step->getResults(), resultColumns))
      addStrides(View(result), columns);
    step.setBatch(sizes);
    step.setHeads(heads ? nn::sizeOf(q, heads) : 1);
    step.setRows(nn::sizeOf(q, op.getSeqAttr()));
    step.setKeys(nn::sizeOf(k, op.getSeqAttr()));
    step.setFeatures(contracted);
    step.setValues(nn::sizeOf(v, op.getFeatureAttr()));
    step.setScaleAttr(op.getScaleAttr());
    step.setCausal(op.getCausal());
    step.setStridesAttr(builder.getArrayAttr(strides));
    step.setOffsets(offsets);
    step.setFlopsAttr(builder.getF64FloatAttr(op.getFlops()));
    if (Attribute at = op->getAttr("at"))
      step->setAttr("at", at);
    for (auto [old, made] : llvm::zip(op->getResults(), step->getResults()))
      old.replaceAllUsesWith(inOrder(op, made, nn::axesOf(old.getType())));
    op->erase();
  }

private:
  static bool areTogether(const View &view, Type type, ArrayRef<StringAttr> columns) {
    int64_t stride = 1;
    for (StringAttr axis : llvm::reverse(columns)) {
      int64_t size = nn::sizeOf(type, axis);
      if (size != 1 && view.stride(axis) != stride)
        return false;
      stride *= size;
    }
    return true;
  }

  /// All axes, with `columns` at the end.
  static SmallVector<StringAttr> lastOf(Type type, ArrayRef<StringAttr> columns) {
    SmallVector<StringAttr> order;
    for (StringAttr axis : nn::axesOf(type))
      if (!llvm::is_contained(columns, axis))
        order.push_back(axis);
    order.append(columns.begin(), columns.end());
    return order;
  }

  void addStrides(const View &view, ArrayRef<StringAttr> columns) {
    SmallVector<int64_t> each;
    for (StringAttr axis : batch)
      each.push_back(view.stride(axis));
    if (columns == rowAxes()) // an axis of size 1 may have any stride
      each.append({nn::sizeOf(op.getQ().getType(), op.getSeqAttr()), 1});
    else
      each.append({heads ? view.stride(heads) : 0, view.stride(op.getSeqAttr())});
    strides.push_back(builder.getDenseI64ArrayAttr(each));
  }

  Op op;
  OpBuilder builder;
  StringAttr heads; ///< the axis of q that k and v lack; null when there is none
  SmallVector<StringAttr> batch, features, values, rows;
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<ArrayRef<StringAttr>> resultColumns;
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

void rewrite(nn::AttentionGradOp op) {
  Strided<nn::AttentionGradOp> step(op);
  step.addOperand(op.getQ(), step.featureAxes());
  step.addOperand(op.getK(), step.featureAxes());
  step.addOperand(op.getV(), step.valueAxes());
  step.addOperand(op.getOut(), step.valueAxes());
  step.addOperand(op.getDout(), step.valueAxes());
  step.addOperand(op.getLse(), step.rowAxes());
  step.addResult(op.getDq(), step.featureAxes());
  step.addResult(op.getDk(), step.featureAxes());
  step.addResult(op.getDv(), step.valueAxes());
  step.replace<rank::AttentionGradOp>();
}

} // namespace

void rewriteAttentions(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto attention = dyn_cast<nn::AttentionOp>(op); attention && attention.getBlocked())
      rewrite(attention);
    else if (auto gradient = dyn_cast<nn::AttentionGradOp>(op); gradient && gradient.getBlocked())
      rewrite(gradient);
  }
}

} // namespace npar::codegen
