// What an evaluation makes of results, as attributes of the module: `emit` writes them into the compiled program.
#pragma once

#include "engine/program/Words.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace npar {

class MeasureList {
public:
  explicit MeasureList(mlir::Builder &builder) : builder(builder) {}

  /// Of the results `values`, where the result `counted` is not 0 (empty: everywhere).
  void add(llvm::StringRef name, program::MeasureKind kind, double weight, llvm::ArrayRef<std::string> values, llvm::StringRef counted);
  void addPrediction(llvm::StringRef name, llvm::StringRef result);
  /// Writes `npar.measures` and `npar.predictions`, where there are some.
  void set(mlir::ModuleOp module) const;

private:
  mlir::NamedAttribute text(llvm::StringRef key, llvm::StringRef value) { return builder.getNamedAttr(key, builder.getStringAttr(value)); }

  mlir::Builder &builder;
  llvm::SmallVector<mlir::Attribute> measures, predictions;
};

} // namespace npar
