// Translates ops to the cost model's terms.
#include "compiler/passes/schedule/OpCost.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace npar {

double tensorBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? static_cast<double>(tensor.getNumElements()) * tensor.getElementTypeBitWidth() / 8 : 0;
}

static double bytesOfAll(TypeRange types) {
  double bytes = 0;
  for (Type type : types)
    bytes += tensorBytes(type);
  return bytes;
}

/// The whole vector of the cost model's terms.
static Type wholeOf(dist::CollectiveOpInterface op) {
  switch (op.getCollective()) {
  case program::CollectiveKind::AllGather:
    return op->getResult(0).getType();
  case program::CollectiveKind::AllReduce:
  case program::CollectiveKind::ReduceScatter:
  case program::CollectiveKind::AllToAll:
  case program::CollectiveKind::Permute:
    break;
  }
  return op->getOperand(0).getType();
}

double opSeconds(Operation *op, const cost::Machine &machine, dist::MeshAttr mesh) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<dist::CollectiveOpInterface>([&](auto op) {
        return cost::collectiveSeconds(machine, op.getCollective(), tensorBytes(wholeOf(op)), mesh.sizeOf(dist::stringsOf(op.getAxes())));
      })
      .Case<nn::CostOpInterface>([&](auto op) {
        if (op.getProductFlops() > 0)
          return cost::stepSeconds(machine, cost::Work::Matmul, op.getFlops(),
                                   bytesOfAll(op->getOperandTypes()) + bytesOfAll(op->getResultTypes()));
        return op->getNumOperands() == 0 ? 0
                                         : cost::stepSeconds(machine, cost::Work::Vector, op.getFlops(), bytesOfAll(op->getResultTypes()));
      })
      .Default([](Operation *) { return 0.0; });
}

} // namespace npar
