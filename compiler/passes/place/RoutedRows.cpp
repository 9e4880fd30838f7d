// Follows the rows of each routing from their dispatch to the products with experts.
#include "compiler/passes/place/RoutedRows.h"

#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/Experts.h"
#include "compiler/passes/place/Layouts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <utility>

using namespace mlir;

namespace npar::place {
namespace {

/// The value before it was moved.
Value unmoved(Value value) {
  while (auto reshard = value.getDefiningOp<dist::ReshardOp>())
    value = reshard.getInput();
  return value;
}

class Account {
public:
  std::vector<attributes::RoutingEntry> run(func::FuncOp micro) {
    for (Operation &op : micro.getOps()) {
      if (phaseOf(&op) != nn::Phase::Forward) {
        addMadeAgain(&op);
        continue;
      }
      if (auto dispatch = dyn_cast<nn::DispatchOp>(op))
        begin(dispatch);
      if (entries.empty())
        continue;
      if (auto product = dyn_cast<nn::GroupedOp>(op))
        add(product);
      for (Value result : op.getResults())
        if (!nn::isOperandItself(&op) && isOfRows(result) && isKept(result))
          entries.back().kept += nn::bytesOf(result.getType());
    }
    llvm::erase_if(entries, [](const attributes::RoutingEntry &entry) { return entry.experts == 0; });
    for (attributes::RoutingEntry &entry : entries)
      entry.filled /= double(entry.rounds), entry.rows *= entry.rounds;
    return std::move(entries);
  }

private:
  /// A dispatch of other sources than before begins a routing, or another round of it.
  void begin(nn::DispatchOp dispatch) {
    Value source = unmoved(dispatch.getSource());
    if (source == last)
      return;
    last = source;
    DenseI64ArrayAttr round = attributes::round.get(dispatch);
    isRoundBegun = true;
    if (round && round[1] > 0) {
      ++entries.back().rounds;
      return;
    }
    if (round)
      entryOf[round[0]] = entries.size();
    else
      rowAxes.clear();
    rowAxes.insert(dispatch.getRow());
    attributes::RoutingEntry entry;
    entry.path = nn::getAt(dispatch).getPath().str();
    entry.choices = dispatch.getSlot() ? nn::sizeOf(dispatch.getPlace().getType(), dispatch.getSlot()) : 1;
    first = dispatch;
    entries.push_back(entry);
  }

  /// The first product tells how the ranks share the experts, that of a further round how many rows there are if the load is balanced.
  void add(nn::GroupedOp product) {
    attributes::RoutingEntry &entry = entries.back();
    rowAxes.insert(product.getRow());
    if (!std::exchange(isRoundBegun, false))
      return;
    double filled = product.getFilled().convertToDouble();
    if (entry.experts > 0) {
      entry.filled += filled;
      if (entry.way == "all_to_all")
        entry.sent += int64_t(double(nn::bytesOf(product.getRows().getType())) * filled);
      return;
    }
    dist::LayoutAttr layout = dist::layoutOf(product.getWeights());
    entry.experts = layout.getSizes()[layout.dimOf(product.getAxisAttr())];
    entry.ranks = product.getPieces();
    entry.filled = filled;
    entry.rows = 1;
    Type rows = product.getRows().getType();
    for (StringAttr axis : dist::layoutOf(product.getRows()).getNames())
      if (axis == product.getRowAttr() || nn::hasAxis(product.getFirst().getType(), axis))
        entry.rows *= nn::sizeOf(rows, axis);
    entry.way = "whole";
    if (entry.ranks == 1)
      return;
    if (first.getRowAttr() != product.getRowAttr()) {
      entry.way = "all_to_all";
      entry.sent = int64_t(double(nn::bytesOf(product.getRows().getType())) * filled);
      entry.elsewhere = 1 - 1 / double(entry.ranks);
    } else {
      entry.way = "gather";
      entry.sent = nn::bytesOf(first.getX().getType());
      entry.elsewhere = 1 - double(nn::bytesOf(unmoved(first.getX()).getType())) / double(entry.sent);
    }
  }

  /// Adds values over the rows of a round that its backward makes again and uses.
  void addMadeAgain(Operation *op) {
    DenseI64ArrayAttr round = attributes::round.get(op);
    if (!round || round[1] > 0 || !op->hasAttr(nn::recomputeAttribute) || nn::isOperandItself(op))
      return;
    for (Value result : op->getResults())
      if (isOfRows(result) && isUsedForGradients(result))
        entries[entryOf.lookup(round[0])].buffered += nn::bytesOf(result.getType());
  }

  static bool isUsedForGradients(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      return nn::isOperandItself(user) || isa<dist::ReshardOp>(user) ? isUsedForGradients(user->getResult(0))
                                                                     : !user->hasAttr(nn::recomputeAttribute);
    });
  }

  bool isOfRows(Value value) const {
    dist::LayoutAttr layout = dist::layoutOf(value);
    return layout && isa<FloatType>(getElementTypeOrSelf(value.getType())) &&
           llvm::any_of(layout.getNames(), [&](StringAttr axis) { return rowAxes.contains(axis.getValue()); });
  }

  /// Returns whether the backward uses a value, perhaps under another name.
  static bool isKept(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      return nn::isOperandItself(user) ? isKept(user->getResult(0)) : phaseOf(user) == nn::Phase::Backward;
    });
  }

  std::vector<attributes::RoutingEntry> entries;
  nn::DispatchOp first; ///< of the current routing
  Value last;           ///< its sources
  bool isRoundBegun = false;
  llvm::DenseMap<int64_t, size_t> entryOf; ///< of routings that come in rounds, by their numbers
  llvm::StringSet<> rowAxes;
};

} // namespace

std::vector<attributes::RoutingEntry> routedRows(func::FuncOp micro) { return Account().run(micro); }

} // namespace npar::place
