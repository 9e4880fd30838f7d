// Collects how an evaluation combines results, as module attributes that `export` writes into the compiled program.
#pragma once

#include "compiler/attributes/TableAttributes.h"

namespace npar {

class MeasureList {
public:
  /// Adds a measure of the results `values` over the positions where the result `counted` is not 0 (if empty, over all).
  void add(llvm::StringRef name, program::MeasureKind kind, double weight, llvm::ArrayRef<std::string> values, llvm::StringRef counted);
  void addPrediction(llvm::StringRef name, llvm::StringRef result);
  /// Sets `npar.measures` and `npar.predictions` unless they would be empty.
  void set(mlir::ModuleOp module) const;

private:
  std::vector<attributes::MeasureEntry> measures;
  std::vector<attributes::PredictionEntry> predictions;
};

} // namespace npar
