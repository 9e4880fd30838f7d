// First finds how each value comes to every fragment that needs it, then copies the ops in their order, with the moves after definitions.
#include "compiler/passes/schedule/MicroFragments.h"

#include "compiler/Coded.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/passes/schedule/WeightOps.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace npar::pipe;

namespace npar::compiler {

namespace {

class MicroOutliner {
public:
  explicit MicroOutliner(Fragments &fragments) : fragments(fragments), slots(fragments.stages(), 0) {}

  LogicalResult run(func::FuncOp micro) {
    for (Operation &op : micro.getOps())
      if (!isMadeAgain(&op))
        for (Value operand : op.getOperands())
          if (failed(need(operand, placeOf(&op), &op)))
            return failure();
    for (Operation &op : micro.getOps()) {
      if (isMadeAgain(&op) || op.hasTrait<OpTrait::IsTerminator>())
        continue;
      copy(&op, placeOf(&op));
      for (Value result : op.getResults())
        moveOn(result);
    }
    return success();
  }

private:
  /// Returns whether fragments make a value again instead of receiving it.
  static bool isMadeAgain(Operation *op) { return isRepeated(op) && !attributes::sentInput.isOn(op); }

  using Key = std::pair<Value, unsigned>; ///< a value and the number of a fragment

  /// The source of a value in a fragment: kept by an earlier one of the stage, or sent by one of the same phase on another stage.
  struct Arrival {
    FragmentKey from;
    bool kept;
  };

  FragmentKey placeOf(Operation *op) {
    int64_t part = attributes::partPlace.get(op).value_or(0);
    nn::AtAttr at = nn::getAt(op);
    if (!at || at.getPhase() != nn::Phase::Backward)
      return {part, Phase::Forward};
    return {part, attributes::weightGradient.isOn(op) && fragments.isSplit(part) ? Phase::Weight : Phase::Backward};
  }

  /// Returns whether, for each micro-batch, the task of `a` ends before that of `b` begins, regardless of their places in the chain.
  static bool precedes(FragmentKey a, FragmentKey b) {
    if (a.phase == b.phase)
      return a.phase == Phase::Forward ? a.at < b.at : a.phase == Phase::Backward && a.at > b.at;
    return a.phase == Phase::Forward || (a.phase == Phase::Backward && b.phase == Phase::Weight && a.at >= b.at);
  }

  LogicalResult need(Value value, FragmentKey place, Operation *user) {
    Operation *definition = value.getDefiningOp();
    if (isMadeAgain(definition)) {
      for (Value operand : definition->getOperands())
        if (failed(need(operand, place, user)))
          return failure();
      return success();
    }
    FragmentKey home = placeOf(definition);
    if (home == place)
      return success();
    auto refuse = [&](const char *what) {
      InFlightDiagnostic error = user->emitError(what) << dsl::Code::I1;
      error << ": part " << place.at << " needs a value of part " << home.at;
      error.attachNote(definition->getLoc()) << "the value is defined here";
      return error;
    };
    if (home.phase == Phase::Weight)
      return refuse("a value of the weight gradients is used outside of them");
    if (home.phase == Phase::Backward && place.phase == Phase::Forward)
      return refuse("the forward uses a value of the backward");
    if (home.phase == Phase::Forward && place.phase == Phase::Forward && home.at > place.at)
      return refuse("a value flows to an earlier part in the forward");
    if (home.phase == Phase::Backward && home.at < place.at)
      return readOfTotal(user->getParentOfType<func::FuncOp>()) ? refuseLate(user, definition) : refuse("a gradient flows to a later part");
    route(value, home, place);
    return success();
  }

  static LogicalResult refuseLate(Operation *user, Operation *definition) {
    InFlightDiagnostic error =
        user->emitError(
            "a later stage needs what is computed from a sum over all samples of a step, which is known only in the backward pass")
        << dsl::Code::N12;
    error.attachNote(definition->getLoc()) << "the value is defined here";
    error.attachNote(user->getLoc())
        << "help: stages can add terms to the same loss if it is a plain sum of them without a condition; otherwise "
           "make 'micro' large enough for a single micro-batch";
    return error;
  }

  /// Along the stage where it has the value already; else by a message in the phase that flows that way, and then along the stage.
  void route(Value value, FragmentKey home, FragmentKey place) {
    if (home == place || arrivals.count({value, fragments.number(place)}))
      return;
    SmallVector<FragmentKey> &here = holders.try_emplace({value, fragments.stageOf(place)}).first->second;
    if (fragments.stageOf(home) == fragments.stageOf(place) && here.empty())
      here.push_back(home);
    for (FragmentKey holder : here)
      if (precedes(holder, place))
        return arrive(value, place, {holder, true});
    bool isMessage =
        place.phase == Phase::Forward || (place.phase == Phase::Backward && (home.phase == Phase::Backward || place.at < home.at));
    FragmentKey from = isMessage
                           ? FragmentKey{home.at, place.phase}
                           : FragmentKey{place.at, home.phase == Phase::Forward && place.at > home.at ? Phase::Forward : Phase::Backward};
    route(value, home, from);
    arrive(value, place, {from, !isMessage});
    if (isMessage) {
      holders[{value, fragments.stageOf(place)}].push_back(place);
      if (from == home)
        receivers[value].push_back(place);
    }
  }

  void arrive(Value value, FragmentKey place, Arrival arrival) {
    arrivals.try_emplace({value, fragments.number(place)}, arrival);
    if (arrival.kept)
      kept.insert({value, fragments.number(arrival.from)});
  }

  /// Copies an op with the operands that it repeats or that come from elsewhere.
  void copy(Operation *op, FragmentKey place) {
    for (Value operand : op->getOperands())
      provide(operand, place);
    fragments.clone(op, place);
  }

  void provide(Value value, FragmentKey place) {
    if (fragments.lookup(place, value))
      return;
    Operation *definition = value.getDefiningOp();
    if (isMadeAgain(definition))
      return copy(definition, place);
    Arrival arrival = arrivals.find({value, fragments.number(place)})->second;
    provide(value, arrival.from);
    if (!arrival.kept)
      return send(value, arrival.from, place);
    OpBuilder builder = fragments.end(place);
    std::string &slot = slotOf[{value, fragments.number(arrival.from)}];
    fragments.map(place, value, UnstashOp::create(builder, definition->getLoc(), value.getType(), slot));
  }

  void send(Value value, FragmentKey from, FragmentKey to) {
    fragments.transfer(value, from, to, value.getLoc());
    stash(value, to);
  }

  /// Stashes a value at `place` if later fragments of the stage take it from there.
  void stash(Value value, FragmentKey place) {
    Key key{value, fragments.number(place)};
    if (!kept.contains(key))
      return;
    std::string &slot = slotOf[key] = "s" + std::to_string(slots[fragments.stageOf(place)]++);
    OpBuilder builder = fragments.end(place);
    StashOp::create(builder, value.getLoc(), fragments.lookup(place, value), slot);
  }

  /// Called after the definition of a value: sends it where it is needed, and keeps it.
  void moveOn(Value value) {
    FragmentKey home = placeOf(value.getDefiningOp());
    SmallVector<FragmentKey> to = receivers.lookup(value);
    llvm::sort(to, [](FragmentKey a, FragmentKey b) { return a.at < b.at; });
    for (FragmentKey place : to)
      send(value, home, place);
    stash(value, home);
  }

  Fragments &fragments;
  llvm::DenseMap<Key, Arrival> arrivals;
  llvm::DenseMap<std::pair<Value, int64_t>, SmallVector<FragmentKey>> holders; ///< fragments of a stage that define or receive the value
  llvm::DenseMap<Value, SmallVector<FragmentKey>> receivers;                   ///< fragments that receive it from the one that defines it
  llvm::DenseSet<Key> kept;                                                    ///< values that these fragments keep for later ones
  llvm::DenseMap<Key, std::string> slotOf;
  SmallVector<int64_t> slots; ///< so far, per stage
};

} // namespace

LogicalResult outlineMicro(func::FuncOp micro, Fragments &fragments) { return MicroOutliner(fragments).run(micro); }

} // namespace npar::compiler
