// The phase autodiff: gradients of @micro and the training step's @update, on the global program; or neither.
#pragma once

#include "engine/program/Enums_generated.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace npar {

/// Left by autodiff-forward on a module whose text does not show that positions depend on earlier ones alone: who generates has to test it.
constexpr const char *untestedAttribute = "npar.untested_positions";

std::unique_ptr<mlir::Pass> createAutodiffBackwardPass();
std::unique_ptr<mlir::Pass> createAutodiffRecomputePass();
std::unique_ptr<mlir::Pass> createAutodiffUpdatePass();
/// For a program of another kind than Training, in place of the others.
std::unique_ptr<mlir::Pass> createAutodiffForwardPass(program::ProgramKind kind);
/// For a program that generates: so many positions at a time, with what attention looks back at kept.
std::unique_ptr<mlir::Pass> createAutodiffDecodePass(int64_t positions = 1);
/// Backward, recomputation, update, folds and removal of gradients that nothing needs.
/// `positions`: at a time, of a program that generates; 0: all, and nothing is kept.
void buildAutodiffPipeline(mlir::OpPassManager &passes, program::ProgramKind kind = program::ProgramKind::Training, int64_t positions = 0);
void registerAutodiffPasses();

} // namespace npar
