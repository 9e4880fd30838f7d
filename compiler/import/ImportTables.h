// Attaches to the module what a model says besides its computation: rules for weight files, sources of inputs, measures of an evaluation.
// No pass reads these attributes; `export` writes them into the compiled program.
#pragma once

#include "compiler/attributes/TableAttributes.h"
#include "dsl/Program.h"

#include "mlir/IR/BuiltinOps.h"

namespace npar::compiler {

/// Sets `npar.checkpoint` = [{kind = "rename", file = "transformer.*", model = "*"}] where the model says something; `kind` is rename,
/// ignore, same or fresh.
void setCheckpointRules(mlir::ModuleOp module, const dsl::Model &model);

/// Sets `npar.data` (attributes::DataBlockEntry).
void setDataBlock(mlir::ModuleOp module, const dsl::Data &data, llvm::function_ref<mlir::LocationAttr(const dsl::Location &)> location);

class MeasureList {
public:
  /// Adds a measure of the results `values` over the positions where the result `counted` is not 0 (if empty, over all).
  void add(llvm::StringRef name, program::MeasureKind kind, double weight, llvm::ArrayRef<std::string> values, llvm::StringRef counted);
  void addPrediction(llvm::StringRef name, llvm::StringRef result, bool scores);
  /// Sets `npar.measures` and `npar.predictions` unless they would be empty.
  void set(mlir::ModuleOp module) const;

private:
  std::vector<attributes::MeasureEntry> measures;
  std::vector<attributes::PredictionEntry> predictions;
};

} // namespace npar::compiler
