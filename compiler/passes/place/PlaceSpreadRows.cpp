// Gives the rows of experts that ranks share a piece for each rank, before gradients are built: a rank then holds the rows of its own
// experts.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/Experts.h"
#include "compiler/dialects/nn/ops/Integer.h"
#include "compiler/passes/place/Place.h"
#include "compiler/passes/place/Rules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
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

  int64_t size() { return nn::sizeOf(first.getType(), first.getRowAttr()); }
  int64_t choices() { return size() / nn::sizeOf(first.getX().getType(), first.getSeqAttr()); }
};

/// Tells how many ranks share the experts, and how rows get to them.
struct Exchange {
  int64_t pieces = 1;
  bool gathers = false; ///< ranks gather positions and add up their results; otherwise rows go by all_to_all
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

/// Rewrites the ops on the rows of one routing for ranks that share the experts. Piece p of the new axis holds the rows of the p-th part of
/// the experts, from its beginning, in the old order; its other rows are empty. A piece of a few experts is shorter than the old rows if
/// the choices of a position differ: at most one goes to each expert.
class Spreading {
public:
  Spreading(Rows &rows, Exchange exchange)
      : rows(rows), builder(rows.first), loc(rows.first.getLoc()), pieces(exchange.pieces), gathers(exchange.gathers),
        row(rows.first.getRowAttr()), expert(rows.products.front().getAxisAttr()), size(rows.size()) {
    at = nn::getAt(rows.first);
    spread = nn::spreadRows(row, expert);
    local = builder.getStringAttr(spread.getValue() + ".local");
    Type ranges = rows.products.front().getFirst().getType();
    block = (nn::sizeOf(ranges, expert) + pieces - 1) / pieces;
    length = rows.first.getDistinct() ? size / rows.choices() * std::min(rows.choices(), block) : size;
  }

  void run() {
    nn::GroupedOp product = rows.products.front();
    first = whole(product.getFirst()), last = whole(product.getLast());
    Value number = made(nn::IndexOp::create(builder, loc, integers(local, length * pieces)));
    Value piece = integer("div", number, constant(length));
    old = integer("add", startOf(piece), integer("mod", number, constant(length)));
    // An old row belongs to the piece of its expert: of the experts that end at or before it there are as many as its expert's number.
    Value owner = pieceOf(made(nn::IndexOp::create(builder, loc, integers(row, size))));
    Value sources = where(compare("equal", lookedUp(owner), piece), lookedUp(rows.first.getSource()), constant(-1));
    if (gathers)
      sources = named(sources);
    Value expertPiece =
        integer("div", made(nn::IndexOp::create(builder, loc, integers(expert, nn::sizeOf(product.getFirst().getType(), expert)))),
                constant(block));
    Value start = startOf(expertPiece);
    Value begin = integer("sub", product.getFirst(), start), end = integer("sub", product.getLast(), start);
    for (Operation *op : rows.ops)
      rewrite(op, sources, begin, end);
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
  StringAttr allName() { return builder.getStringAttr(expert.getValue() + ".all"); }
  /// All entries of the experts' axis, which no rule splits under this name.
  Value whole(Value value) { return renamed(value, expert, allName()); }
  Value named(Value value) { return renamed(value, local, spread); }
  /// Rows under another name, which may move: of each piece those before `end`.
  Value moved(Value rows, StringAttr from, StringAttr to, Value end) {
    Value result = renamed(rows, from, to);
    auto rename = result.getDefiningOp<nn::RenameOp>();
    rename.getEndsMutable().assign(end);
    rename.setPlaces(length);
    rename.setFilled(filled());
    return result;
  }
  /// The part of the new rows that belongs to an expert if the load is balanced.
  APFloat filled() { return APFloat(double(size) / double(length * pieces)); }

  /// The piece of old rows: the number of experts whose rows end at or before each, over those of a piece.
  Value pieceOf(Value places) {
    Value before = compare("less_equal", last, places);
    RankedTensorType type = cast<RankedTensorType>(before.getType());
    Value count = made(nn::SumOp::create(builder, loc, nn::withoutAxes(type, allName()), before));
    return integer("div", count, constant(block));
  }

  /// The old rows with which pieces begin; 0 for pieces that have no expert.
  Value startOf(Value piece) {
    Value expertOf = integer("mul", piece, constant(block));
    RankedTensorType type = nn::withoutAxes(joined(first, expertOf), allName());
    return made(nn::GatherOp::create(builder, loc, type, first, expertOf, allName()));
  }

  /// The values of the old rows at the places of the new ones.
  Value lookedUp(Value value) {
    Type type = exchanged(value.getType(), row, local, length * pieces);
    return made(nn::GatherOp::create(builder, loc, type, value, old, row));
  }

  /// The new rows of a position's choices.
  Value placed(Value place) {
    Value &known = places[place];
    if (!known) {
      Value piece = pieceOf(place), inside = integer("sub", place, startOf(piece));
      known = where(compare("less", place, constant(0)), constant(-1), integer("add", inside, integer("mul", piece, constant(length))));
    }
    return known;
  }

  void rewrite(Operation *op, Value sources, Value begin, Value end) {
    builder.setInsertionPoint(op);
    auto route = [&](auto routed) {
      routed.getSourceMutable().assign(sources);
      routed.getPlaceMutable().assign(placed(routed.getPlace()));
      routed.setRowAttr(gathers ? spread : local);
    };
    // If ranks do not gather, rows are sent and brought back under a name that no rule splits, so samples stay where they are; the renames
    // communicate.
    if (auto dispatch = dyn_cast<nn::DispatchOp>(op); dispatch && !gathers) {
      route(dispatch);
      dispatch.getResult().setType(exchanged(dispatch.getType(), row, local, length * pieces));
      builder.setInsertionPointAfter(op);
      Value sent = moved(dispatch, local, spread, end);
      dispatch.getResult().replaceAllUsesExcept(sent, sent.getDefiningOp());
    } else if (dispatch) {
      route(dispatch);
    } else if (auto collect = dyn_cast<nn::CollectOp>(op)) {
      route(collect);
      if (!gathers)
        collect.getRowsMutable().assign(moved(collect.getRows(), spread, local, end));
    } else if (auto product = dyn_cast<nn::GroupedOp>(op)) {
      product.setRowAttr(spread);
      product.setPieces(pieces);
      product.setFilled(filled());
      product.getFirstMutable().assign(begin);
      product.getLastMutable().assign(end);
    } else {
      for (OpOperand &use : op->getOpOperands())
        use.set(converted(use.get()));
    }
    for (Value result : op->getResults())
      if (nn::hasAxis(result.getType(), row))
        result.setType(exchanged(result.getType(), row, spread, length * pieces));
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
    result.setType(exchanged(value.getType(), row, spread, length * pieces));
    return others[value] = result;
  }

  Rows &rows;
  OpBuilder builder;
  const Location loc;
  const int64_t pieces;
  const bool gathers;
  const StringAttr row, expert;
  const int64_t size;    ///< of the old axis
  int64_t block, length; ///< experts and rows of a piece
  StringAttr spread, local;
  nn::AtAttr at;
  Value first, last; ///< of all experts: the old row with which its rows begin, and that after them
  Value old;         ///< of each new row: the old row in its place
  llvm::DenseMap<Value, Value> places, others;
};

struct PlaceSpreadRows : impl::PlaceSpreadRowsBase<PlaceSpreadRows> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto micro = module.lookupSymbol<func::FuncOp>("micro");
    if (!micro)
      return;
    llvm::MapVector<Value, Rows> all = rowsOf(micro);
    if (all.empty())
      return;
    Rules rules(module);
    for (auto &[source, rows] : all) {
      FailureOr<Exchange> exchange = exchangeOf(rows, rules);
      if (failed(exchange) || rules.hasFailed()) // placing would report the same again
        return signalPassFailure();
      if (exchange->pieces > 1)
        Spreading(rows, *exchange).run();
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

  /// Finds how the ranks share the experts of these rows; products must agree.
  static FailureOr<Exchange> exchangeOf(Rows &rows, Rules &rules) {
    Exchange exchange;
    for (nn::GroupedOp product : rows.products) {
      Assignment assignment = rules.assign(product);
      ArrayRef<StringAttr> splits = assignment.splitsOf(product.getAxisAttr());
      int64_t found = rules.mesh.sizeOf(splits);
      if (product != rows.products.front() && found != exchange.pieces)
        return product.emitError() << "rows whose experts are split over " << exchange.pieces << " ranks meet experts that are split over "
                                   << found << ": give all products of these rows the same rule";
      exchange.pieces = found;
      if (found > 1)
        exchange.gathers = gathers(rows, rules, splits, rules.rule(assignment.ruleOf(splits.front())).getBy());
    }
    return exchange;
  }

  /// Returns whether positions are gathered. Unless the rule has `by`, gathering must move less: the positions of each of the ranks that
  /// have other samples, instead of a row per choice. Ranks with the same samples have nothing to gather.
  static bool gathers(Rows &rows, Rules &rules, ArrayRef<StringAttr> splits, StringRef by) {
    if (!by.empty())
      return by == "gather";
    Assignment dispatch = rules.assign(rows.first);
    int64_t others = 1;
    for (StringAttr axis : dispatch.splitsOf(StringAttr::get(splits.front().getContext(), "batch")))
      if (llvm::is_contained(splits, axis))
        others *= rules.mesh.sizeOf(axis);
    return others == 1 || rows.choices() > others;
  }
};
} // namespace

std::unique_ptr<Pass> createPlaceSpreadRowsPass() { return std::make_unique<PlaceSpreadRows>(); }

} // namespace npar::place
