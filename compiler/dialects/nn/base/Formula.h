// The formulas of an optimizer: their text (dsl/Optimizer.h) as a graph, and what ops and passes ask of it.
#pragma once

#include "compiler/dialects/nn/base/Scalar.h"

namespace npar::nn {

class Formula {
public:
  /// `names`: what terms can use besides definitions. Fails after `error` with what is wrong.
  static mlir::FailureOr<Formula> parse(llvm::ArrayRef<llvm::StringRef> names, mlir::ArrayAttr definitions, mlir::ArrayAttr results,
                                        llvm::function_ref<mlir::InFlightDiagnostic()> error);

  size_t resultCount() const { return results.size(); }
  /// Builds the results from the values of the names, which have one type.
  llvm::SmallVector<Scalar> build(llvm::ArrayRef<Scalar> values) const;
  /// Tells whether every result is 0 where the values of the names that `zero` marks are 0, whatever the others are.
  bool isZeroWhere(llvm::ArrayRef<bool> zero) const;

private:
  class Parser;
  enum class Kind { Name, Number, Function };
  struct Node {
    Kind kind = Kind::Number;
    size_t index = 0; ///< index of the name, or of the function in the table
    double number = 0;
    llvm::SmallVector<size_t, 3> operands;
  };

  /// The results, given the values of names, what a number is, and what a function makes of its operands.
  template <typename T, typename Number, typename Apply>
  llvm::SmallVector<T> evaluate(llvm::ArrayRef<T> names, const Number &number, const Apply &apply) const;

  llvm::SmallVector<Node> nodes; ///< each after its operands
  llvm::SmallVector<size_t> results;
};

} // namespace npar::nn
