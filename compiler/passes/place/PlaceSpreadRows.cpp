// Gives the rows of experts that ranks share a piece for each rank, before gradients are built: a rank then holds the rows of its own
// experts. With a buffer for fewer rows than can come, they come in rounds.
#include "compiler/Coded.h"
#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/passes/place/Place.h"
#include "compiler/passes/place/RowRounds.h"
#include "compiler/passes/place/Rules.h"
#include "compiler/passes/place/SpreadRows.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace npar::place {

#define GEN_PASS_DEF_PLACESPREADROWS
#include "compiler/passes/place/Passes.h.inc"

namespace {

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
    std::optional<attributes::ExpertBufferClause> buffer = attributes::getExpertBuffer(module);
    int64_t number = 0;
    PieceAxes axes;
    for (auto &[source, rows] : all) {
      FailureOr<Exchange> exchange = exchangeOf(rows, rules);
      if (failed(exchange) || rules.hasFailed()) // placing would report the same again
        return signalPassFailure();
      if (!rows.expert)
        continue;
      FailureOr<int64_t> rounds = roundsOf(rows, *exchange, buffer);
      if (failed(rounds) || (*rounds > 1 && failed(runInRounds(rows, *exchange, *rounds, number, axes))))
        return signalPassFailure();
      if (*rounds == 1 && exchange->pieces > 1)
        spread(rows, *exchange, axes);
    }
  }

private:
  static constexpr int64_t mostRounds = 64; ///< each has ops of its own

  static FailureOr<int64_t> roundsOf(Rows &rows, Exchange exchange, const std::optional<attributes::ExpertBufferClause> &buffer) {
    if (!buffer)
      return 1;
    double worst = worstLoad(rows, exchange), rounds = std::max(1.0, std::ceil(worst / buffer->buffer - 1e-9));
    if (rounds <= mostRounds)
      return static_cast<int64_t>(rounds);
    Location loc = buffer->loc ? Location(buffer->loc) : rows.first.getLoc();
    InFlightDiagnostic error = emitError(loc) << dsl::Code::M10;
    error << "a buffer of " << text(buffer->buffer) << " times the rows of a balanced load needs " << text(rounds) << " rounds in layer '"
          << nn::getAt(rows.first).getPath() << "', at most " << mostRounds << " are possible";
    error.attachNote(loc) << "help: reserve at least " << text(std::ceil(worst / mostRounds * 1e4) / 1e4) << " times";
    return failure();
  }

  static std::string text(double number) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%g", number);
    return text;
  }

  /// Rounds go through all ops on rows that meet each other, so that what a round has is gone before the next one.
  static LogicalResult runInRounds(Rows &rows, Exchange exchange, int64_t rounds, int64_t &number, PieceAxes &axes) {
    for (SmallVector<Operation *> &ops : connectedRows(rows.ops, rows.first.getRowAttr())) {
      FailureOr<Operation *> anchor = prepareRounds(ops);
      if (failed(anchor))
        return failure();
      Rows part{std::move(ops), {}, {}, rows.expert, rows.begins, rows.ends};
      part.first = cast<nn::DispatchOp>(*llvm::find_if(part.ops, [](Operation *op) { return isa<nn::DispatchOp>(op); }));
      exchange.gathers |= exchange.pieces == 1;
      spreadInRounds(part, exchange, rounds, number++, *anchor, axes);
    }
    return success();
  }

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
      if (auto product = dyn_cast<nn::GroupedOp>(op)) {
        rows.products.push_back(product);
        if (!rows.expert)
          rows.expert = product.getAxisAttr(), rows.begins = product.getFirst(), rows.ends = product.getLast();
      }
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
        return product.emitError() << dsl::Code::A11 << "rows whose experts are split over " << exchange.pieces
                                   << " ranks meet experts that are split over " << found
                                   << ": give all products of these rows the same rule";
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
