// The pass export-plan-memory: reads the pipe program, plans each class, orders communication, checks, writes rank programs.
#include "compiler/emit/ProgramTables.h"
#include "compiler/passes/export/Export.h"
#include "compiler/passes/export/ReadPipe.h"
#include "compiler/passes/export/WriteRank.h"
#include "engine/program/Deadlock.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace npar {

#define GEN_PASS_DEF_EXPORTPLANMEMORY
#include "compiler/passes/export/Passes.h.inc"

namespace {

struct ExportPlanMemory : impl::ExportPlanMemoryBase<ExportPlanMemory> {
  explicit ExportPlanMemory(const compiler::WorkspaceOracle *oracle = nullptr) : oracle(oracle) {}

  void runOnOperation() override {
    memory::Tables tables(getOperation());
    tables.oracle = oracle;
    fillProgram(tables.module, tables.program);
    FailureOr<std::vector<memory::ClassModel>> classes = memory::readPipe(tables);
    if (failed(classes) || failed(planAll(tables, *classes)))
      return signalPassFailure();
    memory::writeRank(tables.program, tables.inputTypes, tables.module);
    eraseScheduled();
  }

private:
  const compiler::WorkspaceOracle *oracle;

  /// Plans with more and more spare slots until messages can be ordered; with a slot per instance no reuse is left to wait for.
  LogicalResult planAll(memory::Tables &tables, std::vector<memory::ClassModel> &classes) {
    memory::PlanOptions options;
    options.microCount = static_cast<uint32_t>(std::max<int64_t>(1, tables.program.micro_count));
    while (true) {
      tables.program.classes.clear();
      std::string error;
      for (const memory::ClassModel &model : classes) {
        auto rankClass = memory::planClass(model, options, error);
        if (!rankClass)
          return tables.module.emitError("internal error: ") << error;
        tables.program.classes.push_back(std::move(rankClass));
      }
      memory::timeUpdates(tables.program);
      bool deadlock = false;
      error = memory::finishPlan(tables.program, deadlock);
      if (error.empty())
        return success();
      if (!deadlock || options.spareSlots >= options.microCount)
        return tables.module.emitError("internal error: the planned program is not sound: ") << error;
      options.spareSlots *= 2;
    }
  }

  void eraseScheduled() {
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<pipe::ProgramOp, pipe::FragmentOp, pipe::OrderOp>(op))
        op.erase();
  }
};

} // namespace

std::unique_ptr<Pass> createExportPlanMemoryPass(const compiler::WorkspaceOracle *oracle) {
  return std::make_unique<ExportPlanMemory>(oracle);
}

void buildExportPipeline(OpPassManager &manager, const compiler::WorkspaceOracle *oracle) {
  manager.addPass(createExportPlanMemoryPass(oracle));
  manager.addPass(createExportCheckLimitsPass());
}

void registerExportPasses() {
  registerPass([] { return createExportPlanMemoryPass(); });
  registerPass(createExportCheckLimitsPass);
}

} // namespace npar
