// Plans a kernel's loop nest from the axes that its generics name.
#include "compiler/codegen/loops/Nest.h"
#include "compiler/codegen/lowering/Lowering.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace npar::codegen {

int Nest::loopOf(StringAttr axis) const {
  for (auto [i, loop] : llvm::enumerate(loops))
    if (axis && llvm::is_contained(loop.axes, axis))
      return i;
  return -1;
}

SmallVector<int64_t> Nest::strides(RankedTensorType type, ArrayRef<StringAttr> axes) const {
  SmallVector<int64_t> result(loops.size(), 0);
  int64_t stride = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    int loop = loopOf(axes[dim]);
    if (loop >= 0 && result[loop] == 0)
      result[loop] = stride; // the last axis of a collapsed group
    stride *= type.getDimSize(dim);
  }
  return result;
}

SmallVector<StringAttr> loopAxes(linalg::GenericOp op) {
  return llvm::to_vector(op->getAttrOfType<ArrayAttr>(axesAttribute).getAsRange<StringAttr>());
}

static SmallVector<StringAttr> axesOfMap(linalg::GenericOp op, AffineMap map) {
  SmallVector<StringAttr> loops = loopAxes(op), axes;
  for (AffineExpr expression : map.getResults())
    axes.push_back(isa<AffineDimExpr>(expression) ? loops[cast<AffineDimExpr>(expression).getPosition()] : StringAttr());
  return axes;
}

int64_t operandOffset(linalg::GenericOp op, unsigned operand) {
  auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
  int64_t offset = 0;
  for (auto [dim, expression] : llvm::enumerate(op.getIndexingMapsArray()[operand].getResults())) {
    auto constant = dyn_cast<AffineConstantExpr>(expression);
    offset = offset * type.getDimSize(dim) + (constant ? constant.getValue() : 0);
  }
  return offset;
}

SmallVector<StringAttr> operandAxes(linalg::GenericOp op, unsigned operand) { return axesOfMap(op, op.getIndexingMapsArray()[operand]); }

SmallVector<StringAttr> resultAxes(linalg::GenericOp op, unsigned result) {
  return axesOfMap(op, op.getIndexingMapsArray()[op.getNumDpsInputs() + result]);
}

namespace {
/// One tensor in memory as some generic addresses it.
struct Access {
  RankedTensorType type;
  SmallVector<StringAttr> axes;
};

struct Planner {
  Planner(func::FuncOp function, rank::ExistingAttr existing) : function(function), existing(existing) {}

  func::FuncOp function;
  rank::ExistingAttr existing;
  SmallVector<linalg::GenericOp> generics;
  llvm::DenseSet<StringAttr> indexed; ///< axes whose index a body reads
  SmallVector<Access> accesses;
  Nest nest;

  LogicalResult collect();
  LogicalResult space();
  LogicalResult split();
  bool decidesRows(const Loop &loop);
  bool knowsRows();
  bool collapsible(const Loop &major, const Loop &minor);
  void collapse();
  void choose(const LoopOptions &options);
  bool spans(linalg::GenericOp op, const Loop &loop) { return llvm::is_contained(loopAxes(op), loop.axes.front()); }
};
} // namespace

LogicalResult Planner::collect() {
  function.walk([&](linalg::GenericOp op) { generics.push_back(op); });
  for (linalg::GenericOp op : generics) {
    SmallVector<StringAttr> axes = loopAxes(op);
    op.walk([&](linalg::IndexOp index) { indexed.insert(axes[index.getDim()]); });
    for (unsigned i = 0, e = op.getNumDpsInputs(); i < e; ++i)
      if (isa<BlockArgument>(op.getDpsInputs()[i]))
        accesses.push_back({cast<RankedTensorType>(op.getDpsInputs()[i].getType()), operandAxes(op, i)});
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      if (llvm::any_of(result.getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); }))
        accesses.push_back({cast<RankedTensorType>(result.getType()), resultAxes(op, i)});
  }
  return success();
}

// The iteration space: the loops of the widest generic, in its order, without those of size 1.
LogicalResult Planner::space() {
  linalg::GenericOp widest;
  double volume = -1;
  llvm::MapVector<StringAttr, int64_t> sizes;
  for (linalg::GenericOp op : generics) {
    double size = 1;
    for (auto [axis, range] : llvm::zip(loopAxes(op), op.getStaticLoopRanges())) {
      size *= range;
      auto [found, inserted] = sizes.insert({axis, range});
      if (!inserted && found->second != range)
        return function.emitError("axis '") << axis.getValue() << "' has sizes " << found->second << " and " << range << " in one kernel";
    }
    if (size > volume)
      volume = size, widest = op;
  }
  if (!widest)
    return success();
  for (auto [axis, range] : llvm::zip(loopAxes(widest), widest.getStaticLoopRanges()))
    if (range != 1)
      nest.loops.push_back({{axis}, range, false});
  for (auto [axis, range] : sizes)
    if (range != 1 && nest.loopOf(axis) < 0)
      return function.emitError("axis '") << axis.getValue() << "' is not a loop of the kernel's widest op";
  return success();
}

// Rows are what no reduction reduces.
LogicalResult Planner::split() {
  linalg::GenericOp first;
  for (linalg::GenericOp op : generics) {
    SmallVector<int> reduced;
    for (auto [axis, kind] : llvm::zip(loopAxes(op), op.getIteratorTypesArray()))
      if (kind == utils::IteratorType::reduction && nest.loopOf(axis) >= 0)
        reduced.push_back(nest.loopOf(axis));
    if (reduced.empty())
      continue;
    for (int i = 0, e = nest.loops.size(); i < e; ++i) {
      if (!first)
        nest.loops[i].reduced = llvm::is_contained(reduced, i);
      else if (nest.loops[i].reduced != llvm::is_contained(reduced, i))
        return function.emitError("reductions of one kernel reduce different axes");
    }
    first = op;
  }
  return success();
}

/// Returns whether the loop's index decides which rows exist: the row's and those of the samples.
bool Planner::decidesRows(const Loop &loop) {
  return existing && llvm::any_of(loop.axes, [&](StringAttr axis) {
           return axis == existing.getRow() || llvm::is_contained(existing.getEnds(), Attribute(axis));
         });
}

/// Returns whether each step of the outer loop has one row, so that it is computed or not.
bool Planner::knowsRows() {
  if (nest.vectorInRows)
    return false;
  for (int i : nest.inner)
    if (decidesRows(nest.loops[i]))
      return false;
  return true;
}

bool Planner::collapsible(const Loop &major, const Loop &minor) {
  if (major.reduced != minor.reduced || decidesRows(major) || decidesRows(minor))
    return false;
  for (StringAttr axis : major.axes)
    if (indexed.contains(axis))
      return false;
  for (StringAttr axis : minor.axes)
    if (indexed.contains(axis))
      return false;
  for (linalg::GenericOp op : generics)
    if (spans(op, major) != spans(op, minor))
      return false;
  int majorLoop = nest.loopOf(major.axes.front()), minorLoop = nest.loopOf(minor.axes.front());
  for (const Access &access : accesses) {
    SmallVector<int64_t> strides = nest.strides(access.type, access.axes);
    if (strides[majorLoop] != strides[minorLoop] * minor.size)
      return false;
  }
  return true;
}

void Planner::collapse() {
  for (int i = int(nest.loops.size()) - 2; i >= 0; --i) {
    if (!collapsible(nest.loops[i], nest.loops[i + 1]))
      continue;
    nest.loops[i].size *= nest.loops[i + 1].size;
    nest.loops[i].axes.append(nest.loops[i + 1].axes);
    nest.loops.erase(nest.loops.begin() + i + 1);
  }
}

// Chooses the loop to vectorise and the width of its vectors.
void Planner::choose(const LoopOptions &options) {
  int count = nest.loops.size();
  if (count == 0)
    return;
  bool reduces = llvm::any_of(nest.loops, [](const Loop &loop) { return loop.reduced; });
  nest.vectorLoop = count - 1;
  nest.vectorInRows = reduces ? !nest.loops.back().reduced : count == 1;
  for (int i = 0; i < count; ++i) {
    bool inside = reduces ? nest.loops[i].reduced : (i == count - 1 && !nest.vectorInRows);
    (inside ? nest.inner : nest.rows).push_back(i);
  }
  int64_t work = 0;
  for (linalg::GenericOp op : generics) {
    work += op.getBody()->getOperations().size();
    for (Operation &inside : *op.getBody()) {
      if (inside.getDialect()->getNamespace() == "math")
        work += 20;
      for (Type type : inside.getResultTypes())
        if (type.isF64() && spans(op, nest.loops.back()))
          nest.lanes = 8;
    }
  }
  int64_t size = nest.loops.back().size;
  int64_t most = work > 300 ? 1 : work > 120 ? 2 : 4;
  // Elsewhere the parts of a reduction are in the order of its additions.
  if (reduces && nest.vectorInRows)
    most = std::min(most, options.columnParts);
  nest.parts = std::clamp<int64_t>(size / nest.lanes, 1, most);
  for (int i : nest.rows)
    nest.extent *= i == nest.vectorLoop ? (size + nest.width() - 1) / nest.width() : nest.loops[i].size;
}

FailureOr<Nest> planNest(func::FuncOp function, const LoopOptions &options) {
  for (auto existing : {function->getAttrOfType<rank::ExistingAttr>(existingAttribute), rank::ExistingAttr()}) {
    Planner planner(function, existing);
    if (failed(planner.collect()) || failed(planner.space()) || failed(planner.split()))
      return failure();
    planner.collapse();
    planner.choose(options);
    planner.nest.existing = existing;
    if (!existing || planner.knowsRows())
      return planner.nest;
  }
  llvm_unreachable("a nest of all rows is always planned");
}

} // namespace npar::codegen
