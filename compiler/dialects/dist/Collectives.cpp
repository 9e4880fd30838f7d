// Verifiers of the dist operations: the result's layout and local shape follow from the operand's and the attributes (RULES.md#C1 to C3).
#include "compiler/dialects/dist/Dist.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

#include "compiler/dialects/dist/DistInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/dialects/dist/DistOps.cpp.inc"

namespace npar::dist {

namespace {

/// The operand's and result's layouts with the mesh; checks what holds for every move.
struct Move {
  LayoutAttr from, to;
  MeshAttr mesh;

  LogicalResult read(Operation *op) {
    from = layoutOf(op->getOperand(0).getType());
    to = layoutOf(op->getResult(0).getType());
    mesh = meshOf(op);
    if (!from || !to)
      return op->emitOpError("needs operand and result with a layout");
    auto in = cast<RankedTensorType>(op->getOperand(0).getType()), out = cast<RankedTensorType>(op->getResult(0).getType());
    if (in.getElementType() != out.getElementType())
      return op->emitOpError() << "changes the element type from " << in.getElementType() << " to " << out.getElementType();
    if (from.getNames() != to.getNames() || from.getSizes() != to.getSizes())
      return op->emitOpError("changes the logical axes of its operand");
    for (RankedTensorType type : {in, out})
      if (failed(shape(op, type)))
        return failure();
    return success();
  }

  LogicalResult shape(Operation *op, RankedTensorType type) {
    LayoutAttr layout = layoutOf(type);
    for (auto [dim, name] : llvm::enumerate(layout.getNames()))
      for (StringAttr axis : layout.splitsOf(dim))
        if (mesh.sizeOf(axis) < 0)
          return op->emitOpError() << "splits axis '" << name.getValue() << "' over '" << axis.getValue() << "', which is no mesh axis";
    for (StringAttr axis : layout.getFlatAxes())
      if (mesh.sizeOf(axis) < 0)
        return op->emitOpError() << "is flat over '" << axis.getValue() << "', which is no mesh axis";
    SmallVector<int64_t> local = layout.localShape(mesh);
    for (auto [dim, name] : llvm::enumerate(layout.getAxisNames()))
      if (type.getDimSize(dim) != local[dim])
        return op->emitOpError() << "has local size " << type.getDimSize(dim) << " of axis '" << name.getValue()
                                 << "' where its layout needs " << local[dim];
    return success();
  }
};

/// C: the result's layout is the one that the attributes ask for.
LogicalResult expect(Operation *op, const Move &move, LayoutAttr wanted) {
  if (move.to == wanted)
    return success();
  return op->emitOpError() << "has a result with layout " << move.to << " where " << wanted << " follows from its operand";
}

LogicalResult checkAxes(Operation *op, MeshAttr mesh, ArrayAttr axes) {
  if (axes.empty())
    return op->emitOpError("names no mesh axis");
  for (StringAttr axis : stringsOf(axes))
    if (mesh.sizeOf(axis) < 0)
      return op->emitOpError() << "runs over '" << axis.getValue() << "', which is no mesh axis";
  return success();
}

LogicalResult checkPartial(Operation *op, const Move &move, ArrayAttr axes, program::ReduceOp reduction) {
  for (StringAttr axis : stringsOf(axes)) {
    if (!llvm::is_contained(move.from.getPartialAxes(), axis))
      return op->emitOpError() << "reduces over '" << axis.getValue() << "', along which its operand is not partial";
    if (move.from.getReduction() != reduction)
      return op->emitOpError() << "reduces with '" << wordOf(reduction) << "' what is partial with the other kind";
  }
  return success();
}

/// Returns whether the move distributes a row-major piece or reassembles it.
bool isFlat(Operation *op, StringAttr dim) { return dim == cast<DistDialect>(*op->getDialect()).flatName; }

FailureOr<int64_t> checkDim(Operation *op, const Move &move, StringAttr dim) {
  if (move.from.isFlat())
    return op->emitOpError() << "moves axis '" << dim.getValue() << "' of a flat operand";
  int64_t index = move.from.dimOf(dim);
  if (index < 0)
    return op->emitOpError() << "names axis '" << dim.getValue() << "', which its operand lacks";
  return index;
}

SmallVector<StringAttr> appended(LayoutAttr layout, int64_t dim, ArrayAttr axes) {
  SmallVector<StringAttr> splits = layout.splitsOf(dim);
  llvm::append_range(splits, stringsOf(axes));
  return splits;
}

/// The splits of `dim` without the trailing `axes`; fails when they are not the last ones.
FailureOr<SmallVector<StringAttr>> removed(Operation *op, LayoutAttr layout, int64_t dim, ArrayAttr axes) {
  SmallVector<StringAttr> splits = layout.splitsOf(dim), tail = stringsOf(axes);
  if (splits.size() < tail.size() || !std::equal(tail.begin(), tail.end(), splits.end() - tail.size()))
    return op->emitOpError() << "gathers over mesh axes that are not the last splits of axis '" << layout.getNames()[dim].getValue() << "'";
  splits.truncate(splits.size() - tail.size());
  return splits;
}

} // namespace

LogicalResult ReshardOp::verify() {
  Move move;
  return move.read(*this);
}

LogicalResult AllReduceOp::verify() {
  Move move;
  if (failed(move.read(*this)) || failed(checkAxes(*this, move.mesh, getAxes())) || failed(checkPartial(*this, move, getAxes(), getOp())))
    return failure();
  return expect(*this, move, withoutPartial(move.from, stringsOf(getAxes())));
}

LogicalResult ReduceScatterOp::verify() {
  Move move;
  if (failed(move.read(*this)) || failed(checkAxes(*this, move.mesh, getAxes())) || failed(checkPartial(*this, move, getAxes(), getOp())))
    return failure();
  LayoutAttr reduced = withoutPartial(move.from, stringsOf(getAxes()));
  if (isFlat(*this, getDimAttr()) && !move.from.isFlat())
    return expect(*this, move, reduced.withFlat(stringsOf(getAxes())));
  FailureOr<int64_t> dim = checkDim(*this, move, getDimAttr());
  if (failed(dim))
    return failure();
  return expect(*this, move, reduced.withSplits(*dim, appended(reduced, *dim, getAxes())));
}

LogicalResult AllGatherOp::verify() {
  Move move;
  if (failed(move.read(*this)) || failed(checkAxes(*this, move.mesh, getAxes())))
    return failure();
  if (isFlat(*this, getDimAttr())) {
    if (move.from.getFlatAxes() != ArrayRef<StringAttr>(stringsOf(getAxes())))
      return emitOpError("gathers over mesh axes that are not those over which its operand is flat");
    return expect(*this, move, move.from.withFlat({}));
  }
  FailureOr<int64_t> dim = checkDim(*this, move, getDimAttr());
  if (failed(dim))
    return failure();
  FailureOr<SmallVector<StringAttr>> splits = removed(*this, move.from, *dim, getAxes());
  return failed(splits) ? failure() : expect(*this, move, move.from.withSplits(*dim, *splits));
}

/// C2: the ends of existing rows are laid out like the rows before and after the move.
static LogicalResult checkEnds(AllToAllOp op, const Move &move, int64_t rows) {
  if (op.getEnds().empty() && op.getPlaces() == 0)
    return success();
  int64_t moved = std::min<int64_t>(op.getInput().getType().getDimSize(rows), op.getResult().getType().getDimSize(rows));
  if (op.getEnds().size() != 2 || op.getPlaces() == 0 || moved % int64_t(op.getPlaces()) != 0)
    return op.emitOpError() << "has " << op.getEnds().size() << " tensors of ends and pieces of " << op.getPlaces() << " places for "
                            << moved << " rows";
  for (auto [ends, layout] : llvm::zip(op.getEnds(), ArrayRef<LayoutAttr>{move.from, move.to})) {
    LayoutAttr found = layoutOf(ends);
    if (!found || found.getNames().size() != size_t(rows) + 1 || !getElementTypeOrSelf(ends.getType()).isInteger(32))
      return op.emitOpError() << "has ends of type " << ends.getType() << " for rows along dimension " << rows;
    for (int64_t dim = 0; dim <= rows; ++dim)
      if (found.splitsOf(dim) != layout.splitsOf(dim) || (dim < rows && found.getNames()[dim] != layout.getNames()[dim]))
        return op.emitOpError() << "has ends of layout " << found << " for rows of layout " << layout;
  }
  return success();
}

LogicalResult AllToAllOp::verify() {
  Move move;
  if (failed(move.read(*this)) || failed(checkAxes(*this, move.mesh, getAxes())))
    return failure();
  FailureOr<int64_t> split = checkDim(*this, move, getSplitAttr()), concat = checkDim(*this, move, getConcatAttr());
  if (failed(split) || failed(concat))
    return failure();
  FailureOr<SmallVector<StringAttr>> splits = removed(*this, move.from, *concat, getAxes());
  if (failed(splits))
    return failure();
  LayoutAttr gathered = move.from.withSplits(*concat, *splits);
  return failure(failed(expect(*this, move, gathered.withSplits(*split, appended(gathered, *split, getAxes())))) ||
                 failed(checkEnds(*this, move, std::max(*split, *concat))));
}

LogicalResult PermuteOp::verify() {
  Move move;
  if (failed(move.read(*this)) || failed(checkAxes(*this, move.mesh, getAxes())))
    return failure();
  int64_t shift = getShift(), members = move.mesh.sizeOf(stringsOf(getAxes()));
  if (shift <= 0 || shift >= members)
    return emitOpError() << "shifts by " << shift << " places on a ring of " << members;
  return expect(*this, move, move.from);
}

LogicalResult SliceOp::verify() {
  Move move;
  if (failed(move.read(*this)) || failed(checkAxes(*this, move.mesh, getAxes())))
    return failure();
  for (StringAttr axis : stringsOf(getAxes()))
    if (move.from.splitsOver(axis) || llvm::is_contained(move.from.getPartialAxes(), axis))
      return emitOpError() << "slices over '" << axis.getValue() << "', along which its operand is not replicated";
  if (isFlat(*this, getDimAttr()) && !move.from.isFlat())
    return expect(*this, move, move.from.withFlat(stringsOf(getAxes())));
  FailureOr<int64_t> dim = checkDim(*this, move, getDimAttr());
  if (failed(dim))
    return failure();
  return expect(*this, move, move.from.withSplits(*dim, appended(move.from, *dim, getAxes())));
}

nn::ZeroPadding zeroPaddingOfMove(Type input) {
  LayoutAttr layout = layoutOf(input);
  return layout && layout.isFlat() ? nn::ZeroPadding::Always : nn::ZeroPadding::WhereOperandsAre;
}

nn::ZeroPadding MaskPaddingOp::getZeroPadding(StringAttr axis) {
  return llvm::is_contained(getDims(), axis) ? nn::ZeroPadding::Always : nn::ZeroPadding::WhereOperandsAre;
}

LogicalResult MaskPaddingOp::verify() {
  Move move;
  if (failed(move.read(*this)))
    return failure();
  for (StringAttr dim : stringsOf(getDims()))
    if (failed(checkDim(*this, move, dim)))
      return failure();
  return success();
}

} // namespace npar::dist
