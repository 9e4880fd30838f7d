// First finds where each value is needed besides its own fragment, then copies the ops in their order, with the moves behind definitions.
#include "compiler/passes/schedule/MicroFragments.h"

using namespace mlir;
using namespace npar::pipe;

namespace npar {

namespace {

/// Repeated in every fragment that uses it: costs nothing, or less than keeping or moving the value.
bool isRepeated(Operation *op) {
  if (isa<nn::ReadOp, nn::InputOp, nn::IndexOp, nn::FillOp, nn::RenameOp>(op))
    return true;
  if (!isa<dist::SliceOp>(op))
    return false;
  Operation *source = op->getOperand(0).getDefiningOp();
  return source && isRepeated(source);
}

class MicroOutliner {
public:
  explicit MicroOutliner(Fragments &fragments) : fragments(fragments), slots(fragments.stages(), 0) {}

  LogicalResult run(func::FuncOp micro) {
    for (Operation &op : micro.getOps())
      if (!isRepeated(&op))
        for (Value operand : op.getOperands())
          if (failed(need(operand, placeOf(&op), &op)))
            return failure();
    for (Operation &op : micro.getOps()) {
      if (isRepeated(&op) || op.hasTrait<OpTrait::IsTerminator>())
        continue;
      copy(&op, placeOf(&op));
      for (Value result : op.getResults())
        moveOn(result);
    }
    return success();
  }

private:
  /// What a value must do after its definition.
  struct Moves {
    SmallVector<int64_t> forward;  ///< stages that need it in phase F
    SmallVector<int64_t> backward; ///< stages that need it in phase B
  };

  static Place placeOf(Operation *op) {
    auto stage = op->getAttrOfType<IntegerAttr>(stageAttribute);
    nn::AtAttr at = nn::getAt(op);
    return {stage ? stage.getInt() : 0, at && at.getPhase() == nn::Phase::B ? Phase::B : Phase::F};
  }

  static void addOnce(SmallVector<int64_t> &stages, int64_t stage) {
    if (!llvm::is_contained(stages, stage))
      stages.push_back(stage);
  }

  LogicalResult need(Value value, Place place, Operation *user) {
    Operation *definition = value.getDefiningOp();
    if (isRepeated(definition)) {
      for (Value operand : definition->getOperands())
        if (failed(need(operand, place, user)))
          return failure();
      return success();
    }
    Place home = placeOf(definition);
    if (home == place)
      return success();
    auto refuse = [&](const char *what) {
      InFlightDiagnostic error = user->emitError(what);
      error << ": stage " << place.stage << " needs a value of stage " << home.stage;
      error.attachNote(definition->getLoc()) << "the value is defined here";
      return error;
    };
    if (home.phase == Phase::B && place.phase == Phase::F)
      return refuse("the forward uses a value of the backward");
    if (home.phase == Phase::F && place.phase == Phase::F && home.stage > place.stage)
      return refuse("a value flows to an earlier stage in the forward");
    if (home.phase == Phase::B && place.phase == Phase::B && home.stage < place.stage)
      return refuse("a gradient flows to a later stage");
    addOnce(place.phase == Phase::F ? moves[value].forward : moves[value].backward, place.stage);
    return success();
  }

  /// Copies an op with the operands that it repeats or takes from the stash.
  void copy(Operation *op, Place place) {
    for (Value operand : op->getOperands())
      provide(operand, place);
    fragments.clone(op, place);
  }

  void provide(Value value, Place place) {
    if (fragments.lookup(place, value))
      return;
    Operation *definition = value.getDefiningOp();
    if (isRepeated(definition))
      return copy(definition, place);
    auto slot = stashed.find({value, place.stage});
    if (slot == stashed.end()) {
      // A value of a later stage's forward: that stage has stashed it and its backward, which comes first, passes it on.
      Place home{placeOf(definition).stage, Phase::B};
      provide(value, home);
      return fragments.transfer(value, home, place.stage, definition->getLoc());
    }
    OpBuilder builder = fragments.end(place);
    fragments.map(place, value, UnstashOp::create(builder, definition->getLoc(), value.getType(), slot->second));
  }

  void stash(Value value, int64_t stage, Location location) {
    auto [slot, added] = stashed.try_emplace({value, stage});
    if (!added)
      return;
    slot->second = "s" + std::to_string(slots[stage]++);
    Place place{stage, Phase::F};
    OpBuilder builder = fragments.end(place);
    StashOp::create(builder, location, fragments.lookup(place, value), slot->second);
  }

  /// Behind the definition of a value: sends it where it is needed, and stashes it where the backward needs it.
  void moveOn(Value value) {
    auto found = moves.find(value);
    if (found == moves.end())
      return;
    Location location = value.getLoc();
    Place home = placeOf(value.getDefiningOp());
    Moves &move = found->second;
    llvm::sort(move.forward);
    llvm::sort(move.backward);
    if (home.phase == Phase::B) {
      for (int64_t stage : move.backward)
        fragments.transfer(value, home, stage, location);
      return;
    }
    SmallVector<int64_t> receivers = move.forward;
    for (int64_t stage : move.backward)
      if (stage > home.stage)
        addOnce(receivers, stage);
    for (int64_t stage : receivers)
      fragments.transfer(value, home, stage, location);
    for (int64_t stage : move.backward)
      stash(value, std::max(stage, home.stage), location);
  }

  Fragments &fragments;
  llvm::DenseMap<Value, Moves> moves;
  llvm::DenseMap<std::pair<Value, int64_t>, std::string> stashed; ///< slot of a value on a stage
  SmallVector<int64_t> slots;                                     ///< per stage
};

} // namespace

LogicalResult outlineMicro(func::FuncOp micro, Fragments &fragments) { return MicroOutliner(fragments).run(micro); }

} // namespace npar
