// The phase autodiff: gradients of @micro and the training step's @update, on the global program.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace npar {

std::unique_ptr<mlir::Pass> createAutodiffBackwardPass();
std::unique_ptr<mlir::Pass> createAutodiffRecomputePass();
std::unique_ptr<mlir::Pass> createAutodiffUpdatePass();
/// Backward, recomputation, update, folds and removal of gradients that nothing needs.
void buildAutodiffPipeline(mlir::OpPassManager &passes);
void registerAutodiffPasses();

} // namespace npar
