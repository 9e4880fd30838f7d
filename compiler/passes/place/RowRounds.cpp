// Follows rows from op to op, and what they need of other ops.
#include "compiler/passes/place/RowRounds.h"

#include "compiler/Coded.h"
#include "compiler/dialects/nn/ops/Experts.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace npar::place {

std::vector<SmallVector<Operation *>> connectedRows(ArrayRef<Operation *> ops, StringAttr row) {
  llvm::EquivalenceClasses<Operation *> classes;
  for (Operation *op : ops)
    classes.insert(op);
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (Operation *definition = operand.getDefiningOp();
          definition && nn::hasAxis(operand.getType(), row) && classes.contains(definition))
        classes.unionSets(op, definition);
  llvm::MapVector<Operation *, SmallVector<Operation *>> groups;
  for (Operation *op : ops)
    groups[classes.getLeaderValue(op)].push_back(op);
  std::vector<SmallVector<Operation *>> result;
  for (auto &[leader, group] : groups)
    result.push_back(std::move(group));
  return result;
}

static InFlightDiagnostic refused(Operation *op, const char *why) {
  InFlightDiagnostic error = op->emitError(why) << dsl::Code::M10;
  error.attachNote(op->getLoc()) << "help: remove `experts buffer` from the plan";
  return error;
}

/// Moves what the ops use of others, and what that needs, before `anchor`.
static LogicalResult moveOperands(ArrayRef<Operation *> ops, Operation *anchor) {
  llvm::SmallPtrSet<Operation *, 16> own(ops.begin(), ops.end()), seen;
  SmallVector<Operation *> open(ops), late;
  while (!open.empty()) {
    Operation *user = open.pop_back_val();
    for (Value operand : user->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (!definition || (own.contains(user) && own.contains(definition) && !isa<nn::CollectOp>(definition)))
        continue;
      if (own.contains(definition)) {
        InFlightDiagnostic error =
            refused(user, "rows of experts depend here on what other rows of the same choice become: a buffer for some "
                          "of the rows at a time needs all of these first");
        error.attachNote(definition->getLoc()) << "the other rows are combined here";
        return error;
      }
      if (definition != anchor && anchor->isBeforeInBlock(definition) && seen.insert(definition).second) {
        late.push_back(definition);
        open.push_back(definition);
      }
    }
  }
  llvm::sort(late, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : late)
    op->moveBefore(anchor);
  return success();
}

FailureOr<Operation *> prepareRounds(ArrayRef<Operation *> ops) {
  Operation *anchor = nullptr;
  for (Operation *op : ops) {
    bool isCollect = isa<nn::CollectOp>(op);
    if (!anchor && isCollect)
      anchor = op;
    if (!isCollect &&
        (op->getNumResults() == 0 || llvm::any_of(op->getUsers(), [&](Operation *user) { return !llvm::is_contained(ops, user); })))
      return refused(op, "rows of experts that come in rounds can only be combined, and this uses them in another way");
  }
  if (!anchor)
    anchor = ops.back();
  if (failed(moveOperands(ops, anchor)))
    return failure();
  return anchor;
}

} // namespace npar::place
