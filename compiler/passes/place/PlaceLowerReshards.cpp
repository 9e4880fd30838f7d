// Composes each reshard of slices and collectives, one mesh axis after the other in a fixed order.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/dist/Dist.h"
#include "compiler/passes/place/Place.h"
#include "compiler/passes/place/Rules.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using npar::dist::LayoutAttr;

namespace npar::place {

#define GEN_PASS_DEF_PLACELOWERRESHARDS
#include "compiler/passes/place/Passes.h.inc"

namespace {

class Lowering {
public:
  explicit Lowering(dist::ReshardOp op)
      : op(op), mesh(dist::meshOf(op)), from(dist::layoutOf(op.getInput())), to(dist::layoutOf(op.getResult())), value(op.getInput()),
        builder(op) {}

  LogicalResult run() {
    for (StringAttr axis : to.getPartialAxes())
      if (!llvm::is_contained(from.getPartialAxes(), axis))
        return op.emitOpError() << "cannot make a whole value partial over '" << axis.getValue() << "'";
    while (from != to)
      if (!gatherFlat() && !extend() && !scatterFlat() && !scatterForHierarchy() && !allReduce() && !allToAll() && !allGather())
        return op.emitOpError() << "has no way from " << from << " to " << to;
    op.getResult().replaceAllUsesWith(value);
    op.erase();
    return success();
  }

private:
  /// Mesh axes that the target adds after the present splits of a dimension; none when these are no prefix of the target's.
  SmallVector<StringAttr> missing(int64_t dim) {
    SmallVector<StringAttr> have = from.splitsOf(dim), want = to.splitsOf(dim);
    if (have.size() >= want.size() || !std::equal(have.begin(), have.end(), want.begin()))
      return {};
    return SmallVector<StringAttr>(want.begin() + have.size(), want.end());
  }

  bool isPartial(StringAttr axis) { return llvm::is_contained(from.getPartialAxes(), axis); }
  bool divides(int64_t dim, ArrayRef<StringAttr> splits) { return from.getSizes()[dim] % mesh.sizeOf(splits) == 0; }

  /// Slices or reduce_scatters one more dimension. A dimension with padding is sliced over all its mesh axes at once, because shards of
  /// shards would have other boundaries.
  bool extend() {
    for (int64_t dim = 0, rank = from.getNames().size(); dim < rank; ++dim) {
      SmallVector<StringAttr> axes = missing(dim);
      if (axes.empty())
        continue;
      bool even = divides(dim, to.splitsOf(dim));
      if (!even && !from.splitsOf(dim).empty())
        continue;
      if (isPartial(axes.front())) {
        if (!even)
          continue;
        StringAttr axis = axes.front();
        LayoutAttr next = dist::withoutPartial(from, {axis});
        emit(dist::ReduceScatterOp::getOperationName(), next.withSplits(dim, joined(dim, {axis})), {axis},
             {{"dim", name(dim)}, {"op", reduction()}});
        return true;
      }
      size_t count = llvm::find_if(axes, [&](StringAttr axis) { return isPartial(axis) || from.splitsOver(axis); }) - axes.begin();
      if (count == 0 || (!even && count < axes.size()))
        continue;
      axes.truncate(count);
      emit(dist::SliceOp::getOperationName(), from.withSplits(dim, joined(dim, axes)), axes, {{"dim", name(dim)}});
      return true;
    }
    return false;
  }

  /// Puts flat pieces together, unless the target is made of the same ones.
  bool gatherFlat() {
    if (!from.isFlat() || (from.getFlatAxes() == to.getFlatAxes() && from.getSplits() == to.getSplits()))
      return false;
    if (inHierarchy && !leavingPartial().empty())
      return false;
    SmallVector<StringAttr> axes(from.getFlatAxes());
    emit(dist::AllGatherOp::getOperationName(), from.withFlat({}), axes, {{"dim", flatName()}});
    return true;
  }

  /// Deals out the row-major piece once it is split as the target's. What is partial over some of the flat axes only is reduced first.
  bool scatterFlat() {
    SmallVector<StringAttr> axes(to.getFlatAxes());
    if (axes.empty() || from.isFlat() || from.getSplits() != to.getSplits())
      return false;
    if (llvm::all_of(axes, [&](StringAttr axis) { return isPartial(axis); })) {
      emit(dist::ReduceScatterOp::getOperationName(), dist::withoutPartial(from, axes).withFlat(axes), axes,
           {{"dim", flatName()}, {"op", reduction()}});
      return true;
    }
    if (llvm::any_of(axes, [&](StringAttr axis) { return isPartial(axis); }))
      return false;
    emit(dist::SliceOp::getOperationName(), from.withFlat(axes), axes, {{"dim", flatName()}});
    return true;
  }

  /// Mesh axes over which the value must be reduced.
  SmallVector<StringAttr> leavingPartial() {
    SmallVector<StringAttr> axes;
    for (StringAttr axis : from.getPartialAxes())
      if (!llvm::is_contained(to.getPartialAxes(), axis))
        axes.push_back(axis);
    return axes;
  }

  /// Under `dist.hierarchical` a gradient that is added over several mesh axes is scattered over the last one, added over the others while
  /// it is small, and gathered again. A gradient with less than a block per rank is reduced in one piece.
  bool scatterForHierarchy() {
    auto read = op.getInput().getDefiningOp<nn::ReadOp>();
    SmallVector<StringAttr> axes = leavingPartial();
    if (!read || axes.size() < 2 || from.isFlat() || to.isFlat() || !attributes::hierarchical.isOn(op->getParentOfType<ModuleOp>()))
      return false;
    StringAttr last = axes.back();
    int64_t elements = cast<RankedTensorType>(value.getType()).getNumElements();
    if (elements < dist::LayoutAttr::flatBlock * mesh.sizeOf(last))
      return false;
    inHierarchy = true;
    emit(dist::ReduceScatterOp::getOperationName(), dist::withoutPartial(from, {last}).withFlat({last}), {last},
         {{"dim", flatName()}, {"op", reduction()}});
    return true;
  }

  bool allReduce() {
    SmallVector<StringAttr> axes = leavingPartial();
    if (axes.empty())
      return false;
    emit(dist::AllReduceOp::getOperationName(), dist::withoutPartial(from, axes), axes, {{"op", reduction()}});
    return true;
  }

  /// The last split of one dimension is the next that another one needs.
  bool allToAll() {
    for (int64_t target = 0, rank = from.getNames().size(); target < rank; ++target)
      for (int64_t source = 0; source < rank; ++source) {
        SmallVector<StringAttr> axes = missing(target), have = from.splitsOf(source);
        if (axes.empty() || have.empty() || source == target || have.back() != axes.front())
          continue;
        SmallVector<StringAttr> extended = joined(target, {axes.front()});
        if (!divides(target, extended) || !divides(source, have))
          continue;
        have.pop_back();
        LayoutAttr next = from.withSplits(source, have).withSplits(target, extended);
        SmallVector<std::pair<StringRef, Attribute>> attributes{{"split", name(target)}, {"concat", name(source)}};
        SmallVector<Value> ends = endsFor(next, std::max(target, source));
        if (!ends.empty())
          attributes.append({{"places", op.getPlacesAttr()}, {"filled", op.getFilledAttr()}});
        emit(dist::AllToAllOp::getOperationName(), next, {axes.front()}, attributes, ends);
        return true;
      }
    return false;
  }

  /// The ends of existing rows before and after a move to `next`; none if all rows move. `last`: the later dimension of the two between
  /// which a split moves, which must be that of the rows.
  SmallVector<Value> endsFor(LayoutAttr next, int64_t last) {
    if (op.getEnds().empty() || last != int64_t(nn::axesOf(op.getEnds().front().getType()).size()) - 1)
      return {};
    LayoutAttr first = dist::layoutOf(op.getInput());
    if (from == first && next == to && (from.splitsOf(last).empty() || next.splitsOf(last).empty()))
      return llvm::to_vector(op.getEnds());
    // One of several moves: a shard of the rows must begin with a shard of the entries, in all layouts.
    for (LayoutAttr layout : {first, to})
      if (dist::layoutOf(op.getEnds().front()).getSizes()[last] % mesh.sizeOf(layout.splitsOf(last)) != 0)
        return {};
    SmallVector<Value> ends{endsIn(from), endsIn(next)};
    return ends[0] && ends[1] ? ends : SmallVector<Value>();
  }

  /// The ends in the layout of rows that are laid out like this.
  Value endsIn(LayoutAttr rows) {
    auto type = cast<RankedTensorType>(op.getEnds().front().getType());
    LayoutAttr layout = dist::layoutOf(type);
    for (int64_t dim = 0, rank = layout.getNames().size(); dim < rank; ++dim)
      layout = layout.withSplits(dim, rows.splitsOf(dim));
    for (Value ends : op.getEnds())
      if (dist::layoutOf(ends) == layout)
        return ends;
    auto moved = dist::ReshardOp::create(builder, op.getLoc(), dist::localType(type.getElementType(), layout, mesh), op.getEnds().front(),
                                         ValueRange(), 0, APFloat(1.0), op.getCauseAttr());
    attributes::causingRules.copy(op, moved);
    if (auto at = nn::getAt(op))
      nn::setAt(moved, at);
    Lowering lowering(moved);
    if (failed(lowering.run()))
      return {};
    return lowering.value;
  }

  /// Gathers the first dimension that is split beyond what it shares with the target; a padded one entirely.
  bool allGather() {
    for (int64_t dim = 0, rank = from.getNames().size(); dim < rank; ++dim) {
      SmallVector<StringAttr> have = from.splitsOf(dim), want = to.splitsOf(dim);
      size_t shared = 0;
      while (shared < std::min(have.size(), want.size()) && have[shared] == want[shared])
        ++shared;
      if (have == want || (shared == have.size() && (divides(dim, want) || shared == 0)))
        continue;
      if (!divides(dim, have) || !divides(dim, want))
        shared = 0;
      SmallVector<StringAttr> axes(have.begin() + shared, have.end());
      have.truncate(shared);
      emit(dist::AllGatherOp::getOperationName(), from.withSplits(dim, have), axes, {{"dim", name(dim)}});
      return true;
    }
    return false;
  }

  StringAttr flatName() { return cast<dist::DistDialect>(*op->getDialect()).flatName; }
  StringAttr name(int64_t dim) { return from.getNames()[dim]; }
  StringAttr reduction() { return StringAttr::get(op.getContext(), wordOf(from.getReduction())); }
  SmallVector<StringAttr> joined(int64_t dim, ArrayRef<StringAttr> axes) {
    SmallVector<StringAttr> splits = from.splitsOf(dim);
    llvm::append_range(splits, axes);
    return splits;
  }

  void emit(StringRef operation, LayoutAttr layout, ArrayRef<StringAttr> axes, ArrayRef<std::pair<StringRef, Attribute>> attributes,
            ValueRange ends = {}) {
    OperationState state(op.getLoc(), operation);
    state.addOperands(value);
    state.addOperands(ends);
    state.addTypes(dist::localType(op.getResult().getType().getElementType(), layout, mesh));
    state.addAttribute("axes", dist::stringArray(op.getContext(), axes));
    for (auto [key, attribute] : attributes)
      state.addAttribute(key, attribute);
    if (op.getCauseAttr())
      state.addAttribute("cause", op.getCauseAttr());
    Operation *created = builder.create(state);
    attributes::causingRules.copy(op, created);
    if (auto at = nn::getAt(op))
      nn::setAt(created, at);
    value = created->getResult(0);
    from = layout;
  }

  dist::ReshardOp op;
  dist::MeshAttr mesh;
  LayoutAttr from, to;
  Value value;
  OpBuilder builder;
  bool inHierarchy = false;
};

struct PlaceLowerReshards : impl::PlaceLowerReshardsBase<PlaceLowerReshards> {
  void runOnOperation() override {
    SmallVector<dist::ReshardOp> reshards;
    getOperation().walk([&](dist::ReshardOp op) { reshards.push_back(op); });
    for (dist::ReshardOp op : reshards)
      if (failed(Lowering(op).run()))
        signalPassFailure();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPlaceLowerReshardsPass() { return std::make_unique<PlaceLowerReshards>(); }

} // namespace npar::place
