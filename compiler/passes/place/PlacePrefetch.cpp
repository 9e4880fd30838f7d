// Starts gathering the stored pieces of a block's parameters one block before they are used, so that it overlaps with that block's work.
#include "compiler/dialects/dist/Dist.h"
#include "compiler/passes/place/Layouts.h"
#include "compiler/passes/place/Place.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace npar::place {

#define GEN_PASS_DEF_PLACEPREFETCH
#include "compiler/passes/place/Passes.h.inc"

namespace {

struct PlacePrefetch : impl::PlacePrefetchBase<PlacePrefetch> {
  using Group = std::pair<nn::Phase, int64_t>; ///< phase and block

  void runOnOperation() override {
    Operation *micro = getOperation().lookupSymbol("micro");
    if (!micro || micro->getNumRegions() != 1 || micro->getRegion(0).empty())
      return;
    llvm::DenseMap<Group, Operation *> previous;   // where the block before begins in the same phase; null for the first
    llvm::DenseMap<nn::Phase, Operation *> latest; // beginning of each phase so far; what is moved is no beginning
    llvm::DenseMap<Operation *, size_t> places;    // of reads and beginnings in the program as it becomes
    SmallVector<dist::AllGatherOp> gathers;
    for (auto [place, op] : llvm::enumerate(micro->getRegion(0).front())) {
      auto at = nn::getAt(&op);
      if (auto gather = dyn_cast<dist::AllGatherOp>(op); gather && gathersParameter(gather)) {
        gathers.push_back(gather);
      } else if (isa<nn::ReadOp>(op)) {
        places[&op] = place;
      } else if (at && previous.try_emplace({at.getPhase(), at.getBlock()}, latest.lookup(at.getPhase())).second) {
        latest[at.getPhase()] = &op;
        places[&op] = place;
      }
    }
    for (dist::AllGatherOp gather : gathers)
      if (auto at = nn::getAt(gather))
        if (Operation *begin = previous.lookup({at.getPhase(), at.getBlock()}))
          moveBefore(gather, begin, places);
  }

  /// The read of a parameter that is gathered from flat pieces; null if they are its second share.
  static nn::ReadOp readOf(dist::AllGatherOp gather) {
    return dist::layoutOf(gather.getInput()).isFlat() ? gather.getInput().getDefiningOp<nn::ReadOp>() : nn::ReadOp();
  }

  /// Returns whether flat pieces of a parameter are gathered: those that it is stored in, or a second share that the forward cut for the
  /// backward.
  static bool gathersParameter(dist::AllGatherOp gather) {
    auto cut = gather.getInput().getDefiningOp<dist::SliceOp>();
    auto whole = cut ? cut.getInput().getDefiningOp<dist::AllGatherOp>() : dist::AllGatherOp();
    return readOf(gather) || (whole && readOf(whole));
  }

  /// Keeps its own numbering `places`, because MLIR would renumber the block's operations after every few moves.
  static void moveBefore(dist::AllGatherOp gather, Operation *begin, llvm::DenseMap<Operation *, size_t> &places) {
    nn::ReadOp read = readOf(gather);
    if (size_t place = places.lookup(begin); read && place < places.lookup(read)) {
      read->moveBefore(begin);
      places[read] = place;
    }
    gather->moveBefore(begin);
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPlacePrefetchPass() { return std::make_unique<PlacePrefetch>(); }

} // namespace npar::place
