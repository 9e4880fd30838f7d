// The phase autodiff: gradients of @micro and the training step's @update, on the global program; or neither.
#pragma once

#include "engine/program/Enums_generated.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace npar::compiler {

std::unique_ptr<mlir::Pass> createAutodiffBackwardPass();
std::unique_ptr<mlir::Pass> createAutodiffRecomputePass();
std::unique_ptr<mlir::Pass> createAutodiffUpdatePass();
/// Takes the place of the passes above in programs that do not train.
std::unique_ptr<mlir::Pass> createAutodiffForwardPass(program::ProgramKind kind);
/// Turns a generation program into one that computes `positions` positions per step and caches keys and values of earlier ones.
std::unique_ptr<mlir::Pass> createAutodiffDecodePass(int64_t positions = 1);
/// Backward, recomputation, update, folds and removal of gradients that nothing needs.
/// `positions`: positions per step of a generation program; 0: the whole sequence, without a cache.
void buildAutodiffPipeline(mlir::OpPassManager &passes, program::ProgramKind kind = program::ProgramKind::Training, int64_t positions = 0);
void registerAutodiffPasses();

} // namespace npar::compiler
