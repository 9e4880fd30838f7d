// Collects how an evaluation combines results, as module attributes that `emit` writes into the compiled program.
#pragma once

#include "engine/program/Words.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace npar {

class MeasureList {
public:
  explicit MeasureList(mlir::Builder &builder) : builder(builder) {}

  /// Adds a measure of the results `values` over the positions where the result `counted` is not 0 (if empty, over all).
  void add(llvm::StringRef name, program::MeasureKind kind, double weight, llvm::ArrayRef<std::string> values, llvm::StringRef counted);
  void addPrediction(llvm::StringRef name, llvm::StringRef result);
  /// Sets `npar.measures` and `npar.predictions` unless they would be empty.
  void set(mlir::ModuleOp module) const;

private:
  mlir::NamedAttribute text(llvm::StringRef key, llvm::StringRef value) { return builder.getNamedAttr(key, builder.getStringAttr(value)); }

  mlir::Builder &builder;
  llvm::SmallVector<mlir::Attribute> measures, predictions;
};

} // namespace npar
