// Each op of the prologue goes to the fragment of its own part or stage.
#include "compiler/passes/schedule/PrologueFragments.h"
#include "compiler/attributes/ModuleAttributes.h"

using namespace mlir;
using namespace npar::pipe;

namespace npar {

LogicalResult outlinePrologue(func::FuncOp function, Phase phase, Fragments &fragments) {
  for (Operation &op : function.getBody().front().without_terminator()) {
    int64_t part = attributes::partPlace.get(&op).value_or(0);
    FragmentKey place{phase == Phase::Count ? part : fragments.stageOf({part, Phase::Count}), phase};
    if (!fragments.at(place))
      return op.emitError("the prologue counts nothing on stage ") << fragments.stageOf(place);
    for (Value operand : op.getOperands())
      if (!fragments.lookup(place, operand)) {
        InFlightDiagnostic error = op.emitError("the prologue uses a value of another stage or part");
        error.attachNote(operand.getLoc()) << "the value is defined here";
        return error;
      }
    fragments.clone(&op, place);
  }
  return success();
}

} // namespace npar
