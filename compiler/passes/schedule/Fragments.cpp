// Builds fragments: copies of ops, transfers.
#include "compiler/passes/schedule/Fragments.h"
#include "compiler/attributes/ModuleAttributes.h"

using namespace mlir;
using namespace npar::pipe;

namespace npar::compiler {

Fragments::Fragments(ProgramOp program)
    : stageCount(program.getStages()), stageOfPlace(program.getStageOfPlace()), isPlaced(program.getPlacement().has_value()) {
  auto module = program->getParentOfType<ModuleOp>();
  llvm::StringSet<> scheduled;
  for (OrderOp order : module.getOps<OrderOp>())
    for (const TaskName &task : order.getTaskNames())
      scheduled.insert(task.fragment);
  SmallVector<int64_t> last(stageCount, 0); // place of each stage's last part
  for (auto [place, stage] : llvm::enumerate(stageOfPlace))
    last[stage] = static_cast<int64_t>(place);

  fragments.resize(parts() * 4 + stageCount * 2);
  mappings.resize(fragments.size());
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (int64_t part : countedParts(module)) {
    add(builder, program.getLoc(), {part, Phase::Count});
    if (!at({stageOfPlace[part], Phase::Prologue}))
      add(builder, program.getLoc(), {stageOfPlace[part], Phase::Prologue});
  }
  bool forwardOnly = isForwardOnly(module);
  for (int64_t part = 0; part < parts(); ++part) {
    add(builder, program.getLoc(), {part, Phase::Forward});
    if (forwardOnly)
      continue;
    add(builder, program.getLoc(), {part, Phase::Backward});
    if (scheduled.contains(fragmentName(Phase::Weight, part)))
      add(builder, program.getLoc(), {part, Phase::Weight});
    if (int64_t stage = stageOfPlace[part]; last[stage] == part)
      add(builder, program.getLoc(), {stage, Phase::Update});
  }
}

void Fragments::add(OpBuilder &builder, Location location, FragmentKey place) {
  auto fragment = FragmentOp::create(builder, location, fragmentName(place.phase, place.at), stageOf(place), IntegerAttr(), place.phase);
  if (!place.isOfStage() && isPlaced)
    fragment.setPlaceAttr(builder.getI64IntegerAttr(place.at));
  fragment.getBody().emplaceBlock();
  fragments[number(place)] = fragment;
}

Operation *Fragments::clone(Operation *op, FragmentKey place) {
  Operation *copy = end(place).clone(*op, mappings[number(place)]);
  attributes::partPlace.remove(copy);
  attributes::weightGradient.remove(copy);
  attributes::sentInput.remove(copy);
  return copy;
}

void Fragments::transfer(Value original, FragmentKey from, FragmentKey to, Location location) {
  OpBuilder source = end(from), destination = end(to);
  SendOp::create(source, location, lookup(from, original), stageOf(to), events);
  map(to, original, RecvOp::create(destination, location, original.getType(), stageOf(from), events));
  ++events;
}

} // namespace npar::compiler
