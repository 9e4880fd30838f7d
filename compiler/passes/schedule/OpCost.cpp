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

double opSeconds(Operation *op, const cost::Machine &machine, dist::MeshAttr mesh) {
  auto collective = [&](cost::CollectiveKind kind, ArrayAttr axes, Type whole) {
    return cost::collectiveSeconds(machine, kind, tensorBytes(whole), mesh.sizeOf(dist::stringsOf(axes)));
  };
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<dist::AllReduceOp>([&](auto op) { return collective(cost::CollectiveKind::AllReduce, op.getAxes(), op.getInput().getType()); })
      .Case<dist::AllGatherOp>([&](auto op) { return collective(cost::CollectiveKind::AllGather, op.getAxes(), op.getResult().getType()); })
      .Case<dist::ReduceScatterOp>(
          [&](auto op) { return collective(cost::CollectiveKind::ReduceScatter, op.getAxes(), op.getInput().getType()); })
      .Case<dist::AllToAllOp>([&](auto op) { return collective(cost::CollectiveKind::AllToAll, op.getAxes(), op.getInput().getType()); })
      .Case<dist::PermuteOp>([&](auto op) { return collective(cost::CollectiveKind::Permute, op.getAxes(), op.getInput().getType()); })
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
