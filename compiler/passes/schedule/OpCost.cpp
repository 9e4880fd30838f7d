// Translates ops to the cost model's terms.
#include "compiler/passes/schedule/OpCost.h"

#include "compiler/dialects/dist/ModuleMachine.h"
#include "compiler/dialects/nn/base/Axes.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "compiler/dialects/nn/ops/ExistingRows.h"
#include "compiler/dialects/nn/ops/Experts.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace npar::compiler {

double tensorBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? static_cast<double>(tensor.getNumElements()) * tensor.getElementTypeBitWidth() / 8 : 0;
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

/// The type that the op computes with: of its first tensor of floats.
static program::ElementType typeOf(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (isa<FloatType>(getElementTypeOrSelf(type)))
      if (std::optional<program::ElementType> element = nn::elementTypeOf(type))
        return *element;
  return program::ElementType::F32;
}

/// Bytes of the rows that exist: all of a value that has none.
static double existingBytes(TypeRange types, double filled) {
  double bytes = 0;
  for (Type type : types)
    bytes += tensorBytes(type) * (llvm::any_of(nn::axesOf(type), nn::isOfSpreadRows) ? filled : 1);
  return bytes;
}

double opSeconds(Operation *op, const cost::Machine &machine, dist::MeshAttr mesh, double filled) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<dist::CollectiveOpInterface>([&](auto op) {
        auto exchange = dyn_cast<dist::AllToAllOp>(op.getOperation());
        double part = exchange ? exchange.getFilled().convertToDouble() : 1;
        return cost::collectiveSeconds(machine, op.getCollective(), tensorBytes(wholeOf(op)) * part,
                                       dist::spanOf(machine, mesh, dist::stringsOf(op.getAxes())));
      })
      .Case<nn::CostOpInterface>([&](auto op) {
        cost::Operation operation;
        operation.type = typeOf(op);
        operation.operations = op.getFlops();
        if (op.getProductFlops() > 0) {
          bool gradient = isa<nn::AttentionGradOp, nn::RingAttentionGradOp>(op);
          bool isProduct = isa<nn::EinsumOp, nn::GroupedOp, nn::GroupedWeightsOp>(op.getOperation());
          operation.work = isProduct ? cost::Work::Product : gradient ? cost::Work::AttentionGradient : cost::Work::Attention;
          if (auto einsum = dyn_cast<nn::EinsumOp>(op.getOperation()))
            operation.tf32 = einsum.getTf32();
          else if (auto grouped = dyn_cast<nn::GroupedOp>(op.getOperation()))
            operation.tf32 = grouped.getTf32();
        } else if (op->getNumOperands() == 0) {
          return 0.0;
        } else {
          operation.functions = nn::functionsOf(op) * filled;
          operation.operations *= filled;
          operation.bytes = existingBytes(op->getResultTypes(), filled);
        }
        return cost::spreadOverCores(machine, cost::workSeconds(machine, operation)).seconds;
      })
      .Default([](Operation *) { return 0.0; });
}

} // namespace npar::compiler
