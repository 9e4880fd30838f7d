// The optimizers of a training program as an attribute of the module: import writes them, autodiff-update takes them.
#pragma once

#include "dsl/Optimizer.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar::nn {

/// The texts of formulas as an attribute.
mlir::ArrayAttr textsAttr(mlir::Builder &builder, const std::vector<std::string> &list);

/// Sets `nn.optimizers`, a list: the train block's own optimizer, then those of rules, by their numbers on `nn.variable`.
void setOptimizers(mlir::ModuleOp module, llvm::ArrayRef<dsl::Optimizer> optimizers);

/// Fails after an error at the module when the attribute is missing or is not what setOptimizers writes.
mlir::FailureOr<std::vector<dsl::Optimizer>> optimizersOf(mlir::ModuleOp module);

/// Sets `npar.rates`, the learning rates of these optimizers, for the program's table.
void setRates(mlir::ModuleOp module, llvm::ArrayRef<dsl::Optimizer> optimizers);
/// Fails after an error at the module.
mlir::FailureOr<std::vector<dsl::LearningRate>> ratesOf(mlir::ModuleOp module);

/// For each rate, the first of its words (program::LearningRate.word); -1: it is known in steps and has none.
std::vector<int> wordsOfRates(llvm::ArrayRef<dsl::LearningRate> rates);

} // namespace npar::nn
