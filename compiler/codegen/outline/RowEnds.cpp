// Follows rows from grouped products and from the collectives that move them.
#include "compiler/codegen/outline/RowEnds.h"

#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/ExistingRows.h"
#include "compiler/dialects/nn/ops/Experts.h"

using namespace mlir;

namespace npar::codegen {

/// The axis of routed rows of a tensor; null if it has none or several.
static StringAttr rowOf(Type type) {
  StringAttr row;
  for (StringAttr axis : nn::axesOf(type))
    if (nn::isOfSpreadRows(axis)) {
      if (row)
        return {};
      row = axis;
    }
  return row;
}

static bool isOfFloatRows(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())) && rowOf(value.getType()); }

/// The number of rows of a tensor with one axis of them. It tells rows of one rank or round from those of several, whose axis has the same
/// name.
static int64_t countRows(Value value) { return nn::sizeOf(value.getType(), rowOf(value.getType())); }

//===- Readers of all rows ---------------------------------------------------------------------------------------------------===//

ReadersOfRows::ReadersOfRows(ModuleOp module) {
  module.walk([&](nn::RenameOp rename) {
    if (nn::isOfSpreadRows(rename.getFromAttr()) && nn::isOfSpreadRows(rename.getToAttr()))
      renamed.emplace_back(rename.getFromAttr(), rename.getToAttr());
  });
}

/// Returns whether the op uses an operand's rows where they are, or only those that exist.
bool ReadersOfRows::readsExistingRows(OpOperand &use, StringAttr row) const {
  Operation *op = use.getOwner();
  if (isa<nn::CollectOp>(op) || op->hasTrait<OpTrait::IsTerminator>() || op->getName().getDialectNamespace() == "pipe" ||
      skipping.contains(op))
    return true;
  if (auto rename = dyn_cast<nn::RenameOp>(op); rename && rename.getFromAttr() == row)
    return nn::isOfSpreadRows(rename.getToAttr());
  if (auto product = dyn_cast<rank::MatmulOp>(op); product && !product.getRanges().empty())
    return true;
  if (auto move = dyn_cast<dist::AllToAllOp>(op); move && !move.getEnds().empty())
    return true;
  auto asked = dyn_cast<nn::KernelOpInterface>(op);
  auto select = dyn_cast<nn::SelectOp>(op);
  if (asked && asked.readsElsewhere(use.getOperandNumber()) && !(select && select.getAxisAttr() != row))
    return false;
  return llvm::any_of(op->getResultTypes(), [&](Type type) { return nn::hasAxis(type, row); });
}

llvm::DenseSet<StringAttr> ReadersOfRows::axesThatNeedZeros(ModuleOp module) const {
  llvm::DenseSet<StringAttr> axes;
  module.walk([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands())
      for (StringAttr axis : nn::axesOf(use.get().getType()))
        if (nn::isOfSpreadRows(axis) && !readsExistingRows(use, axis))
          axes.insert(axis);
  });
  for (bool grows = !axes.empty(); grows;) {
    size_t before = axes.size();
    for (auto [from, to] : renamed)
      if (axes.contains(from) || axes.contains(to))
        axes.insert(from), axes.insert(to);
    grows = axes.size() > before;
  }
  return axes;
}

//===- Ends ------------------------------------------------------------------------------------------------------------------===//

RowEnds::RowEnds(Block &block) {
  for (Operation &op : block) {
    if (auto product = dyn_cast<rank::MatmulOp>(op); product && !product.getRanges().empty()) {
      Value last = product.getRanges().back();
      auto operand = llvm::find_if(op.getOpOperands(), [&](OpOperand &use) { return use.get() == last; })->getOperandNumber();
      Source source{&op, operand, int64_t(product.getDepth() ? product.getK() : product.getM())};
      start(product.getLhs(), source);
      start(product.getDepth() ? product.getRhs() : product.getResult(), source);
    } else if (auto move = dyn_cast<dist::AllToAllOp>(op); move && !move.getEnds().empty()) {
      start(move.getInput(), {&op, 1, int64_t(move.getPlaces())});
      start(move.getResult(), {&op, 2, int64_t(move.getPlaces())});
    }
  }
}

void RowEnds::start(Value rows, const Source &source) {
  if (!isOfFloatRows(rows))
    return;
  sources.push_back(source);
  const int64_t count = countRows(rows);
  SmallVector<Value> waiting{rows};
  llvm::DenseSet<Value> seen{rows};
  llvm::DenseSet<Operation *> visited;
  // Several ranks or rounds have other ends: the walk stops where their rows come together, and where some are taken out of them.
  auto isOther = [&](Value value) { return isOfFloatRows(value) && countRows(value) != count; };
  auto makesOthers = [&](Operation *op) {
    bool hasRows = llvm::any_of(op->getResults(), isOfFloatRows);
    return hasRows ? llvm::any_of(op->getResults(), isOther) : llvm::any_of(op->getOperands(), isOther);
  };
  auto add = [&](Value value) {
    if (isOfFloatRows(value) && !isOther(value) && seen.insert(value).second)
      waiting.push_back(value);
  };
  Operation *maker = source.user->getOperand(source.operand).getDefiningOp();
  SmallVector<Operation *> early;
  auto visit = [&](Operation *op) {
    if (isa<rank::MatmulOp, dist::AllToAllOp, nn::CollectOp>(op) || op->hasTrait<OpTrait::IsTerminator>() || makesOthers(op) ||
        !visited.insert(op).second)
      return;
    if (maker && op->isBeforeInBlock(maker))
      early.push_back(op);
    else if (!isa<nn::RenameOp>(op))
      found.try_emplace(op, sources.size() - 1);
    llvm::for_each(op->getOperands(), add);
    llvm::for_each(op->getResults(), add);
  };
  while (!waiting.empty()) {
    Value value = waiting.pop_back_val();
    if (Operation *op = value.getDefiningOp())
      visit(op);
    llvm::for_each(value.getUsers(), visit);
  }
  // Ops before the maker of the ends move after it if their users allow it.
  llvm::sort(early, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *op : early) {
    auto isLater = [&](Operation *user) { return maker->isBeforeInBlock(user); };
    if (!isMemoryEffectFree(op) || !isFusable(op) || found.contains(op) || !llvm::all_of(op->getUsers(), isLater))
      continue;
    op->moveAfter(maker);
    found.try_emplace(op, sources.size() - 1);
  }
}

Value RowEnds::of(Operation *op) const {
  auto entry = found.find(op);
  return entry == found.end() ? Value() : sources[entry->second].user->getOperand(sources[entry->second].operand);
}

rank::ExistingAttr RowEnds::ofKernel(ArrayRef<Operation *> group, ValueRange results, const llvm::DenseSet<StringAttr> &needZeros) const {
  Value ends = results.empty() ? Value() : of(results.front().getDefiningOp());
  if (!ends)
    return {};
  StringAttr row = rowOf(results.front().getType());
  SmallVector<Attribute> axes(nn::axesOf(ends.getType()));
  StringAttr entry;
  for (StringAttr axis : nn::axesOf(ends.getType()))
    if (!nn::hasAxis(results.front().getType(), axis))
      entry = entry ? StringAttr() : axis;
  int64_t places = sources[found.find(results.front().getDefiningOp())->second].places;
  if (!row || !entry || nn::sizeOf(results.front().getType(), row) % places != 0)
    return {};
  auto decides = [&](StringAttr axis) { return axis == row || (axis != entry && nn::hasAxis(ends.getType(), axis)); };
  for (Operation *op : group) {
    OpLoops loops = loopsOf(op);
    bool hasRows =
        llvm::any_of(llvm::concat<const Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())), isOfFloatRows);
    if (loops.alone || llvm::any_of(loops.reduced, decides) || (hasRows && of(op) != ends))
      return {};
  }
  for (Value result : results) {
    if (rowOf(result.getType()) != row)
      return {};
    for (StringAttr axis : nn::axesOf(ends.getType()))
      if (axis != entry && (!nn::hasAxis(result.getType(), axis) || nn::sizeOf(result.getType(), axis) != nn::sizeOf(ends.getType(), axis)))
        return {};
  }
  return rank::ExistingAttr::get(row.getContext(), row, entry, ArrayAttr::get(row.getContext(), axes), places, needZeros.contains(row));
}

bool RowEnds::skipOthers(nn::ScatterAddOp op) const {
  Value ends = of(op);
  Type type = op.getIdx().getType();
  StringAttr row = rowOf(op.getDy().getType()), entry;
  if (!ends || !row || !nn::hasAxis(type, row) || nn::sizeOf(type, row) != sources[found.find(op)->second].places)
    return false;
  SmallVector<StringAttr> samples;
  SmallVector<int64_t> sizes;
  for (StringAttr axis : nn::axesOf(ends.getType())) {
    if (!nn::hasAxis(type, axis) && !entry) {
      entry = axis;
    } else if (nn::hasAxis(type, axis) && nn::sizeOf(type, axis) == nn::sizeOf(ends.getType(), axis)) {
      samples.push_back(axis);
      sizes.push_back(nn::sizeOf(type, axis));
    } else {
      return false;
    }
  }
  if (!entry || nn::axesOf(type).size() != samples.size() + 1)
    return false;
  OpBuilder b(op);
  Location loc = op.getLoc();
  Type i32 = b.getI32Type();
  auto made = [&](auto value) -> Value {
    attributes::at.copy(op, value);
    attributes::round.copy(op, value);
    return value->getResult(0);
  };
  Value last = made(nn::MaxOp::create(b, loc, nn::withAxes(i32, samples, sizes), ends));
  Value place = made(nn::IndexOp::create(b, loc, nn::withAxes(i32, {row}, {nn::sizeOf(type, row)})));
  Value exists = made(nn::CompareOp::create(b, loc, type, place, last, "less"));
  Value none = made(nn::FillOp::create(b, loc, nn::scalarOf(i32), b.getF64FloatAttr(-1)));
  op.getIdxMutable().assign(made(nn::WhereOp::create(b, loc, type, exists, op.getIdx(), none)));
  return true;
}

} // namespace npar::codegen
