// Builds fragments: copies of ops, transfers.
#include "compiler/passes/schedule/Fragments.h"

using namespace mlir;
using namespace npar::pipe;

namespace npar {

Fragments::Fragments(ModuleOp module, int64_t stages) : count(stages), mappings(stages * 3) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (int64_t stage = 0; stage < stages; ++stage)
    for (Phase phase : {Phase::F, Phase::B, Phase::U}) {
      std::string name = (stringifyPhase(phase) + Twine(stage)).str();
      fragments.push_back(FragmentOp::create(builder, module.getLoc(), name, stage, phase));
      fragments.back().getBody().emplaceBlock();
    }
}

Operation *Fragments::clone(Operation *op, Place place) {
  Operation *copy = end(place).clone(*op, mappings[index(place)]);
  copy->removeAttr(stageAttribute);
  return copy;
}

void Fragments::transfer(Value original, Place from, int64_t to, Location location) {
  Place target{to, from.phase};
  OpBuilder source = end(from), destination = end(target);
  SendOp::create(source, location, lookup(from, original), to, events);
  map(target, original, RecvOp::create(destination, location, original.getType(), from.stage, events));
  ++events;
}

} // namespace npar
