// The table of Legend.h.
#include "engine/show/Legend.h"

#include "engine/program/Steps.h"
#include "engine/program/Words.h"

namespace npar::show {

using program::Phase;

static Look make(Phase phase, const char *fill, const char *ink, Hatch hatch) {
  return {EnumNamePhase(phase), describe(phase), wordOf(phase)[0], runsPerMicro(phase), isWork(phase), fill, ink, hatch};
}

const Look &lookOf(Phase phase) {
  static const Look prologue = make(Phase::Prologue, "#CC79A7", "#000000", Hatch::None),
                    count = make(Phase::Count, "#CC79A7", "#000000", Hatch::Dots),
                    forward = make(Phase::Forward, "#8CCBF0", "#000000", Hatch::None),
                    backward = make(Phase::Backward, "#0072B2", "#FFFFFF", Hatch::None),
                    weight = make(Phase::Weight, "#4DBF9F", "#000000", Hatch::Rising),
                    update = make(Phase::Update, "#E69F00", "#000000", Hatch::Falling);
  switch (phase) {
  case Phase::Prologue:
    return prologue;
  case Phase::Count:
    return count;
  case Phase::Forward:
    return forward;
  case Phase::Backward:
    return backward;
  case Phase::Weight:
    return weight;
  case Phase::Update:
    break;
  }
  return update;
}

const std::vector<Look> &phaseLooks() {
  static const std::vector<Look> looks = [] {
    std::vector<Look> all;
    for (Phase phase : program::EnumValuesPhase())
      all.push_back(lookOf(phase));
    return all;
  }();
  return looks;
}

const Look &collectiveLook() {
  static const Look look = {"collective", "collective", 'c', false, false, "#D55E00", "#FFFFFF", Hatch::None};
  return look;
}

const Look &transferLook() {
  static const Look look = {"transfer", "message between stages", 's', false, false, "#F0E442", "#000000", Hatch::Falling};
  return look;
}

const MemoryLook &lookOf(MemoryKind kind) {
  static const MemoryLook parameters = {"parameters", "#0072B2", "weights, stored permanently"},
                          optimizer = {"optimizer", "#E69F00", "optimizer state, stored permanently"},
                          gradients = {"gradients", "#CC79A7", "gradient accumulators, reserved for the entire step"},
                          inputs = {"inputs", "#999999", "data of the training step, until its last use"},
                          boxes = {"boxes", "#F0E442", "sent and received values"},
                          stash = {"stash", "#56B4E9", "activations saved by forward tasks for their backward tasks"},
                          scratch = {"scratch", "#009E73", "temporaries of a task, and outputs"};
  switch (kind) {
  case MemoryKind::Parameters:
    return parameters;
  case MemoryKind::Optimizer:
    return optimizer;
  case MemoryKind::Gradients:
    return gradients;
  case MemoryKind::Inputs:
    return inputs;
  case MemoryKind::Boxes:
    return boxes;
  case MemoryKind::Stash:
    return stash;
  case MemoryKind::Scratch:
    break;
  }
  return scratch;
}

} // namespace npar::show
