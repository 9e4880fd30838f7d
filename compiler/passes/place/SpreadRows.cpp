// Gives the ops new sources, places and ranges of rows, computed by ops on integers.
#include "compiler/passes/place/SpreadRows.h"

#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/Integer.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

#include <algorithm>

using namespace mlir;

namespace npar::place {
namespace {

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

/// Marks the ops of a round.
struct RoundListener : OpBuilder::Listener {
  DenseI64ArrayAttr round; ///< null outside of rounds
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (round)
      attributes::round.set(op, round);
  }
};

/// Rewrites the ops on the rows of one routing.
class Spreading {
public:
  Spreading(Rows &rows, Exchange exchange)
      : rows(rows), builder(rows.first, &marker), loc(rows.first.getLoc()), pieces(exchange.pieces), gathers(exchange.gathers),
        row(rows.first.getRowAttr()), expert(rows.expert), size(rows.size()) {
    at = nn::getAt(rows.first);
    block = (nn::sizeOf(rows.begins.getType(), expert) + pieces - 1) / pieces;
    window = length = rows.first.getDistinct() ? size / rows.choices() * std::min(rows.choices(), block) : size;
  }

  double worstLoad() const { return double(length) / balanced(); }

  void run(PieceAxes &axes) {
    nameAxis(axes);
    prepare();
    begin();
    for (Operation *op : rows.ops)
      rewrite(op);
  }

  /// Replaces the ops by those of `count` rounds, before `anchor`. `number` is that of the routing.
  void runInRounds(int64_t count, int64_t number, Operation *anchor, PieceAxes &axes) {
    window = (length + count - 1) / count;
    rounds = (length + window - 1) / window; // rounding up the window can leave the last rounds empty
    nameAxis(axes);
    builder.setInsertionPoint(anchor);
    prepare();
    for (Operation *op : rows.ops)
      if (isa<nn::DispatchOp, nn::CollectOp>(op))
        ofAllRounds(placeOf(op));
    llvm::MapVector<Operation *, Value> sums;
    for (round = 0; round < rounds; ++round) {
      marker.round = DenseI64ArrayAttr::get(builder.getContext(), {number, round});
      builder.setInsertionPoint(anchor);
      begin();
      IRMapping values;
      for (Operation *op : rows.ops) {
        builder.setInsertionPoint(anchor);
        Operation *copy = builder.clone(*op, values);
        if (Value sent = rewrite(copy))
          values.map(op->getResult(0), sent);
        if (auto collect = dyn_cast<nn::CollectOp>(copy))
          sums[op] = added(sums.lookup(op), collect, anchor);
      }
      marker.round = {};
    }
    for (auto [op, sum] : sums)
      op->getResult(0).replaceAllUsesWith(sum);
    for (Operation *op : llvm::reverse(rows.ops))
      op->erase();
  }

private:
  double balanced() const { return double(size) / double(pieces); } ///< rows of a piece

  /// Placing takes sizes from names, so equal names must have equal sizes.
  void nameAxis(PieceAxes &axes) {
    auto named = [&](const Twine &rows) {
      StringAttr name = builder.getStringAttr(rows);
      return pieces > 1 ? nn::spreadRows(name, expert) : builder.getStringAttr(name.getValue() + ".part");
    };
    spread = named(row.getValue());
    if (axes.try_emplace(spread.getValue(), window * pieces).first->second != window * pieces)
      spread = named(row.getValue() + "." + Twine(window * pieces));
    local = builder.getStringAttr(spread.getValue() + ".local");
  }

  /// Computes what all rounds share.
  void prepare() {
    first = whole(rows.begins), last = whole(rows.ends);
    // An old row belongs to the piece of its expert: of the experts that end at or before it there are as many as its expert's number.
    owner = pieceOf(made(nn::IndexOp::create(builder, loc, integers(row, size))));
    int64_t experts = nn::sizeOf(rows.begins.getType(), expert);
    Value expertPiece = integer("div", made(nn::IndexOp::create(builder, loc, integers(expert, experts))), constant(block));
    Value start = startOf(expertPiece);
    ownBegins = integer("sub", rows.begins, start), ownEnds = integer("sub", rows.ends, start);
  }

  /// Finds the rows of a round and their sources.
  void begin() {
    places.clear(), others.clear();
    Value number = made(nn::IndexOp::create(builder, loc, integers(local, window * pieces)));
    Value piece = integer("div", number, constant(window)), inside = integer("mod", number, constant(window));
    if (round > 0)
      inside = integer("add", inside, constant(round * window));
    old = integer("add", startOf(piece), inside);
    Value isOwn = compare("equal", lookedUp(owner), piece);
    if (rounds > 1) // the last round may end after all rows, where a lookup finds 0
      isOwn = integer("and", isOwn, compare("less", old, constant(size)));
    sources = where(isOwn, lookedUp(rows.first.getSource()), constant(-1));
    if (gathers)
      sources = named(sources);
    else
      roundEnds = rounds > 1 ? clamped(round > 0 ? integer("sub", ownEnds, constant(round * window)) : ownEnds) : ownEnds;
  }

  /// Ends of rows within the round's window.
  Value clamped(Value ends) {
    Value positive = round > 0 ? where(compare("less", ends, constant(0)), constant(0), ends) : ends;
    return where(compare("less", positive, constant(window)), positive, constant(window));
  }

  Value added(Value sum, nn::CollectOp collect, Operation *anchor) {
    if (!sum)
      return collect;
    builder.setInsertionPoint(anchor);
    auto add = nn::AddOp::create(builder, collect.getLoc(), collect.getType(), sum, collect);
    attributes::at.copy(collect, add);
    return add;
  }

  static Value placeOf(Operation *op) {
    auto dispatch = dyn_cast<nn::DispatchOp>(op);
    return dispatch ? dispatch.getPlace() : cast<nn::CollectOp>(op).getPlace();
  }

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
  /// Rows under another name, which may move: of each piece those that exist in the round.
  Value moved(Value rows, StringAttr from, StringAttr to) {
    Value result = renamed(rows, from, to);
    auto rename = result.getDefiningOp<nn::RenameOp>();
    rename.getEndsMutable().assign(roundEnds);
    rename.setPlaces(window);
    rename.setFilled(filled());
    return result;
  }
  /// The part of the round's rows that belongs to an expert if the load is balanced.
  APFloat filled() const { return APFloat(std::clamp(balanced() - double(round * window), 0.0, double(window)) / double(window)); }

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
    Type type = exchanged(value.getType(), row, local, window * pieces);
    return made(nn::GatherOp::create(builder, loc, type, value, old, row));
  }

  /// The new rows of a position's choices, in pieces that have the rows of all rounds.
  Value ofAllRounds(Value place) {
    Value &known = placesOfAll[place];
    if (!known) {
      Value piece = pieceOf(place), inside = integer("sub", place, startOf(piece));
      known = where(compare("less", place, constant(0)), constant(-1), integer("add", inside, integer("mul", piece, constant(length))));
    }
    return known;
  }

  /// The new rows of a position's choices that belong to the round.
  Value placed(Value place) {
    if (rounds == 1)
      return ofAllRounds(place);
    Value &known = places[place];
    if (!known) {
      Value all = ofAllRounds(place);
      Value piece = integer("div", all, constant(length)), inside = integer("mod", all, constant(length));
      Value shifted = round > 0 ? integer("sub", inside, constant(round * window)) : inside;
      Value isOfRound = integer("and", compare("less_equal", constant(0), shifted), compare("less", shifted, constant(window)));
      known = where(isOfRound, integer("add", shifted, integer("mul", piece, constant(window))), constant(-1));
    }
    return known;
  }

  /// Rewrites an op of the round. Returns rows that others use in the place of its result, if there are any.
  Value rewrite(Operation *op) {
    builder.setInsertionPoint(op);
    Value sent;
    auto route = [&](auto routed) {
      routed.getSourceMutable().assign(sources);
      routed.getPlaceMutable().assign(placed(routed.getPlace()));
      routed.setRowAttr(gathers ? spread : local);
    };
    // If ranks do not gather, rows are sent and brought back under a name that no rule splits, so samples stay where they are; the renames
    // communicate.
    if (auto dispatch = dyn_cast<nn::DispatchOp>(op); dispatch && !gathers) {
      route(dispatch);
      dispatch.getResult().setType(exchanged(dispatch.getType(), row, local, window * pieces));
      builder.setInsertionPointAfter(op);
      sent = moved(dispatch, local, spread);
      dispatch.getResult().replaceAllUsesExcept(sent, sent.getDefiningOp());
    } else if (dispatch) {
      route(dispatch);
    } else if (auto collect = dyn_cast<nn::CollectOp>(op)) {
      route(collect);
      if (!gathers)
        collect.getRowsMutable().assign(moved(collect.getRows(), spread, local));
    } else if (auto product = dyn_cast<nn::GroupedOp>(op)) {
      product.setRowAttr(spread);
      product.setPieces(pieces);
      product.setFilled(filled());
      if (rounds > 1)
        product.setOffset(round * window);
      product.getFirstMutable().assign(ownBegins);
      product.getLastMutable().assign(ownEnds);
    } else {
      for (OpOperand &use : op->getOpOperands())
        use.set(converted(use.get()));
    }
    for (Value result : op->getResults())
      if (nn::hasAxis(result.getType(), row))
        result.setType(exchanged(result.getType(), row, spread, window * pieces));
    return sent;
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
    result.setType(exchanged(value.getType(), row, spread, window * pieces));
    return others[value] = result;
  }

  Rows &rows;
  RoundListener marker;
  OpBuilder builder;
  const Location loc;
  const int64_t pieces;
  const bool gathers;
  const StringAttr row, expert;
  const int64_t size;            ///< of the old axis
  int64_t block, length;         ///< experts and rows of a piece
  int64_t rounds = 1, round = 0; ///< their number, and the current one
  int64_t window;                ///< rows of a piece that a round has
  StringAttr spread, local;
  nn::AtAttr at;
  Value first, last;        ///< of all experts: the old row with which its rows begin, and that after them
  Value ownBegins, ownEnds; ///< the same within its piece
  Value roundEnds;          ///< the same ends within the rows of the round
  Value owner;              ///< of each old row: its piece
  Value old, sources;       ///< of each new row of the round: the old row in its place, and the source
  llvm::DenseMap<Value, Value> placesOfAll, places, others;
};

} // namespace

double worstLoad(Rows &rows, Exchange exchange) { return Spreading(rows, exchange).worstLoad(); }

void spread(Rows &rows, Exchange exchange, PieceAxes &axes) { Spreading(rows, exchange).run(axes); }

void spreadInRounds(Rows &rows, Exchange exchange, int64_t rounds, int64_t number, Operation *anchor, PieceAxes &axes) {
  Spreading(rows, exchange).runInRounds(rounds, number, anchor, axes);
}

} // namespace npar::place
