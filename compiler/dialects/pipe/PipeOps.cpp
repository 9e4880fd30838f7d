// Verifiers of the pipe ops: what one op and its fragment say. What needs the whole module is the pass verify-pipe's.
#include "compiler/dialects/pipe/Pipe.h"

using namespace mlir;
using namespace npar::pipe;

#define GET_OP_CLASSES
#include "compiler/dialects/pipe/PipeOps.cpp.inc"

namespace npar::pipe {

std::optional<TaskName> parseTaskName(StringRef text) {
  TaskName task;
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
  return success();
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

LogicalResult StashOp::verify() {
  if (fragmentOf(*this).getPhase() != Phase::F)
    return emitOpError("is for phase F, its fragment is of phase ") << stringifyPhase(fragmentOf(*this).getPhase());
  return success();
}

LogicalResult UnstashOp::verify() {
  if (fragmentOf(*this).getPhase() != Phase::B)
    return emitOpError("is for phase B, its fragment is of phase ") << stringifyPhase(fragmentOf(*this).getPhase());
  return success();
}

LogicalResult OrderOp::verify() {
  for (StringRef text : getTasks().getAsValueRange<StringAttr>())
    if (!parseTaskName(text))
      return emitOpError("has the entry '") << text << "', which is no task; write 'FRAGMENT:MICRO' or 'FRAGMENT'";
  return success();
}

SmallVector<TaskName> OrderOp::getTaskNames() {
  SmallVector<TaskName> names;
  for (StringRef text : getTasks().getAsValueRange<StringAttr>())
    names.push_back(parseTaskName(text).value_or(TaskName{}));
  return names;
}

} // namespace npar::pipe
