// schedule-repeat: what elementwise ops make of values that are kept anyway is made again in the backward instead of kept. It is what the
// min-cut partitioner of PyTorch's AOTAutograd finds where only what costs next to nothing may be made again.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/passes/schedule/OpCost.h"
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/Stages.h"
#include "compiler/passes/schedule/WeightOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace npar::compiler {

#define GEN_PASS_DEF_SCHEDULEREPEAT
#include "compiler/passes/schedule/Passes.h.inc"

namespace {

int64_t partOf(Operation *op) { return attributes::partPlace.get(op).value_or(0); }

int64_t blockOf(Operation *op) { return nn::getAt(op) ? nn::getAt(op).getBlock() : -1; }

/// Returns whether each element of the result depends only on the same elements of the operands, and computing it costs little compared
/// with reading and writing them. A select counts as cheap: it is a view of its operand, or a copy.
bool isCheap(Operation *op) {
  if (isa<nn::SelectOp>(op))
    return true;
  auto kernel = dyn_cast<nn::KernelOpInterface>(op);
  if (!kernel || !isa<nn::LowerableOpInterface>(op) || !isPure(op) || op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      kernel.getEffort() == nn::Effort::Much || kernel.getNest() != nn::Nest::Shared)
    return false;
  Type result = op->getResult(0).getType();
  return llvm::none_of(op->getOpOperands(), [&](OpOperand &use) { return kernel.readsElsewhere(use.getOperandNumber()); }) &&
         llvm::all_of(kernel.getLoopOrder(), [&](StringAttr axis) { return nn::hasAxis(result, axis); });
}

class Repeater {
public:
  void run(func::FuncOp micro) {
    SmallVector<Operation *> backward;
    for (Operation &op : micro.front().without_terminator())
      if (isBackward(&op) && !isRepeated(&op)) {
        backward.push_back(&op);
        for (Value operand : op.getOperands())
          need(operand, partOf(&op));
      }
    for (Operation &op : micro.front().without_terminator())
      if (!isBackward(&op) && !isRepeated(&op))
        for (Value result : op.getResults())
          needWhole(result, partOf(&op));
    for (Operation &op : micro.front().without_terminator())
      if (!isBackward(&op) && isCheap(&op) &&
          llvm::all_of(op.getOperands(), [&](Value operand) { return isThere(operand, partOf(&op), blockOf(&op)); }))
        makeable.insert(&op);
    for (Operation *op : backward) {
      OpBuilder builder(op);
      for (OpOperand &use : op->getOpOperands())
        use.set(again(builder, use.get(), partOf(op)));
    }
  }

private:
  using Needed = std::pair<Value, int64_t>; ///< a value of the forward and the part whose backward needs it

  void need(Value value, int64_t part) {
    Operation *definition = value.getDefiningOp();
    if (isRepeated(definition))
      for (Value operand : definition->getOperands())
        need(operand, part);
    else if (!isBackward(definition))
      needed.insert({value, part});
  }

  /// If all parts of a value are needed, the value itself is: so q, k and v of a joint projection are views of one kept tensor, not copies.
  void needWhole(Value value, int64_t part) {
    double bytes = 0;
    llvm::SmallDenseSet<std::pair<StringAttr, int64_t>> parts;
    for (Operation *user : value.getUsers())
      if (auto select = dyn_cast<nn::SelectOp>(user); select && needed.contains({select.getResult(), part}) && partOf(select) == part &&
                                                      parts.insert({select.getAxisAttr(), select.getIndex()}).second)
        bytes += tensorBytes(select.getType());
    if (bytes > 0 && bytes >= tensorBytes(value.getType()))
      needed.insert({value, part});
  }

  /// If one of two needed values can be computed from the other, only the other is kept. Values computed by another part are always kept.
  bool isKept(Value value, int64_t part) const {
    Operation *definition = value.getDefiningOp();
    return needed.contains({value, part}) && !(partOf(definition) == part && makeable.contains(definition));
  }

  /// Returns whether the backward of a part has a value or can compute it within the block; a chain of sums through all blocks is not
  /// repeated.
  bool isThere(Value value, int64_t part, int64_t block) const {
    Operation *definition = value.getDefiningOp();
    if (isRepeated(definition))
      return llvm::all_of(definition->getOperands(), [&](Value operand) { return isThere(operand, part, block); });
    return isKept(value, part) || (partOf(definition) == part && blockOf(definition) == block && makeable.contains(definition));
  }

  /// The value for the backward of a part: the kept one, or a copy computed before the insertion point of `builder`.
  Value again(OpBuilder &builder, Value value, int64_t part) {
    Operation *definition = value.getDefiningOp();
    if (isBackward(definition) || (!isRepeated(definition) && isKept(value, part)))
      return value;
    if (Value copy = copies.lookup({value, part}))
      return copy;
    SmallVector<Value> operands;
    for (Value operand : definition->getOperands())
      operands.push_back(again(builder, operand, part));
    if (isRepeated(definition) && llvm::equal(operands, definition->getOperands()))
      return value;
    Operation *copy = builder.clone(*definition);
    copy->setOperands(operands);
    nn::AtAttr at = nn::getAt(definition);
    nn::setAt(copy, nn::Phase::Backward, at.getPath(), at.getBlock());
    for (auto [from, to] : llvm::zip(definition->getResults(), copy->getResults()))
      copies[{from, part}] = to;
    return copies.lookup({value, part});
  }

  llvm::DenseSet<Needed> needed;
  llvm::DenseSet<Operation *> makeable; ///< forward ops whose result the backward of their part can make
  llvm::DenseMap<Needed, Value> copies;
};

struct ScheduleRepeat : impl::ScheduleRepeatBase<ScheduleRepeat> {
  void runOnOperation() override {
    if (auto micro = getOperation().lookupSymbol<func::FuncOp>("micro"))
      Repeater().run(micro);
  }
};

} // namespace

std::unique_ptr<Pass> createScheduleRepeatPass() { return std::make_unique<ScheduleRepeat>(); }

} // namespace npar::compiler
