// Verifiers of the pipe ops that need one op and its fragment. The pass verify-pipe checks rules that need the whole module.
#include "compiler/dialects/pipe/Pipe.h"

using namespace mlir;
using namespace npar::pipe;

#define GET_OP_CLASSES
#include "compiler/dialects/pipe/PipeOps.cpp.inc"

namespace npar::pipe {

std::optional<TaskName> parseTaskName(StringRef text) {
  TaskName task;
  task.overlaps = text.consume_front("+");
  task.fragment = text.take_until([](char c) { return c == ':'; });
  if (task.fragment.empty())
    return std::nullopt;
  StringRef rest = text.drop_front(task.fragment.size());
  task.perMicro = rest.consume_front(":");
  if (task.perMicro && (rest.getAsInteger(10, task.micro) || task.micro < 0))
    return std::nullopt;
  return task;
}

static FragmentOp fragmentOf(Operation *op) { return cast<FragmentOp>(op->getParentOp()); }

LogicalResult ProgramOp::verify() {
  if (getStages() < 1)
    return emitOpError("has ") << getStages() << " stages; there is at least one";
  if (getMicroCount() < 1)
    return emitOpError("has ") << getMicroCount() << " micro-batches; there is at least one";
  if (!getAxis() && getStages() > 1)
    return emitOpError("has ") << getStages() << " stages but no mesh axis";
  if (std::optional<ArrayRef<int64_t>> placement = getPlacement()) {
    for (int64_t stage : *placement)
      if (stage < 0 || stage >= getStages())
        return emitOpError("has a part of the chain on stage ") << stage << "; there are " << getStages() << " stages";
    bool isEven = placement->size() % getStages() == 0; // else the first stage has the losses of all (schedule-servers)
    for (int64_t stage = 0; stage < getStages() && isEven; ++stage)
      if (llvm::count(*placement, stage) * getStages() != static_cast<int64_t>(placement->size()))
        return emitOpError("has ") << llvm::count(*placement, stage) << " of the chain's " << placement->size() << " parts on stage "
                                   << stage << "; every stage has as many";
  }
  for (std::optional<ArrayRef<double>> costs : {getForward(), getBackward(), getWeight()})
    if (costs && static_cast<int64_t>(costs->size()) != getStages())
      return emitOpError("has costs of ") << costs->size() << " stages; there are " << getStages();
  return success();
}

SmallVector<int64_t> ProgramOp::getStageOfPlace() {
  if (std::optional<ArrayRef<int64_t>> placement = getPlacement())
    return llvm::to_vector(*placement);
  return llvm::to_vector(llvm::seq<int64_t>(0, getStages()));
}

LogicalResult SendOp::verify() {
  if (getTo() == fragmentOf(*this).getStage())
    return emitOpError("goes to its own stage ") << getTo();
  return success();
}

LogicalResult RecvOp::verify() {
  if (getFrom() == fragmentOf(*this).getStage())
    return emitOpError("comes from its own stage ") << getFrom();
  return success();
}

static LogicalResult verifyKept(Operation *op) {
  if (!fragmentOf(op).isPerMicro())
    return op->emitOpError("is for fragments of a micro-batch, but its fragment has phase ") << wordOf(fragmentOf(op).getPhase());
  return success();
}

LogicalResult StashOp::verify() { return verifyKept(*this); }

LogicalResult UnstashOp::verify() { return verifyKept(*this); }

LogicalResult OrderOp::verify() {
  for (StringRef text : getTasks().getAsValueRange<StringAttr>())
    if (!parseTaskName(text))
      return emitOpError("has the entry '") << text << "', which is no task; write 'FRAGMENT:MICRO', '+FRAGMENT:MICRO' or 'FRAGMENT'";
  return success();
}

SmallVector<TaskName> OrderOp::getTaskNames() {
  SmallVector<TaskName> names;
  for (StringRef text : getTasks().getAsValueRange<StringAttr>())
    names.push_back(parseTaskName(text).value_or(TaskName{}));
  return names;
}

} // namespace npar::pipe
