// The phase in its order: read the pipe program, order steps, allocate each class's memory, order communication, share equal entries, hold
// the limits.
#include "compiler/passes/export/Export.h"

#include "compiler/memory/OverlapCollectives.h"
#include "compiler/passes/export/AttributeTables.h"
#include "compiler/passes/export/CheckLimits.h"
#include "compiler/passes/export/ProgramTables.h"
#include "compiler/passes/export/ReadPipe.h"
#include "compiler/passes/export/ShareEntries.h"

using namespace mlir;

namespace npar::compiler {
namespace {

/// Allocates with more and more spare slots until messages can be ordered; with a slot per instance no reuse is left to wait for.
LogicalResult allocateAll(Tables &tables, const std::vector<memory::ClassModel> &classes) {
  memory::AllocationOptions options;
  options.microCount = static_cast<uint32_t>(std::max<int64_t>(1, tables.program.micro_count));
  while (true) {
    tables.program.classes.clear();
    std::string error;
    for (const memory::ClassModel &model : classes) {
      auto rankClass = memory::allocateClass(model, options, error);
      if (!rankClass)
        return tables.module.emitError("internal error: ") << error;
      tables.program.classes.push_back(std::move(rankClass));
    }
    memory::timeUpdates(tables.program);
    std::string deadlock = memory::orderCommunication(tables.program);
    if (deadlock.empty())
      return success();
    if (options.spareSlots >= options.microCount)
      return tables.module.emitError("internal error: the planned program is not sound: ") << deadlock;
    options.spareSlots *= 2;
  }
}

void eraseScheduled(ModuleOp module) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<pipe::ProgramOp, pipe::FragmentOp, pipe::OrderOp>(op))
      op.erase();
}

} // namespace

FailureOr<std::unique_ptr<program::ProgramT>> exportProgram(ModuleOp module, bool movesWork) {
  Tables tables(module);
  if (failed(fillProgram(module, tables.program)) || failed(fillCheckpointRules(module, tables.program)) ||
      failed(fillData(module, tables.program)))
    return failure();
  FailureOr<std::vector<memory::ClassModel>> classes = readPipe(tables);
  if (failed(classes) || failed(fillMeasures(module, tables.program)))
    return failure();
  if (movesWork)
    for (memory::ClassModel &model : *classes)
      memory::overlapCollectives(model);
  if (failed(allocateAll(tables, *classes)))
    return failure();
  tables.program.stages = static_cast<uint32_t>(tables.program.classes.size());
  shareEntries(tables.program);
  if (failed(checkLimits(module, tables.program)))
    return failure();
  eraseScheduled(module);
  return std::make_unique<program::ProgramT>(std::move(tables.program));
}

} // namespace npar::compiler
