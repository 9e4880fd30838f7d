// Gives the rows of experts that ranks share a piece for each rank, before gradients are built: a rank then holds the rows of its own
// experts.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/Experts.h"
#include "compiler/dialects/nn/ops/Integer.h"
#include "compiler/passes/place/Place.h"
#include "compiler/passes/place/Rules.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace npar::place {

#define GEN_PASS_DEF_PLACESPREADROWS
#include "compiler/passes/place/Passes.h.inc"

namespace {

/// The ops on the rows of one routing, which share the sources of rows.
struct Rows {
  SmallVector<Operation *> ops;
  SmallVector<nn::GroupedOp> products;
  nn::DispatchOp first; ///< dispatch in the order of the program
};

RankedTensorType integers(ArrayRef<StringAttr> axes, ArrayRef<int64_t> sizes) {
  return nn::withAxes(IntegerType::get(axes.front().getContext(), 32), axes, sizes);
}

/// The type with another axis of another size in the place of one.
RankedTensorType exchanged(Type type, StringAttr from, StringAttr to, int64_t size) {
  SmallVector<StringAttr> axes(nn::axesOf(type));
  SmallVector<int64_t> sizes(cast<RankedTensorType>(type).getShape());
  for (auto [axis, extent] : llvm::zip(axes, sizes))
    if (axis == from)
      axis = to, extent = size;
  return nn::withAxes(cast<RankedTensorType>(type).getElementType(), axes, sizes);
}

/// Rewrites the ops on the rows of one routing for `pieces` ranks. Piece p of the new axis has the place of every old row, and holds those
/// of the p-th part of the experts; its other rows are empty. So ranges of rows stay as they are.
class Spreading {
public:
  Spreading(Rows &rows, int64_t pieces)
      : rows(rows), builder(rows.first), loc(rows.first.getLoc()), pieces(pieces), row(rows.first.getRowAttr()),
        expert(rows.products.front().getAxisAttr()), size(nn::sizeOf(rows.first.getType(), row)) {
    at = nn::getAt(rows.first);
    spread = nn::spreadRows(row, expert);
    local = builder.getStringAttr(spread.getValue() + ".local");
    Type first = rows.products.front().getFirst().getType();
    block = (nn::sizeOf(first, expert) + pieces - 1) / pieces;
  }

  void run() {
    number = made(nn::IndexOp::create(builder, loc, integers(local, size * pieces)));
    old = integer("mod", number, constant(size));
    Value source = rows.first.getSource(), last = whole(rows.products.front().getLast());
    // An old row belongs to the piece of its expert: of the experts that end at or before it there are as many as its expert's number.
    Value owner = pieceOf(made(nn::IndexOp::create(builder, loc, integers(row, size))), last);
    Value isHere = compare("equal", lookedUp(owner), integer("div", number, constant(size)));
    Value sources = where(isHere, lookedUp(source), constant(-1));
    for (Operation *op : rows.ops)
      rewrite(op, sources, last);
  }

private:
  template <typename Op> Value made(Op op) {
    nn::setAt(op, at);
    return op->getResult(0);
  }
  Value constant(int64_t value) {
    return made(nn::FillOp::create(builder, loc, nn::scalarOf(builder.getI32Type()), builder.getF64FloatAttr(double(value))));
  }
  /// The type of an op on integers: the axes of both, in the order of the first.
  static RankedTensorType joined(Value a, Value b) {
    SmallVector<StringAttr> axes(nn::axesOf(a.getType()));
    SmallVector<int64_t> sizes(cast<RankedTensorType>(a.getType()).getShape());
    for (StringAttr axis : nn::axesOf(b.getType()))
      if (!llvm::is_contained(axes, axis)) {
        axes.push_back(axis);
        sizes.push_back(nn::sizeOf(b.getType(), axis));
      }
    return integers(axes, sizes);
  }
  Value integer(StringRef kind, Value a, Value b) { return made(nn::IntegerOp::create(builder, loc, joined(a, b), a, b, kind)); }
  Value compare(StringRef relation, Value a, Value b) { return made(nn::CompareOp::create(builder, loc, joined(a, b), a, b, relation)); }
  Value where(Value condition, Value a, Value b) { return made(nn::WhereOp::create(builder, loc, joined(condition, a), condition, a, b)); }
  Value renamed(Value value, StringAttr from, StringAttr to) {
    Type type = exchanged(value.getType(), from, to, nn::sizeOf(value.getType(), from));
    return made(nn::RenameOp::create(builder, loc, type, value, from, to));
  }
  /// All entries of the experts' axis, which no rule splits under this name.
  Value whole(Value value) { return renamed(value, expert, builder.getStringAttr(expert.getValue() + ".all")); }
  Value named(Value value) { return renamed(value, local, spread); }

  /// The piece of old rows: the number of experts whose rows end at or before each, over those of a piece.
  Value pieceOf(Value places, Value last) {
    StringAttr all = builder.getStringAttr(expert.getValue() + ".all");
    Value before = compare("less_equal", last, places);
    RankedTensorType type = cast<RankedTensorType>(before.getType());
    Value count = made(nn::SumOp::create(builder, loc, nn::withoutAxes(type, all), before));
    return integer("div", count, constant(block));
  }

  /// The values of the old rows at the places of the new ones.
  Value lookedUp(Value value) {
    Type type = exchanged(value.getType(), row, local, size * pieces);
    return made(nn::GatherOp::create(builder, loc, type, value, old, row));
  }

  /// The new rows of a position's choices.
  Value moved(Value place, Value last) {
    Value &known = places[place];
    if (!known) {
      Value offset = integer("mul", pieceOf(place, last), constant(size));
      known = where(compare("less", place, constant(0)), constant(-1), integer("add", place, offset));
    }
    return known;
  }

  void rewrite(Operation *op, Value sources, Value last) {
    builder.setInsertionPoint(op);
    auto route = [&](auto routed) {
      routed.getSourceMutable().assign(sources);
      routed.getPlaceMutable().assign(moved(routed.getPlace(), last));
      routed.setRowAttr(local);
    };
    // Rows are sent and brought back under a name that no rule splits, so samples stay where they are; the renames communicate.
    if (auto dispatch = dyn_cast<nn::DispatchOp>(op)) {
      route(dispatch);
      dispatch.getResult().setType(exchanged(dispatch.getType(), row, local, size * pieces));
      builder.setInsertionPointAfter(op);
      Value sent = renamed(dispatch, local, spread);
      dispatch.getResult().replaceAllUsesExcept(sent, sent.getDefiningOp());
    } else if (auto collect = dyn_cast<nn::CollectOp>(op)) {
      route(collect);
      collect.getRowsMutable().assign(renamed(collect.getRows(), spread, local));
    } else if (auto product = dyn_cast<nn::GroupedOp>(op)) {
      product.setRowAttr(spread);
      product.setPieces(pieces);
    } else {
      for (OpOperand &use : op->getOpOperands())
        use.set(converted(use.get()));
    }
    for (Value result : op->getResults())
      if (nn::hasAxis(result.getType(), row))
        result.setType(exchanged(result.getType(), row, spread, size * pieces));
  }

  /// A value that meets rows: of an expert's entries for each row.
  Value converted(Value value) {
    if (!nn::hasAxis(value.getType(), row))
      return value;
    if (Value known = others.lookup(value))
      return known;
    Operation *maker = value.getDefiningOp();
    if (!isa<FloatType>(getElementTypeOrSelf(value.getType())))
      return others[value] = named(lookedUp(value));
    SmallVector<Value> operands;
    for (Value operand : maker->getOperands())
      operands.push_back(converted(operand));
    Operation *copy = builder.clone(*maker);
    copy->setOperands(operands);
    Value result = copy->getResult(0);
    result.setType(exchanged(value.getType(), row, spread, size * pieces));
    return others[value] = result;
  }

  Rows &rows;
  OpBuilder builder;
  const Location loc;
  const int64_t pieces;
  const StringAttr row, expert;
  const int64_t size; ///< of the old axis
  int64_t block;      ///< experts of a piece
  StringAttr spread, local;
  nn::AtAttr at;
  Value number, old; ///< of each new row: its number, the old row in its place
  llvm::DenseMap<Value, Value> places, others;
};

struct PlaceSpreadRows : impl::PlaceSpreadRowsBase<PlaceSpreadRows> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto micro = module.lookupSymbol<func::FuncOp>("micro");
    if (!micro)
      return;
    Rules rules(module);
    for (auto &[source, rows] : rowsOf(micro)) {
      FailureOr<int64_t> pieces = piecesOf(rows, rules);
      if (failed(pieces))
        return signalPassFailure();
      if (*pieces > 1)
        Spreading(rows, *pieces).run();
    }
  }

private:
  /// The ops on rows, by the sources of the rows.
  static llvm::MapVector<Value, Rows> rowsOf(func::FuncOp micro) {
    llvm::MapVector<Value, Rows> all;
    llvm::DenseMap<Value, std::pair<Value, StringAttr>> origin; // of rows: their source and their axis
    for (Operation &op : micro.front()) {
      std::pair<Value, StringAttr> found;
      if (auto dispatch = dyn_cast<nn::DispatchOp>(op))
        found = {dispatch.getSource(), dispatch.getRowAttr()};
      for (Value operand : op.getOperands())
        if (auto known = origin.find(operand); known != origin.end())
          found = known->second;
      if (!found.first)
        continue;
      Rows &rows = all[found.first];
      rows.ops.push_back(&op);
      if (auto dispatch = dyn_cast<nn::DispatchOp>(op); dispatch && !rows.first)
        rows.first = dispatch;
      if (auto product = dyn_cast<nn::GroupedOp>(op))
        rows.products.push_back(product);
      for (Value result : op.getResults())
        if (nn::hasAxis(result.getType(), found.second))
          origin[result] = found;
    }
    return all;
  }

  /// The number of ranks that share the experts of these rows; products must agree.
  static FailureOr<int64_t> piecesOf(const Rows &rows, Rules &rules) {
    int64_t pieces = 1;
    for (nn::GroupedOp product : rows.products) {
      int64_t found = rules.mesh.sizeOf(rules.assign(product).splitsOf(product.getAxisAttr()));
      if (product != rows.products.front() && found != pieces)
        return product.emitError() << "rows whose experts are split over " << pieces << " ranks meet experts that are split over " << found
                                   << ": give all products of these rows the same rule";
      pieces = found;
    }
    return pieces;
  }
};
} // namespace

std::unique_ptr<Pass> createPlaceSpreadRowsPass() { return std::make_unique<PlaceSpreadRows>(); }

} // namespace npar::place
