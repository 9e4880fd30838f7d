// verify-pipe: the facts V1 to V5 of a scheduled module.
#include "compiler/cost/Timeline.h"
#include "compiler/dialects/pipe/Pipe.h"
#include "compiler/passes/schedule/Schedule.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;
using namespace npar::pipe;

namespace npar {

#define GEN_PASS_DEF_VERIFYPIPE
#include "compiler/passes/schedule/Passes.h.inc"

namespace {

class Verification {
public:
  explicit Verification(ModuleOp module) : module(module) {}

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

  void checkFragments() {
    for (FragmentOp fragment : module.getOps<FragmentOp>()) {
      if (!stageExists(fragment, fragment.getStage()))
        continue;
      auto [other, added] = fragments.try_emplace({fragment.getStage(), fragment.getPhase()}, fragment);
      if (!added)
        refuse(fragment) << "V1: stage " << fragment.getStage() << " has two fragments of phase " << stringifyPhase(fragment.getPhase())
                         << ": '" << other->second.getSymName() << "' and '" << fragment.getSymName() << "'";
    }
    for (int64_t stage = 0; stage < program.getStages(); ++stage)
      for (Phase phase : {Phase::F, Phase::B, Phase::U})
        if (!fragments.count({stage, phase}))
          refuse(program) << "V1: stage " << stage << " has no fragment of phase " << stringifyPhase(phase);
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
      refuse(send) << "V2: event " << event << " is sent in phase " << stringifyPhase(source.getPhase()) << " and received in phase "
                   << stringifyPhase(target.getPhase());
    if (send.getValue().getType() != recv.getType())
      refuse(send) << "V2: event " << event << " is sent as " << send.getValue().getType() << " and received as " << recv.getType();
  }

  void checkSlots() {
    for (int64_t stage = 0; stage < program.getStages(); ++stage) {
      auto forward = fragments.find({stage, Phase::F}), backward = fragments.find({stage, Phase::B});
      if (forward == fragments.end() || backward == fragments.end())
        continue;
      llvm::StringMap<StashOp> stashes;
      llvm::StringMap<bool> taken;
      for (auto stash : forward->second.getBody().getOps<StashOp>())
        if (!stashes.try_emplace(stash.getSlot(), stash).second)
          refuse(stash) << "V3: slot '" << stash.getSlot() << "' is stashed twice";
      for (auto unstash : backward->second.getBody().getOps<UnstashOp>()) {
        StashOp stash = stashes.lookup(unstash.getSlot());
        if (!stash)
          refuse(unstash) << "V3: slot '" << unstash.getSlot() << "' is never stashed";
        else if (stash.getValue().getType() != unstash.getType())
          refuse(unstash) << "V3: slot '" << unstash.getSlot() << "' is stashed as " << stash.getValue().getType() << " and unstashed as "
                          << unstash.getType();
        taken[unstash.getSlot()] = true;
      }
      for (auto stash : forward->second.getBody().getOps<StashOp>())
        if (!taken.count(stash.getSlot()))
          refuse(stash) << "V3: slot '" << stash.getSlot() << "' is never unstashed";
    }
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
      auto fragment = module.lookupSymbol<FragmentOp>(task.fragment);
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
    for (Phase phase : {Phase::F, Phase::B, Phase::U}) {
      auto fragment = fragments.find({order.getStage(), phase});
      for (int64_t micro = 0; fragment != fragments.end() && micro < (phase == Phase::U ? 1 : program.getMicroCount()); ++micro)
        if (!seen.count({fragment->second.getSymName(), micro}))
          refuse(order) << "V4: the task of '" << fragment->second.getSymName() << "' for micro-batch " << micro << " is missing";
    }
    auto update = module.lookupSymbol<FragmentOp>(last);
    if (update && update.isPerMicro())
      refuse(order) << "V4: the update comes before '" << last << "'";
  }

  /// Updates exchange values inside, with both sides under way: they are not part of this.
  void checkProgress() {
    cost::TaskGraph graph;
    auto kind = [&](FragmentOp fragment) { return static_cast<int>(fragment.getStage() * 2 + static_cast<int>(fragment.getPhase())); };
    graph.kinds.resize(program.getStages() * 2);
    for (auto &[place, fragment] : fragments) {
      if (!fragment.isPerMicro())
        continue;
      if (fragment.getPhase() == Phase::B)
        graph.edges.push_back({kind(fragment) - 1, kind(fragment), 0});
      for (auto send : fragment.getBody().getOps<SendOp>())
        graph.edges.push_back({kind(fragment), kind(fragments[{send.getTo(), fragment.getPhase()}]), 0});
    }
    for (auto &[stage, order] : orders) {
      graph.lanes.emplace_back();
      for (TaskName task : order.getTaskNames())
        if (task.perMicro)
          graph.lanes.back().push_back({kind(module.lookupSymbol<FragmentOp>(task.fragment)), static_cast<int>(task.micro)});
    }
    cost::Timeline timeline = cost::simulate(graph);
    for (auto &[stage, order] : orders)
      if (size_t place = timeline.stuck[stage]; place < graph.lanes[stage].size())
        refuse(order) << "V5: task " << order.getTasks()[place] << " never starts: what it needs is ordered behind it";
  }

  ModuleOp module;
  ProgramOp program;
  std::map<std::pair<int64_t, Phase>, FragmentOp> fragments;
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

} // namespace npar
