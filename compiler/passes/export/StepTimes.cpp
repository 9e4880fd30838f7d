// Translates steps to the cost model's terms.
#include "compiler/passes/export/StepTimes.h"

#include "compiler/dialects/nn/base/Axes.h"
#include "compiler/dialects/nn/ops/ExistingRows.h"
#include "compiler/dialects/nn/ops/Experts.h"
#include "compiler/passes/export/ProgramTables.h"

#include <algorithm>

using namespace mlir;

namespace npar::compiler {

/// The part of a value that exists: `filled` if it has an axis of spread rows.
static double partOf(Type type, double filled) { return llvm::any_of(nn::axesOf(type), nn::isOfSpreadRows) ? filled : 1; }

/// The number of elements that the kernel reads from an operand for an element that it makes, if it looks up all of them: a combination
/// adds up all choices of a position.
static double lookUps(BlockArgument operand) {
  double most = 1;
  for (Operation *user : operand.getUsers())
    if (auto collect = dyn_cast<nn::CollectOp>(user); collect && collect.getSlot())
      most = std::max(most, double(nn::sizeOf(collect.getPlace().getType(), collect.getSlot())));
  return most;
}

cost::Operation operationOf(rank::KernelOp kernel) {
  cost::Operation operation;
  double filled = kernel.getFilled().convertToDouble();
  operation.operations = kernel.getFlops().convertToDouble() * filled;
  double largest = 0, made = 0;
  auto take = [&](Type type, double bytes) {
    operation.bytes += bytes;
    std::optional<program::ElementType> element = elementTypeOf(type);
    if (element && bytes > largest)
      largest = bytes, operation.type = *element;
  };
  for (Operation &op : kernel.getBody().front())
    operation.functions += nn::functionsOf(&op) * (op.getNumResults() ? partOf(op.getResult(0).getType(), filled) : 1);
  for (Type type : kernel.getResultTypes()) {
    double bytes = static_cast<double>(storageBytes(type)) * partOf(type, filled);
    take(type, bytes);
    made = std::max(made, bytes);
  }
  for (BlockArgument operand : kernel.getBody().front().getArguments()) {
    bool isLookedInto = llvm::all_of(operand.getUses(), [](OpOperand &use) {
      auto asked = dyn_cast<nn::KernelOpInterface>(use.getOwner());
      return asked && asked.readsElsewhere(use.getOperandNumber());
    });
    double bytes = static_cast<double>(storageBytes(operand.getType())), part = partOf(operand.getType(), filled);
    take(operand.getType(), isLookedInto ? std::min(bytes, made * lookUps(operand)) : bytes * part);
  }
  return operation;
}

cost::Operation operationOf(rank::MatmulOp matmul, program::ElementType type) {
  cost::Operation operation;
  double filled = matmul.getFilled().convertToDouble();
  operation.work = cost::Work::Product;
  operation.type = type;
  operation.tf32 = matmul.getTf32();
  operation.operations = matmul.getFlops();
  operation.m = double(matmul.getM()), operation.n = double(matmul.getN()), operation.k = double(matmul.getK());
  double a = double(storageBytes(matmul.getLhs().getType())), b = double(storageBytes(matmul.getRhs().getType())),
         made = double(storageBytes(matmul.getResult().getType())) * (matmul.getAccumulator() ? 2 : 1);
  switch (matmul.getGrouping()) {
  case program::Grouping::None:
    break;
  case program::Grouping::Rows:
    operation.m *= filled / double(matmul.getBatch().back());
    a *= filled, made *= filled;
    break;
  case program::Grouping::Depth: // one sum over the rows of all samples
    operation.k *= filled * double(matmul.getBatch().front()) / double(matmul.getBatch().back());
    a *= filled, b *= filled;
    break;
  }
  operation.bytes = a + b + made;
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
