// One function per way to hang a pipeline; where such a hang was reported, it is named.
#include "tests/engine/program/BadPrograms.h"

#include "tests/engine/program/Mutation.h"

#include <algorithm>

namespace npar::program {
namespace {

constexpr const char *transfers = "sends and receives match", *collectives = "collectives agree", *deadlock = "no deadlock";

/// A step with its class: where a fault is made.
struct Spot {
  ProgramT &program;
  uint32_t rankClass;
  CommunicationRef step;
  Spot(ProgramT &program, uint32_t rankClass, const char *label, uint32_t micro = 0)
      : program(program), rankClass(rankClass), step(*findStep(program, rankClass, label, micro)) {}
  RankClassT &owner() const { return *program.classes[rankClass]; }
  std::string text() const { return textOf(program, rankClass, step); }
  size_t place() const { return placeOf(owner(), step); }
  void moveBefore(const Spot &other) const { program::moveBefore(owner(), step, other.step); }
  /// The step in a fragment of its task alone.
  Step &alone() const { return owner().fragments[isolateTask(owner(), step.task())]->steps[step.step()]; }
};

// Stage 0 sends micro-batch 1 before 0, stage 1 receives 0 before 1.
std::optional<BadProgram> swappedSends(PipelineShape shape) {
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  Spot second(bad.program, 0, "send act", 1), first(bad.program, 0, "send act", 0);
  if (second.place() < first.place()) // messages of one pair may pass each other, as long as both ends agree
    std::swap(second.step, first.step);
  second.moveBefore(first);
  bad.texts = {second.text(), "which comes first in this rank's order of communication"};
  bad.classes = {0};
  return bad;
}

std::optional<BadProgram> swappedReceives(PipelineShape shape) {
  uint32_t last = shape.stages - 1;
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  Spot second(bad.program, last, "recv act", 1), first(bad.program, last, "recv act", 0);
  if (second.place() < first.place()) // messages of one pair may pass each other, as long as both ends agree
    std::swap(second.step, first.step);
  second.moveBefore(first);
  bad.texts = {second.text()};
  bad.classes = {last};
  return bad;
}

// pytorch#172668: in the steady state of 1F1B both neighbours send (an activation down, a gradient up) before they receive.
std::optional<BadProgram> bothSendFirst(PipelineShape shape) {
  uint32_t stage = shape.stages > shape.micros ? shape.stages - shape.micros : 0, micro = shape.stages - stage - 1;
  if (micro == 0)
    return std::nullopt;
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  Spot sendAct(bad.program, stage, "send act", micro), recvGrad(bad.program, stage, "recv grad", 0);
  Spot sendGrad(bad.program, stage + 1, "send grad", 0), recvAct(bad.program, stage + 1, "recv act", micro);
  if (sendAct.place() > recvGrad.place())
    sendAct.moveBefore(recvGrad);
  if (sendGrad.place() > recvAct.place())
    sendGrad.moveBefore(recvAct);
  bad.texts = {sendAct.text(), recvGrad.text(), sendGrad.text(), recvAct.text()};
  bad.classes = {stage, stage + 1};
  bad.steps = 2;
  return bad;
}

// Stage 0 wants the gradient of a micro-batch before it sends the activation that the gradient is made of.
std::optional<BadProgram> receivesFirst(PipelineShape shape) {
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  Spot recvGrad(bad.program, 0, "recv grad"), sendAct(bad.program, 0, "send act");
  recvGrad.moveBefore(sendAct);
  bad.texts = {recvGrad.text(), sendAct.text()};
  bad.classes = {0};
  return bad;
}

// A middle rank sends on what it has yet to receive.
std::optional<BadProgram> sendsBeforeItReceives(PipelineShape shape) {
  if (shape.stages < 3)
    return std::nullopt;
  shape.tpReductions = false; // between the two
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  Spot sendAct(bad.program, 1, "send act"), recvAct(bad.program, 1, "recv act");
  sendAct.moveBefore(recvAct);
  bad.texts = {sendAct.text(), recvAct.text()};
  bad.classes = {1};
  return bad;
}

// One stage reduces over two groups in the other order than the rest.
std::optional<BadProgram> crossedCollectives(PipelineShape shape) {
  shape.groups = true, shape.norm = false;
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  uint32_t stage = shape.stages / 2;
  Spot first(bad.program, stage, "reduce pp"), second(bad.program, stage, "reduce dp pp");
  std::swap(first.owner().communication_order[first.place()], first.owner().communication_order[second.place()]);
  bad.texts = {first.text(), second.text(), "a member of its group"};
  bad.classes = {stage};
  bad.steps = 2;
  return bad;
}

std::optional<BadProgram> missingMember(PipelineShape shape) {
  uint32_t stage = shape.stages - 1;
  BadProgram bad{goodPipeline(shape), collectives, {}};
  Spot norm(bad.program, stage, "norm");
  removeStep(norm.owner(), norm.owner().tasks[norm.step.task()].fragment(), norm.step.step());
  bad.texts = {"\"norm\" waits for stage" + std::to_string(stage), "never joins event 4"};
  return bad;
}

// Megatron-LM PR#5240: each rank makes the communicator to its next rank first, then the one from the rank before: a cycle of all.
std::optional<BadProgram> lazilyOrderedPairs(PipelineShape shape) {
  shape.ring = true;
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  for (uint32_t stage = 0; stage < shape.stages; ++stage) {
    Spot sends(bad.program, stage, "send ring"), receives(bad.program, stage, "recv ring");
    if (sends.place() > receives.place())
      sends.moveBefore(receives);
    bad.texts.push_back(sends.text());
    bad.texts.push_back(receives.text());
    bad.classes.push_back(stage);
  }
  bad.steps = shape.stages;
  return bad;
}

std::optional<BadProgram> unequalCounts(PipelineShape shape) {
  BadProgram bad{goodPipeline(shape), transfers, {}};
  Spot recvAct(bad.program, 1, "recv act");
  Step &step = recvAct.alone();
  step.mutate_payload(addTransfer(bad.program, 1, 0, 1000, 8));
  FragmentT &fragment = *recvAct.owner().fragments.back();
  const Operand old = fragment.operands[step.first_operand()];
  fragment.operands[step.first_operand()] = Operand(old.region(), 0, old.offset(), 32);
  bad.texts = {"sends 16 f32", "receives 8 f32"};
  return bad;
}

std::optional<BadProgram> unequalCollectiveCounts(PipelineShape shape) {
  BadProgram bad{goodPipeline(shape), collectives, {}};
  Spot norm(bad.program, shape.stages / 2, "norm");
  Step &step = norm.alone();
  step.mutate_payload(addAllReduce(bad.program, {0, 1, 2, 3}, 4, 8));
  FragmentT &fragment = *norm.owner().fragments.back();
  for (uint32_t i : {0, 1}) {
    const Operand old = fragment.operands[step.first_operand() + i];
    fragment.operands[step.first_operand() + i] = Operand(old.region(), 0, old.offset(), 32);
  }
  bad.texts = {"disagree: count"};
  return bad;
}

// One receive of one micro-batch is missing.
std::optional<BadProgram> unequalNumbers(PipelineShape shape) {
  BadProgram bad{goodPipeline(shape), transfers, {}};
  Spot recvAct(bad.program, 1, "recv act", shape.micros - 1);
  recvAct.alone();
  removeStep(recvAct.owner(), recvAct.owner().fragments.size() - 1, recvAct.step.step());
  bad.texts = {"\"send act\" has no receive"};
  return bad;
}

std::optional<BadProgram> retaggedEvent(PipelineShape shape) {
  BadProgram bad{goodPipeline(shape), transfers, {}};
  retagStep(bad.program, Spot(bad.program, 1, "recv act", 1).alone(), 4321);
  bad.texts = {"waits for event 4321 of micro-batch 1 from pp = 0, which never sends it"};
  return bad;
}

// A forward runs under the number of another micro-batch.
std::optional<BadProgram> retaggedMicroBatch(PipelineShape shape) {
  uint32_t last = shape.stages - 1;
  BadProgram bad{goodPipeline(shape), transfers, {}};
  Spot recvAct(bad.program, last, "recv act", 1);
  recvAct.alone();
  recvAct.owner().tasks[recvAct.step.task()].mutate_micro(0);
  bad.texts = {"of micro-batch 0 from pp = " + std::to_string(last - 1) + ", which never sends it"};
  return bad;
}

std::optional<BadProgram> memberSkipsOneMicroBatch(PipelineShape shape) {
  shape.cp = 2, shape.dp = 1;
  shape.cpReductions = true;
  BadProgram bad{goodPipeline(shape), collectives, {}};
  Spot exchange(bad.program, 1, "exchange", 1);
  exchange.alone();
  removeStep(exchange.owner(), exchange.owner().fragments.size() - 1, exchange.step.step());
  bad.texts = {"F0:1", "\"exchange\" waits for stage0.1", "never joins event 2"};
  return bad;
}

// One half of a stage exchanges micro-batch 1 before it receives what it makes micro-batch 0 of.
std::optional<BadProgram> exchangeCrossedWithTransfer(PipelineShape shape) {
  shape.cp = 2, shape.dp = 1;
  shape.cpReductions = true;
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  Spot exchange(bad.program, 2, "exchange", 1), recvAct(bad.program, 2, "recv act", 0);
  exchange.moveBefore(recvAct);
  bad.texts = {exchange.text()};
  bad.classes = {2};
  return bad;
}

// Stage 1 posts its first receive before the collective with which the step begins, stage 0 sends after it.
std::optional<BadProgram> collectiveCrossedWithTransfer(PipelineShape shape) {
  shape.count = true;
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  Spot recvAct(bad.program, 1, "recv act"), count(bad.program, 1, "count");
  recvAct.moveBefore(count);
  bad.texts = {recvAct.text(), count.text(), Spot(bad.program, 0, "send act").text()};
  bad.classes = {0, 1};
  return bad;
}

// The last stage joins the reduction of the update before its last gradient is on its way.
std::optional<BadProgram> updateCrossedWithTransfer(PipelineShape shape) {
  uint32_t last = shape.stages - 1;
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  Spot norm(bad.program, last, "norm"), sendGrad(bad.program, last, "send grad", shape.micros - 1);
  norm.moveBefore(sendGrad);
  bad.texts = {norm.text(), "which comes first in this rank's order of communication"};
  bad.classes = {last};
  return bad;
}

// The gradient of the tied weight comes from stage 0, which waits for gradients that the last stage sends after it.
std::optional<BadProgram> tiedCrossedWithTransfer(PipelineShape shape) {
  shape.tied = true;
  uint32_t last = shape.stages - 1;
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  Spot recvTied(bad.program, last, "recv tied"), sendGrad(bad.program, last, "send grad", shape.micros - 1);
  recvTied.moveBefore(sendGrad);
  bad.texts = {recvTied.text(), sendGrad.text(), Spot(bad.program, 0, "send tied").text()};
  for (uint32_t stage = 0; stage < shape.stages; ++stage)
    bad.classes.push_back(stage);
  return bad;
}

// PiPPy#969: stage 2 posts all it wants at once, stage 0 sends the skipping tensor first, stage 1 has yet to compute.
std::optional<BadProgram> skipConnection(PipelineShape shape) {
  if (shape.stages < 3)
    return std::nullopt;
  shape.skips = {{0, 2}};
  BadProgram bad{goodPipeline(shape), deadlock, {}};
  Spot sendSkip(bad.program, 0, "send skip"), sendAct(bad.program, 0, "send act");
  Spot recvSkip(bad.program, 2, "recv skip"), recvAct(bad.program, 2, "recv act");
  if (sendSkip.place() > sendAct.place())
    sendSkip.moveBefore(sendAct);
  if (recvAct.place() > recvSkip.place())
    recvAct.moveBefore(recvSkip);
  bad.texts = {sendSkip.text(), sendAct.text(), recvSkip.text(), recvAct.text(), Spot(bad.program, 1, "recv act").text()};
  bad.classes = {0, 1, 2};
  return bad;
}

// Boxes of one slot, and stage 1 takes micro-batch 1 before 0: the second message waits for the memory of the first.
std::optional<BadProgram> cyclicMemoryReuse(PipelineShape shape) {
  shape.slots = 1;
  PipelineOrder order = oneForwardOneBackward(shape);
  std::vector<PipelineTask> &stage = order[1];
  auto forward = [&](uint32_t micro) {
    return std::find_if(stage.begin(), stage.end(), [&](const PipelineTask &task) { return task.phase == 'F' && task.micro == micro; });
  };
  std::swap(*forward(0), *forward(1));
  BadProgram bad{buildPipeline(shape, order), deadlock, {}};
  // Each rank in the order that its memory asks for.
  for (uint32_t index = 0; index < bad.program.classes.size(); ++index)
    for (uint32_t task = 0; task < bad.program.classes[index]->tasks.size(); ++task) {
      const FragmentT &fragment = *bad.program.classes[index]->fragments[bad.program.classes[index]->tasks[task].fragment()];
      for (uint32_t step = 0; step < fragment.steps.size(); ++step)
        if (StepKind kind = fragment.steps[step].kind();
            kind == StepKind::Send || kind == StepKind::Receive || kind == StepKind::Collective)
          bad.program.classes[index]->communication_order.emplace_back(task, step);
    }
  bad.texts = {Spot(bad.program, 1, "recv act", 1).text(), Spot(bad.program, 1, "recv act", 0).text(), "whose memory it uses again"};
  bad.classes = {0, 1};
  bad.anyOrder = true;
  return bad;
}

} // namespace

const std::vector<BadFamily> &badFamilies() {
  static const std::vector<BadFamily> families = {{"swapped sends", swappedSends},
                                                  {"swapped receives", swappedReceives},
                                                  {"both ranks send first (pytorch#172668)", bothSendFirst},
                                                  {"receives before it sends", receivesFirst},
                                                  {"sends before it receives", sendsBeforeItReceives},
                                                  {"crossed collectives of two groups", crossedCollectives},
                                                  {"missing member", missingMember},
                                                  {"lazily ordered pairs (Megatron-LM PR#5240)", lazilyOrderedPairs},
                                                  {"unequal counts of a transfer", unequalCounts},
                                                  {"unequal counts of a collective", unequalCollectiveCounts},
                                                  {"unequal numbers of sends and receives", unequalNumbers},
                                                  {"retagged event", retaggedEvent},
                                                  {"retagged micro-batch", retaggedMicroBatch},
                                                  {"a member skips one micro-batch", memberSkipsOneMicroBatch},
                                                  {"exchange crossed with a transfer", exchangeCrossedWithTransfer},
                                                  {"collective crossed with a transfer", collectiveCrossedWithTransfer},
                                                  {"update crossed with a transfer", updateCrossedWithTransfer},
                                                  {"tied weight crossed with a transfer", tiedCrossedWithTransfer},
                                                  {"skip connection (PiPPy#969)", skipConnection},
                                                  {"cyclic memory reuse", cyclicMemoryReuse}};
  return families;
}

} // namespace npar::program
