// verify-pipe: the facts RULES.md#V1 to V8 of a scheduled module.
#include "compiler/cost/Timeline.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/pipe/Pipe.h"
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/Stages.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>

using namespace mlir;
using namespace npar::pipe;

namespace npar::compiler {

#define GEN_PASS_DEF_VERIFYPIPE
#include "compiler/passes/schedule/Passes.h.inc"

namespace {

class Verification {
public:
  explicit Verification(ModuleOp module) : module(module), symbols(module), forwardOnly(isForwardOnly(module)) {}

  LogicalResult run() {
    auto programs = llvm::to_vector(module.getOps<ProgramOp>());
    if (programs.size() != 1)
      return module.emitError("V1: there are ") << programs.size() << " pipe.program operations; there must be one";
    program = programs.front();
    checkFragments();
    checkEvents();
    checkSlots();
    checkOrders();
    if (good)
      checkProgress();
    return success(good);
  }

private:
  InFlightDiagnostic refuse(Operation *op) {
    good = false;
    return op->emitError();
  }

  bool stageExists(Operation *op, int64_t stage) {
    if (stage < program.getStages())
      return true;
    refuse(op) << "V1: there is no stage " << stage << "; there are " << program.getStages();
    return false;
  }

  /// C, F, B and W by the place of their part, S and U by their stage.
  static int64_t whereOf(FragmentOp fragment) { return fragment.isPerMicro() ? fragment.placeInChain() : fragment.getStage(); }

  std::string owner(Phase phase, int64_t where) {
    bool chunks = static_cast<int64_t>(stageOfPlace.size()) > program.getStages();
    return (phase == Phase::Prologue || phase == Phase::Update || !chunks ? "stage " : "part ") + std::to_string(where);
  }

  void checkFragments() {
    stageOfPlace = program.getStageOfPlace();
    for (FragmentOp fragment : module.getOps<FragmentOp>()) {
      if (!stageExists(fragment, fragment.getStage()))
        continue;
      int64_t where = whereOf(fragment);
      if (fragment.isPerMicro() && where >= static_cast<int64_t>(stageOfPlace.size())) {
        refuse(fragment) << "V1: there is no part " << where << "; there are " << stageOfPlace.size();
        continue;
      }
      if (fragment.isPerMicro() && stageOfPlace[where] != fragment.getStage())
        refuse(fragment) << "V1: '" << fragment.getSymName() << "' is on stage " << fragment.getStage() << ", but part " << where
                         << " is on stage " << stageOfPlace[where];
      auto [other, added] = fragments.try_emplace({where, fragment.getPhase()}, fragment);
      if (!added)
        refuse(fragment) << "V1: " << owner(fragment.getPhase(), where) << " has two fragments of phase " << wordOf(fragment.getPhase())
                         << ": '" << other->second.getSymName() << "' and '" << fragment.getSymName() << "'";
    }
    for (int64_t place = 0; place < static_cast<int64_t>(stageOfPlace.size()); ++place)
      for (Phase phase : {Phase::Forward, Phase::Backward})
        if (!fragments.count({place, phase}) && !(forwardOnly && phase == Phase::Backward))
          refuse(program) << "V1: " << owner(phase, place) << " has no fragment of phase " << wordOf(phase);
    for (auto &[where, fragment] : fragments)
      if (forwardOnly && where.second != Phase::Forward)
        refuse(fragment) << "V1: '" << fragment.getSymName() << "' is of phase " << wordOf(where.second)
                         << ", which a forward-only program does not have";
    for (int64_t stage = 0; stage < program.getStages() && !forwardOnly; ++stage)
      if (!fragments.count({stage, Phase::Update}))
        refuse(program) << "V1: " << owner(Phase::Update, stage) << " has no fragment of phase U";
  }

  void checkEvents() {
    llvm::MapVector<int64_t, std::pair<SendOp, RecvOp>> events;
    for (FragmentOp fragment : module.getOps<FragmentOp>())
      for (Operation &op : fragment.getBody().getOps()) {
        if (auto send = dyn_cast<SendOp>(op)) {
          if (auto &end = events[send.getEvent()].first; end)
            refuse(send) << "V2: event " << send.getEvent() << " is sent twice";
          else
            end = send;
        }
        if (auto recv = dyn_cast<RecvOp>(op)) {
          if (auto &end = events[recv.getEvent()].second; end)
            refuse(recv) << "V2: event " << recv.getEvent() << " is received twice";
          else
            end = recv;
        }
      }
    for (auto &[event, ends] : events)
      checkEnds(event, ends.first, ends.second);
  }

  void checkEnds(int64_t event, SendOp send, RecvOp recv) {
    if (!send || !recv) {
      refuse(send ? send.getOperation() : recv.getOperation()) << "V2: event " << event << " is never " << (send ? "received" : "sent");
      return;
    }
    auto source = cast<FragmentOp>(send->getParentOp()), target = cast<FragmentOp>(recv->getParentOp());
    if (send.getTo() != target.getStage() || recv.getFrom() != source.getStage())
      refuse(send) << "V2: event " << event << " goes from stage " << source.getStage() << " to " << send.getTo()
                   << " but is received on stage " << target.getStage() << " from " << recv.getFrom();
    if (source.getPhase() != target.getPhase())
      refuse(send) << "V2: event " << event << " is sent in phase " << wordOf(source.getPhase()) << " and received in phase "
                   << wordOf(target.getPhase());
    if (send.getValue().getType() != recv.getType())
      refuse(send) << "V2: event " << event << " is sent as " << send.getValue().getType() << " and received as " << recv.getType();
  }

  void checkSlots() {
    for (FragmentOp fragment : module.getOps<FragmentOp>())
      for (auto stash : fragment.getBody().getOps<StashOp>())
        if (!stashes.try_emplace({fragment.getStage(), stash.getSlot()}, stash).second)
          refuse(stash) << "V3: slot '" << stash.getSlot() << "' is stashed twice";
    std::set<std::pair<int64_t, StringRef>> taken;
    for (FragmentOp fragment : module.getOps<FragmentOp>())
      for (auto unstash : fragment.getBody().getOps<UnstashOp>()) {
        std::pair<int64_t, StringRef> key{fragment.getStage(), unstash.getSlot()};
        taken.insert(key);
        auto found = stashes.find(key);
        if (found == stashes.end())
          refuse(unstash) << "V3: slot '" << unstash.getSlot() << "' is never stashed";
        else if (found->second.getValue().getType() != unstash.getType())
          refuse(unstash) << "V3: slot '" << unstash.getSlot() << "' is stashed as " << found->second.getValue().getType()
                          << " and unstashed as " << unstash.getType();
        else if (found->second->getParentOp() == fragment)
          refuse(unstash) << "V3: slot '" << unstash.getSlot() << "' is stashed and unstashed in the same fragment";
      }
    for (auto &[key, stash] : stashes)
      if (!taken.count(key))
        refuse(stash) << "V3: slot '" << key.second << "' is never unstashed";
  }

  void checkOrders() {
    for (OrderOp order : module.getOps<OrderOp>()) {
      if (!stageExists(order, order.getStage()))
        continue;
      if (!orders.try_emplace(order.getStage(), order).second)
        refuse(order) << "V4: stage " << order.getStage() << " has two orders";
      else
        checkOrder(order);
    }
    for (int64_t stage = 0; stage < program.getStages(); ++stage)
      if (!orders.count(stage))
        refuse(program) << "V4: stage " << stage << " has no order";
  }

  void checkOrder(OrderOp order) {
    std::map<std::pair<StringRef, int64_t>, int> seen;
    StringRef last;
    for (TaskName task : order.getTaskNames()) {
      auto fragment = symbols.lookup<FragmentOp>(task.fragment);
      if (!fragment || fragment.getStage() != order.getStage()) {
        refuse(order) << "V4: stage " << order.getStage() << " has no fragment '" << task.fragment << "'";
        continue;
      }
      if (fragment.isPerMicro() != task.perMicro || task.micro >= program.getMicroCount())
        refuse(order) << "V4: '" << task.fragment << "' " << (fragment.isPerMicro() ? "runs once for each of " : "runs once, not for ")
                      << program.getMicroCount() << " micro-batches";
      if (seen[{task.fragment, task.micro}]++)
        refuse(order) << "V4: the task of '" << task.fragment << "' for micro-batch " << task.micro << " appears twice";
      last = task.fragment;
    }
    for (auto &[where, fragment] : fragments) {
      if (fragment.getStage() != order.getStage())
        continue;
      for (int64_t micro = 0; micro < (fragment.isPerMicro() ? program.getMicroCount() : 1); ++micro)
        if (!seen.count({fragment.getSymName(), micro}))
          refuse(order) << "V4: the task of '" << fragment.getSymName() << "' for micro-batch " << micro << " is missing";
    }
    auto update = symbols.lookup<FragmentOp>(last);
    if (update && update.isPerMicro() && !forwardOnly)
      refuse(order) << "V4: the update comes before '" << last << "'";
    checkAscending(order);
    checkPrologue(order);
    checkOverlaps(order);
  }

  /// Every C, then S, then all else: what S makes of the counts is read from the first forward on.
  void checkPrologue(OrderOp order) {
    std::optional<std::pair<int, StringRef>> furthest;
    for (auto [text, task] : llvm::zip(order.getTasks().getAsValueRange<StringAttr>(), order.getTaskNames())) {
      auto fragment = symbols.lookup<FragmentOp>(task.fragment);
      if (!fragment)
        continue;
      int turn = fragment.getPhase() == Phase::Count ? 0 : fragment.getPhase() == Phase::Prologue ? 1 : 2;
      if (furthest && turn < furthest->first)
        refuse(order) << "V7: '" << text << "' of the prologue comes after '" << furthest->second << "'";
      else
        furthest = {turn, text};
    }
  }

  /// Two tasks that run at the same time do not wait for each other.
  void checkOverlaps(OrderOp order) {
    TaskName before;
    auto isBackward = [&](TaskName task) {
      auto fragment = symbols.lookup<FragmentOp>(task.fragment);
      return fragment && fragment.getPhase() == Phase::Backward;
    };
    auto isForward = [&](TaskName task) {
      auto fragment = symbols.lookup<FragmentOp>(task.fragment);
      return fragment && fragment.getPhase() == Phase::Forward;
    };
    for (auto [text, task] : llvm::zip(order.getTasks().getAsValueRange<StringAttr>(), order.getTaskNames())) {
      bool fits = before.perMicro && !before.overlaps && before.micro != task.micro &&
                  ((isForward(before) && isBackward(task)) || (isBackward(before) && isForward(task)));
      if (task.overlaps && !fits)
        refuse(order) << "V8: '" << text << "' must follow a task that it can overlap: one is a forward, the other a backward of another "
                      << "micro-batch, and no third task overlaps them";
      before = task;
    }
  }

  /// Sums over micro-batches have the same bits under every schedule.
  void checkAscending(OrderOp order) {
    llvm::StringSet<> accumulating;
    for (FragmentOp fragment : module.getOps<FragmentOp>())
      if (fragment.getStage() == order.getStage() && !fragment.getBody().getOps<nn::AccumulateOp>().empty())
        accumulating.insert(fragment.getSymName());
    llvm::StringMap<int64_t> last;
    for (TaskName task : order.getTaskNames()) {
      if (!task.perMicro || !accumulating.contains(task.fragment))
        continue;
      auto [before, first] = last.try_emplace(task.fragment, task.micro);
      if (!first && before->second > task.micro)
        refuse(order) << "V6: '" << task.fragment << "' accumulates micro-batch " << task.micro << " after " << before->second
                      << ": sums must be in ascending order of micro-batches";
      before->second = task.micro;
    }
  }

  /// Updates exchange values inside, with both sides under way: they are not part of this.
  void checkProgress() {
    cost::TaskGraph graph;
    llvm::DenseMap<Operation *, int> kinds;
    llvm::DenseMap<int64_t, Operation *> receivers; // of events
    for (auto &[where, fragment] : fragments) {
      kinds.try_emplace(fragment, static_cast<int>(kinds.size()));
      for (auto recv : fragment.getBody().getOps<RecvOp>())
        receivers[recv.getEvent()] = fragment;
    }
    graph.kinds.resize(kinds.size());
    auto after = [&](Operation *later, Operation *earlier) { graph.edges.push_back({kinds.lookup(earlier), kinds.lookup(later), 0}); };
    for (auto &[where, fragment] : fragments) {
      if (!fragment.isPerMicro())
        continue;
      if (fragment.getPhase() == Phase::Backward || fragment.getPhase() == Phase::Weight)
        after(fragment, fragments[{where.first, fragment.getPhase() == Phase::Backward ? Phase::Forward : Phase::Backward}]);
      for (auto send : fragment.getBody().getOps<SendOp>())
        after(receivers.lookup(send.getEvent()), fragment);
      for (auto unstash : fragment.getBody().getOps<UnstashOp>())
        after(fragment, stashes.find({fragment.getStage(), unstash.getSlot()})->second->getParentOp());
    }
    for (auto &[stage, order] : orders) {
      graph.lanes.emplace_back();
      for (TaskName task : order.getTaskNames())
        if (task.perMicro)
          graph.lanes.back().push_back({kinds.lookup(symbols.lookup<FragmentOp>(task.fragment)), static_cast<int>(task.micro)});
    }
    cost::Timeline timeline = cost::simulate(graph);
    for (auto &[stage, order] : orders)
      if (size_t place = timeline.stuck[stage]; place < graph.lanes[stage].size())
        refuse(order) << "V5: task " << order.getTasks()[place] << " never starts: what it needs is ordered after it";
  }

  ModuleOp module;
  SymbolTable symbols;
  bool forwardOnly;
  ProgramOp program;
  SmallVector<int64_t> stageOfPlace;
  std::map<std::pair<int64_t, Phase>, FragmentOp> fragments; ///< by place, U by stage
  std::map<std::pair<int64_t, StringRef>, StashOp> stashes;  ///< by stage and slot
  std::map<int64_t, OrderOp> orders;
  bool good = true;
};

struct VerifyPipe : impl::VerifyPipeBase<VerifyPipe> {
  using VerifyPipeBase::VerifyPipeBase;

  void runOnOperation() override {
    if (failed(Verification(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyPipePass() { return std::make_unique<VerifyPipe>(); }

} // namespace npar::compiler
