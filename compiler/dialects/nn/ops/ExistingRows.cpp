// Follows rows from grouped products through the ops that make and use them.
#include "compiler/dialects/nn/ops/ExistingRows.h"

#include "compiler/dialects/nn/ops/Experts.h"

using namespace mlir;

namespace npar::nn {
namespace {

class Walk {
public:
  llvm::DenseMap<Operation *, ExistingRows> run(Block &block) {
    for (Operation &op : block) {
      if (auto product = dyn_cast<GroupedOp>(op))
        start(product, {product.getRows(), product.getResult()});
      else if (auto weights = dyn_cast<GroupedWeightsOp>(op))
        start(weights, {weights.getA(), weights.getB()});
      while (!waiting.empty()) {
        auto [value, rows] = waiting.pop_back_val();
        if (Operation *maker = value.getDefiningOp())
          visit(maker, value, rows);
        for (Operation *user : value.getUsers())
          visit(user, value, rows);
      }
    }
    return std::move(found);
  }

private:
  template <typename Op> void start(Op op, ArrayRef<Value> values) {
    for (Value value : values)
      add(value, {op.getRowAttr(), op.getFilled().convertToDouble()});
  }

  void add(Value value, const ExistingRows &rows) {
    if (isa<FloatType>(getElementTypeOrSelf(value.getType())) && hasAxis(value.getType(), rows.row) && seen.insert(value).second)
      waiting.push_back({value, rows});
  }

  void visit(Operation *op, Value value, const ExistingRows &rows) {
    if (isa<GroupedOp, GroupedWeightsOp>(op)) // it starts walks itself
      return;
    if (auto rename = dyn_cast<RenameOp>(op)) {
      ExistingRows other = rows;
      bool forward = value == rename.getX();
      if (rows.row == (forward ? rename.getFromAttr() : rename.getToAttr()))
        other.row = forward ? rename.getToAttr() : rename.getFromAttr();
      return add(forward ? rename.getResult() : rename.getX(), other);
    }
    if (isa<CollectOp>(op)) // walks positions
      return;
    found.try_emplace(op, rows);
    for (Value operand : op->getOperands())
      add(operand, rows);
    for (Value result : op->getResults())
      add(result, rows);
  }

  llvm::DenseMap<Operation *, ExistingRows> found;
  llvm::DenseSet<Value> seen;
  SmallVector<std::pair<Value, ExistingRows>> waiting;
};

} // namespace

bool isOfSpreadRows(StringAttr axis) {
  StringRef name = axis.getValue();
  name.consume_back(".local");
  if (name.ends_with(".part")) // of rounds where no ranks share experts
    return true;
  return bool(entriesOfRows(StringAttr::get(axis.getContext(), name)));
}

llvm::DenseMap<Operation *, ExistingRows> existingRows(Block &block) { return Walk().run(block); }

} // namespace npar::nn
