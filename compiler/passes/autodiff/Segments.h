// Applies a plan's `recompute` to a model: decides which ops of @micro are repeated together.
#pragma once

#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/dialects/nn/Nn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace npar::compiler {

class Segments {
public:
  /// Fails with an error at the location of the clause if the model has nothing of that kind.
  static mlir::FailureOr<Segments> read(mlir::ModuleOp module, mlir::func::FuncOp micro, const attributes::RecomputeClause &clause);

  /// The segment of an op, or of the op whose gradient it computes; none when that is not repeated.
  std::optional<unsigned> of(mlir::Operation *op);

private:
  enum class Kind { Attention, Blocks, Layers };

  /// The name of an op's segment; empty when it has none.
  std::string nameOf(mlir::Operation *op) const;

  Kind kind = Kind::Blocks;
  int64_t blocks = 0, every = 1;
  llvm::SmallVector<llvm::StringRef> patterns;
  llvm::StringMap<unsigned> numbers;
};

} // namespace npar::compiler
