// Starts gathering the stored pieces of a block's parameters one block before they are used, so that this runs beside that block's work.
#include "compiler/dialects/dist/Dist.h"
#include "compiler/passes/place/Layouts.h"
#include "compiler/passes/place/Place.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"

namespace npar {
#define GEN_PASS_DEF_PLACEPREFETCH
#include "compiler/passes/place/Passes.h.inc"
} // namespace npar

using namespace mlir;

namespace npar::place {
namespace {

struct PlacePrefetch : impl::PlacePrefetchBase<PlacePrefetch> {
  using Group = std::pair<nn::Phase, int64_t>; ///< phase and block

  void runOnOperation() override {
    Operation *micro = getOperation().lookupSymbol("micro");
    if (!micro || micro->getNumRegions() != 1 || micro->getRegion(0).empty())
      return;
    llvm::MapVector<Group, Operation *> begins; // in program order; what is moved is no beginning
    SmallVector<dist::AllGatherOp> gathers;
    for (Operation &op : micro->getRegion(0).front()) {
      if (auto gather = dyn_cast<dist::AllGatherOp>(op); gather && readOf(gather))
        gathers.push_back(gather);
      else if (auto at = nn::getAt(&op); at && !isa<nn::ReadOp>(op))
        begins.try_emplace({at.getPhase(), at.getBlock()}, &op);
    }
    for (dist::AllGatherOp gather : gathers)
      if (auto at = nn::getAt(gather))
        if (Operation *begin = previousOf({at.getPhase(), at.getBlock()}, begins))
          moveBefore(gather, begin);
  }

  /// The read of a parameter that is gathered from flat pieces.
  static nn::ReadOp readOf(dist::AllGatherOp gather) {
    return dist::layoutOf(gather.getInput()).isFlat() ? gather.getInput().getDefiningOp<nn::ReadOp>() : nn::ReadOp();
  }

  /// Where the block before begins in the same phase; null for the first.
  static Operation *previousOf(Group group, const llvm::MapVector<Group, Operation *> &begins) {
    Operation *previous = nullptr;
    for (auto [other, begin] : begins) {
      if (other == group)
        return previous;
      if (other.first == group.first)
        previous = begin;
    }
    return nullptr;
  }

  static void moveBefore(dist::AllGatherOp gather, Operation *begin) {
    nn::ReadOp read = readOf(gather);
    if (begin->isBeforeInBlock(read))
      read->moveBefore(begin);
    gather->moveBefore(begin);
  }
};

} // namespace
} // namespace npar::place

std::unique_ptr<mlir::Pass> npar::createPlacePrefetchPass() { return std::make_unique<place::PlacePrefetch>(); }
