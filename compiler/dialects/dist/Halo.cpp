// dist.halo and dist.edge: verifiers, and the formulas by which a rank cuts out what others need and puts together what it needs.
#include "compiler/dialects/dist/Halo.h"

#include "compiler/dialects/nn/base/Meaning.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "compiler/dialects/dist/Halo.cpp.inc"

namespace npar::dist {

using namespace nn;

template <typename... Ops> static void addOps(DistDialect &dialect) { (RegisteredOperationName::insert<Ops>(dialect), ...); }

void addHalo(DistDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/dist/Halo.cpp.inc"
      >(dialect);
}

RankedTensorType nearType(RankedTensorType x, StringAttr over, StringRef suffix, ArrayRef<StringAttr> axes, int64_t local, MeshAttr mesh) {
  LayoutAttr layout = layoutOf(x);
  SmallVector<StringAttr> names(layout.getNames());
  SmallVector<int64_t> sizes(layout.getSizes());
  SmallVector<ArrayAttr> splits(layout.getSplits());
  int64_t dim = layout.dimOf(over);
  names[dim] = StringAttr::get(x.getContext(), over.getValue() + suffix);
  sizes[dim] = mesh.sizeOf(axes) * local;
  splits[dim] = stringArray(x.getContext(), axes);
  return localType(x.getElementType(),
                   LayoutAttr::get(x.getContext(), names, sizes, splits, layout.getPartialAxes(), layout.getReduction()), mesh);
}

//===- Verifiers ---------------------------------------------------------------------------------------------------------===//

/// C1, C2; `mayBeWhole`: x may be whole along `over`.
static LogicalResult verifyNear(Operation *op, StringAttr over, ArrayAttr axes, StringRef suffix, int64_t spread, bool mayBeWhole) {
  auto x = cast<RankedTensorType>(op->getOperand(0).getType()), result = cast<RankedTensorType>(op->getResult(0).getType());
  LayoutAttr layout = layoutOf(x), made = layoutOf(result);
  MeshAttr mesh = meshOf(op);
  if (!layout || !made || layout.isFlat())
    return op->emitOpError("needs operand and result with a layout that is not flat");
  int64_t dim = layout.dimOf(over);
  if (dim < 0)
    return op->emitOpError() << "names axis " << over << ", which its operand lacks";
  if (spread < 1)
    return op->emitOpError() << "has the spread " << spread << ", the least is 1";
  SmallVector<StringAttr> wanted = stringsOf(axes), splits = layout.splitsOf(dim);
  for (StringAttr axis : wanted)
    if (mesh.sizeOf(axis) < 0)
      return op->emitOpError() << "runs over '" << axis.getValue() << "', which is no mesh axis";
  if (wanted.empty())
    return op->emitOpError("names no mesh axis");
  if (splits != wanted && !(mayBeWhole && splits.empty()))
    return op->emitOpError() << "has an operand whose axis " << over << " is not split over " << axes;
  if (result.getRank() != x.getRank() || result != nearType(x, over, suffix, wanted, result.getDimSize(dim), mesh))
    return op->emitOpError() << "has a result of type " << result << " for an operand of type " << x;
  return success();
}

LogicalResult EdgeOp::verify() { return verifyNear(*this, getOverAttr(), getAxes(), ".edge", getSpread(), false); }

LogicalResult HaloOp::verify() {
  if (failed(verifyNear(*this, getOverAttr(), getAxes(), ".near", getSpread(), true)))
    return failure();
  if (getEdges().empty())
    return success();
  SmallVector<Reach::Edge> edges = getReach().edges();
  if (edges.size() != getEdges().size())
    return emitOpError() << "has " << getEdges().size() << " edges where " << edges.size() << " ranks send one";
  auto x = cast<RankedTensorType>(getInput().getType());
  for (auto [edge, value] : llvm::zip(edges, getEdges()))
    if (value.getType() != nearType(x, getOverAttr(), ".edge", stringsOf(getAxes()), edge.width, meshOf(*this)))
      return emitOpError() << "has an edge of type " << value.getType() << " for " << edge.width << " entries";
  return success();
}

Reach HaloOp::getReach() {
  auto x = cast<RankedTensorType>(getInput().getType()), result = cast<RankedTensorType>(getResult().getType());
  int64_t dim = layoutOf(x).dimOf(getOverAttr());
  return {meshOf(*this).sizeOf(stringsOf(getAxes())),
          int64_t(getEntries()),
          x.getDimSize(dim),
          int64_t(getStep()),
          int64_t(getFirst()),
          result.getDimSize(dim),
          int64_t(getSpread())};
}

bool HaloOp::isWhole() {
  LayoutAttr layout = layoutOf(getInput());
  return layout.splitsOf(layout.dimOf(getOverAttr())).empty();
}

//===- Formulas ----------------------------------------------------------------------------------------------------------===//

namespace {

/// The entries that ranks need, with ranks known at run time.
struct Needed {
  Body &body;
  int64_t members, shard, step, first, spread;

  Scalar dividedUp(Scalar number) {
    if (spread == 1)
      return number;
    // Only numbers from 0 on are divided.
    int64_t bias = first < 0 ? (spread - 1 - first) / spread : 0;
    Scalar raised = addi(number, body.integer(bias * spread + spread - 1));
    return subi(raised.make<arith::DivUIOp>(raised, body.integer(spread)), body.integer(bias));
  }
  /// The number of element 0 of a rank.
  Scalar origin(Scalar member) { return addi(muli(member, body.integer(step)), body.integer(first)); }
  /// The member before or after, round the ring; 0 < shift < members.
  Scalar after(Scalar member, int64_t shift) {
    Scalar sum = addi(member, body.integer(shift)), count = body.integer(members);
    return select(lessi(sum, count), sum, subi(sum, count));
  }
  Scalar before(Scalar member, int64_t shift) { return after(member, members - shift); }
  /// The first of `width` entries, within the sender's, that are sent.
  Scalar start(Scalar sender, Scalar receiver, int64_t width) {
    return clampIndex(subi(dividedUp(origin(receiver)), muli(sender, body.integer(shard))), shard - width + 1);
  }
};

} // namespace

static Scalar memberOf(Body &body, Type type, StringAttr axis) {
  Scalar offset = body.shardOffset(type, axis);
  return offset.make<arith::DivUIOp>(offset, body.integer(sizeOf(type, axis)));
}

/// x at the loops' indices, and at `entry` along `over`.
static Scalar extractAt(Body &body, Type x, Value lowered, StringAttr over, Scalar entry) {
  SmallVector<Scalar> indices;
  for (StringAttr axis : axesOf(x))
    indices.push_back(axis == over ? entry : body.index(axis));
  return body.extract(lowered, indices);
}

LogicalResult EdgeOp::lower(Lowering &lowering) {
  return lowering.map(*this, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    auto x = cast<RankedTensorType>(getInput().getType()), result = cast<RankedTensorType>(getResult().getType());
    int64_t dim = layoutOf(x).dimOf(getOverAttr()), members = meshOf(*this).sizeOf(stringsOf(getAxes()));
    Needed needed{body, members, x.getDimSize(dim), int64_t(getStep()), int64_t(getFirst()), int64_t(getSpread())};
    Scalar sender = memberOf(body, x, getOverAttr());
    Scalar start = needed.start(sender, needed.after(sender, getShift()), result.getDimSize(dim));
    Scalar entry = addi(body.index(axesOf(result)[dim]), start);
    return {extractAt(body, x, lowering.get(getInput()), getOverAttr(), entry)};
  });
}

LogicalResult HaloOp::lower(Lowering &lowering) {
  return lowering.map(*this, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    Type x = getInput().getType(), result = getResult().getType();
    Reach reach = getReach();
    Needed needed{body, reach.members, reach.shard, reach.step, reach.first, reach.spread};
    StringAttr near = axesOf(result)[dimOf(x, getOverAttr())];
    Scalar receiver = memberOf(body, result, near);
    Scalar number = addi(body.index(near), needed.origin(receiver)), entry = needed.dividedUp(number);
    Scalar inside = both(lessi(body.integer(-1), entry), lessi(entry, body.integer(reach.entries)));
    if (reach.spread != 1)
      inside = both(inside, equali(muli(entry, body.integer(reach.spread)), number));
    auto inPiece = [&](Scalar member) { return subi(entry, muli(member, body.integer(reach.shard))); };
    Scalar own = clampIndex(isWhole() ? entry : inPiece(receiver), reach.shard);
    Scalar value = extractAt(body, x, lowering.get(getInput()), getOverAttr(), own);
    for (auto [edge, piece] : llvm::zip(reach.edges(), getEdges())) {
      Scalar sender = needed.before(receiver, edge.shift), place = inPiece(sender);
      Scalar index = clampIndex(subi(place, needed.start(sender, receiver, edge.width)), edge.width);
      StringAttr axis = axesOf(piece.getType())[dimOf(x, getOverAttr())];
      Scalar sent = extractAt(body, piece.getType(), lowering.get(piece), axis, index);
      value = select(both(lessi(body.integer(-1), place), lessi(place, body.integer(reach.shard))), sent, value);
    }
    return {select(inside, value, value.like(getFill().convertToDouble()))};
  });
}

} // namespace npar::dist
