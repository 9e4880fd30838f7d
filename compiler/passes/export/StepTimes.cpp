// Translates steps to the cost model's terms.
#include "compiler/passes/export/StepTimes.h"

#include "compiler/dialects/nn/base/Axes.h"
#include "compiler/passes/export/ProgramTables.h"

#include <algorithm>

using namespace mlir;

namespace npar::compiler {

cost::Operation operationOf(rank::KernelOp kernel) {
  cost::Operation operation;
  operation.operations = kernel.getFlops().convertToDouble();
  double largest = 0, made = 0;
  auto take = [&](Type type, double bytes) {
    operation.bytes += bytes;
    std::optional<program::ElementType> element = elementTypeOf(type);
    if (element && bytes > largest)
      largest = bytes, operation.type = *element;
  };
  for (Operation &op : kernel.getBody().front())
    operation.functions += nn::functionsOf(&op);
  for (Type type : kernel.getResultTypes()) {
    take(type, static_cast<double>(storageBytes(type)));
    made = std::max(made, static_cast<double>(storageBytes(type)));
  }
  for (BlockArgument operand : kernel.getBody().front().getArguments()) {
    bool isLookedInto = llvm::all_of(operand.getUses(), [](OpOperand &use) {
      auto asked = dyn_cast<nn::KernelOpInterface>(use.getOwner());
      return asked && asked.readsElsewhere(use.getOperandNumber());
    });
    double bytes = static_cast<double>(storageBytes(operand.getType()));
    take(operand.getType(), isLookedInto ? std::min(bytes, made) : bytes);
  }
  return operation;
}

void setDuration(memory::Action &action, const std::vector<cost::Machine> &machines, const cost::Operation &operation) {
  action.seconds = 0;
  for (const cost::Machine &machine : machines)
    if (cost::Duration duration = cost::stepDuration(machine, operation); duration.seconds >= action.seconds) {
      action.seconds = duration.seconds;
      action.cores = duration.cores;
    }
}

cost::Operation movedBytes(uint64_t bytes) { return {cost::Work::Move, program::ElementType::F32, double(bytes), 0, 0, 0, 0, 0}; }

} // namespace npar::compiler
