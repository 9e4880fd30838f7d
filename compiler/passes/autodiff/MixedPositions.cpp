// Follows the uses of a renamed sequence to the dispatches that read it.
#include "compiler/passes/autodiff/MixedPositions.h"

#include "compiler/dialects/nn/ops/Along.h"
#include "compiler/dialects/nn/ops/Counts.h"
#include "compiler/dialects/nn/ops/Experts.h"

namespace npar::compiler {

using namespace mlir;
using namespace nn;

bool mixes(Operation *op, StringAttr axis) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  return shardable &&
         llvm::any_of(shardable.getLoopAxes(), [&](const LoopAxis &loop) { return loop.name == axis && loop.kind != LoopKind::Parallel; });
}

namespace {

class DispatchWalk {
public:
  explicit DispatchWalk(RenameOp rename) : seq(rename.getFromAttr()) { axes.insert(rename.getToAttr()); }

  /// True if only dispatches read the value, directly or through other ops, up to the point where results are over the sequence again.
  bool covers(Value first) {
    SmallVector<Value> open{first};
    while (!open.empty())
      for (Operation *user : open.pop_back_val().getUsers()) {
        auto back = dyn_cast<RenameOp>(user);
        if ((back && back.getToAttr() == seq) || !seen.insert(user).second)
          continue;
        if (!covers(user))
          return false;
        for (Value result : user->getResults())
          if (isRouted(result.getType()))
            open.push_back(result);
      }
    return true;
  }

  AxisSet axes;

private:
  bool isRouted(Type type) const {
    return llvm::any_of(axesOf(type), [&](StringAttr axis) { return axes.contains(axis); });
  }

  bool covers(Operation *op) {
    if (auto rename = dyn_cast<RenameOp>(op)) {
      if (axes.contains(rename.getFromAttr()))
        axes.insert(rename.getToAttr());
    } else if (auto fold = dyn_cast<FoldOp>(op)) {
      axes.insert(fold.getFlatAttr()), axes.insert(fold.getMajorAttr());
    } else if (auto queue = dyn_cast<QueueOp>(op)) {
      if (!queue.getSorted())
        return false;
    } else if (auto locate = dyn_cast<LocateOp>(op)) {
      axes.insert(locate.getAlongAttr());
    } else if (auto dispatch = dyn_cast<DispatchOp>(op)) {
      axes.insert(dispatch.getRowAttr());
    } else if (auto gather = dyn_cast<GatherOp>(op); gather && axes.contains(gather.getAxisAttr())) {
      if (!gather.getIdx().getDefiningOp<LocateOp>()) // else it finds the entry of each row
        return false;
    } else if (!isa<CollectOp, GroupedOp, CountBelowOp>(op) && llvm::any_of(axes, [&](StringAttr axis) { return mixes(op, axis); })) {
      return false;
    }
    return llvm::none_of(op->getResultTypes(), [&](Type type) { return hasAxis(type, seq) && isRouted(type); });
  }

  StringAttr seq;
  llvm::SmallPtrSet<Operation *, 32> seen;
};

} // namespace

AxisSet axesOfDispatch(RenameOp rename) {
  DispatchWalk walk(rename);
  return walk.covers(rename.getResult()) ? std::move(walk.axes) : AxisSet();
}

} // namespace npar::compiler
