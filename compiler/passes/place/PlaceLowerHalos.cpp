// Sends between ranks what each dist.halo lacks on its rank.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/dist/Halo.h"
#include "compiler/passes/place/Place.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace npar::place {

#define GEN_PASS_DEF_PLACELOWERHALOS
#include "compiler/passes/place/Passes.h.inc"

namespace {

/// The halo itself becomes a kernel, which rules must not make different.
void dropCause(dist::HaloOp halo) {
  halo.removeCauseAttr();
  attributes::causingRules.remove(halo);
}

void addEdges(dist::HaloOp halo) {
  if (!halo.lacksEdges())
    return dropCause(halo);
  auto x = cast<RankedTensorType>(halo.getInput().getType());
  OpBuilder builder(halo);
  SmallVector<Value> edges;
  for (const dist::Reach::Edge &edge : halo.getReach().edges()) {
    Type type = dist::nearType(x, halo.getOverAttr(), ".edge", dist::stringsOf(halo.getAxes()), edge.width, dist::meshOf(halo));
    auto cut = dist::EdgeOp::create(builder, halo.getLoc(), type, halo.getInput(), halo.getOverAttr(), halo.getAxes(), halo.getStepAttr(),
                                    halo.getFirstAttr(), halo.getSpreadAttr(), builder.getI64IntegerAttr(edge.shift));
    auto sent = dist::PermuteOp::create(builder, halo.getLoc(), type, cut, halo.getAxes(), edge.shift, halo.getCauseAttr());
    attributes::causingRules.copy(halo, sent);
    attributes::at.copy(halo, cut);
    attributes::at.copy(halo, sent);
    edges.push_back(sent);
  }
  halo.getEdgesMutable().assign(edges);
  dropCause(halo);
}

struct PlaceLowerHalos : impl::PlaceLowerHalosBase<PlaceLowerHalos> {
  void runOnOperation() override { getOperation().walk(addEdges); }
};

} // namespace

std::unique_ptr<mlir::Pass> createPlaceLowerHalosPass() { return std::make_unique<PlaceLowerHalos>(); }

} // namespace npar::place
