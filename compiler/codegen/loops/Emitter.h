// The state of one kernel's code generation, shared by the files that walk loops, evaluate bodies and address memory.
#pragma once

#include "compiler/codegen/loops/Emit.h"
#include "compiler/codegen/loops/Nest.h"
#include "compiler/codegen/loops/Vector.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>

namespace npar::codegen {

/// The level at which a value is computed: once per call, once per row, or once per step of the loops inside a row.
enum Scope { CallScope = 0, RowScope = 1, InnerScope = 2 };

/// A value at the current point: one scalar for all lanes, or one vector per part. Indices along the vectorised loop stay symbolic
/// (base, base + 1, ...) until a body computes with them, so that `table[row, index]` is seen to be contiguous.
struct Lane {
  llvm::SmallVector<mlir::Value, 4> parts;
  int scope = CallScope;
  bool uniform = true;
  mlir::Value base; ///< i64 scalar when the lanes are base + 0, 1, 2, ...
};

class Emitter {
public:
  Emitter(mlir::func::FuncOp source, mlir::func::FuncOp target, Nest nest, const LoopOptions &options)
      : source(source), target(target), nest(std::move(nest)), options(options) {}
  mlir::LogicalResult run();

private:
  struct Generic {
    mlir::linalg::GenericOp op;
    int phase = 0;
    bool inner = false;     ///< depends on loops inside a row
    bool reduces = false;   ///< reduces loops inside a row
    bool expensive = false; ///< not worth computing twice
  };
  struct Output {
    mlir::OpResult value;
    unsigned buffer;
  };

  // Loops (Emit.cpp).
  void plan();
  void emitRow(mlir::scf::ForOp rows);
  void emitPhase(int phase);
  void walkInside(llvm::SmallVectorImpl<llvm::SmallVector<mlir::Value>> &accumulators, llvm::function_ref<void()> emit);
  void emitPoint(int phase, llvm::SmallVectorImpl<llvm::SmallVector<mlir::Value>> &accumulators);
  void finishReductions(int phase, llvm::ArrayRef<llvm::SmallVector<mlir::Value>> accumulators);
  void storeRowResults();
  // Rows that exist (ExistingRows.cpp).
  void enterExistingRow(mlir::scf::ForOp rows);
  void clearRow();
  // Values (Evaluate.cpp).
  Lane value(mlir::Value tensor, llvm::ArrayRef<mlir::StringAttr> axes, int64_t offset = 0);
  llvm::SmallVector<Lane> body(mlir::linalg::GenericOp op, llvm::ArrayRef<Lane> accumulators);
  llvm::SmallVector<Lane, 2> operation(mlir::Operation &op, llvm::ArrayRef<Lane> operands);
  Lane axisIndex(mlir::StringAttr axis);
  Lane word(int64_t index);
  Lane neutral(mlir::linalg::GenericOp op, unsigned result);
  mlir::Value part(const Lane &lane, unsigned index);
  // Memory (Memory.cpp).
  Lane extract(mlir::Value tensor, llvm::ArrayRef<Lane> indices);
  Lane load(mlir::Value pointer, mlir::Type element, llvm::ArrayRef<int64_t> strides, int64_t shift = 0);
  void store(const Lane &lane, const Output &output);
  void store(const Lane &lane, mlir::Value pointer, mlir::Type element, llvm::ArrayRef<int64_t> strides);
  llvm::SmallVector<int64_t> rowBufferStrides();
  /// Offset of the current point without the vectorised loop's lanes, and the lanes' stride (0 when the tensor lacks that loop).
  std::pair<mlir::Value, int64_t> offset(llvm::ArrayRef<int64_t> strides, int scope);
  mlir::Value maskOf(unsigned part);
  int scopeOf(llvm::ArrayRef<int64_t> strides);

  Generic &info(mlir::Value tensor) { return generics.find(tensor.getDefiningOp())->second; }

  mlir::func::FuncOp source, target;
  Nest nest;
  LoopOptions options;
  llvm::DenseMap<mlir::Operation *, Generic> generics;
  llvm::SmallVector<mlir::linalg::GenericOp> order;
  llvm::SmallVector<Output> outputs;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers; ///< addresses of arguments and outputs
  int phases = 1, currentPhase = 0;

  llvm::SmallVector<mlir::OpBuilder, 3> at; ///< insertion points by scope
  mlir::Value context;
  std::map<int64_t, mlir::Value> words;
  llvm::DenseMap<mlir::Value, Lane> known[3];             ///< generics' results by scope
  std::map<std::vector<const void *>, Lane> loaded[3];    ///< arguments by scope; key: argument, axes
  llvm::SmallVector<mlir::Value> loopIndex;               ///< i64 per loop; the vectorised one: its first lane
  int64_t parts = 1;                                      ///< at the current point
  llvm::SmallVector<mlir::Value, 4> rowMasks, innerMasks; ///< null entries: all lanes
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;       ///< stack rows by value
  llvm::MapVector<mlir::Value, int> buffered;             ///< the phase that fills a stack row or an output row
  mlir::Location loc() { return source.getLoc(); }
};

} // namespace npar::codegen
