// Phase export: memory plan and rank programs (the kernels are outlined by compiler/codegen before).
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace npar {
namespace compiler {
class WorkspaceOracle;
}

/// `oracle` answers how much scratch memory library calls need; null: none is planned. Not owned.
std::unique_ptr<mlir::Pass> createExportPlanMemoryPass(const compiler::WorkspaceOracle *oracle = nullptr);

/// Refuses what the plan's `require` does not allow: bytes of an arena, share of waiting.
std::unique_ptr<mlir::Pass> createExportCheckLimitsPass();

/// The phase without outlining: pipe program with launches in, rank programs out.
void buildExportPipeline(mlir::OpPassManager &manager, const compiler::WorkspaceOracle *oracle = nullptr);

/// Registers the passes for npar-opt.
void registerExportPasses();

} // namespace npar
