// The phase prepare: canonicalization and the whole-program check of an nn module.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace npar::compiler {

std::unique_ptr<mlir::Pass> createPreparePrecisionPass();
std::unique_ptr<mlir::Pass> createPrepareScoresPass();
std::unique_ptr<mlir::Pass> createPrepareCheckPass();
std::unique_ptr<mlir::Pass> createPrepareInputsPass();
std::unique_ptr<mlir::Pass> createPrepareTotalsPass();
/// Prepares the module: sums over a step, mixed precision, formulas of attention scores, folding, dead code, checks, and the ranges of input values. Never
/// merges reads of parameters: each use has its own gradient accumulator (RULES.md#N2).
void buildPreparePipeline(mlir::OpPassManager &passes);
void registerPreparePasses();

} // namespace npar::compiler
