// The table of Looks.h.
#include "tools/npar/view/Looks.h"

namespace npar::driver {

const std::vector<Look> &phaseLooks() {
  static const std::vector<Look> looks = {
      {"Prologue", "prologue", 'P', false, false, "#CC79A7", "#000000", Hatch::None},
      {"Count", "count of valid tokens", 'C', true, false, "#CC79A7", "#000000", Hatch::Dots},
      {"Forward", "forward", 'F', true, true, "#8CCBF0", "#000000", Hatch::None},
      {"Backward", "backward", 'B', true, true, "#0072B2", "#FFFFFF", Hatch::None},
      {"Weight", "weight gradient", 'W', true, true, "#4DBF9F", "#000000", Hatch::Rising},
      {"Update", "update", 'U', false, false, "#E69F00", "#000000", Hatch::Falling},
  };
  return looks;
}

const Look &lookOf(program::Phase phase) {
  static const Look unknown = {"", "other", '?', true, true, "#BBBBBB", "#000000", Hatch::None};
  std::string name = program::EnumNamePhase(phase);
  for (const Look &look : phaseLooks())
    if (name == look.name)
      return look;
  return unknown;
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
  static const std::array<MemoryLook, memoryKinds> looks = {{
      {"parameters", "#0072B2", "weights, there all the time"},
      {"optimizer", "#E69F00", "the optimizer's state, there all the time"},
      {"gradients", "#CC79A7", "gradient accumulators, reserved for the whole step"},
      {"inputs", "#999999", "data of the training step, until its last use"},
      {"boxes", "#F0E442", "sent and received values"},
      {"stash", "#56B4E9", "what forward tasks keep for their backward tasks"},
      {"scratch", "#009E73", "temporaries of a task, and outputs"},
      {"workspace", "#D55E00", "the library's workspace"},
  }};
  return looks[static_cast<size_t>(kind)];
}

} // namespace npar::driver
