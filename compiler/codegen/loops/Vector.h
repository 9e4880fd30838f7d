// Small builders for vectors of lanes: splats, masks, lane trees, masked memory accesses. They accept vectors and scalars.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace npar::codegen {

/// Lanes of a vector of 512 bits that computes with elements of a type: 8 of 64 bits, 16 of all others.
inline int64_t lanesOf(mlir::Type element) { return element.getIntOrFloatBitWidth() > 32 ? 8 : 16; }
/// `type` with `lanes` lanes.
mlir::VectorType laneType(mlir::Type type, int64_t lanes);
mlir::Value constantI64(mlir::OpBuilder &b, mlir::Location loc, int64_t value);
/// All lanes equal to a scalar. A constant scalar becomes a constant vector.
mlir::Value splat(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scalar, int64_t lanes);
/// i64 lanes base, base + 1, ...
mlir::Value iota(mlir::OpBuilder &b, mlir::Location loc, mlir::Value base, int64_t lanes);
/// Lanes whose number is below `count` (an i64 scalar).
mlir::Value maskBelow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value count, int64_t lanes);
/// base + offset elements.
mlir::Value address(mlir::OpBuilder &b, mlir::Location loc, mlir::Value base, mlir::Type element, mlir::Value offset);
/// Contiguous lanes; masked lanes (mask may be null) read nothing and are zero.
mlir::Value loadLanes(mlir::OpBuilder &b, mlir::Location loc, mlir::Value pointer, mlir::Type element, int64_t lanes, mlir::Value mask);
void storeLanes(mlir::OpBuilder &b, mlir::Location loc, mlir::Value vector, mlir::Value pointer, mlir::Value mask);
/// Lanes at element offsets (vector of i64).
mlir::Value gatherLanes(mlir::OpBuilder &b, mlir::Location loc, mlir::Value base, mlir::Type element, mlir::Value offsets,
                        mlir::Value mask);
void scatterLanes(mlir::OpBuilder &b, mlir::Location loc, mlir::Value vector, mlir::Value base, mlir::Value offsets, mlir::Value mask);
/// Lane halves combined until one is left: (0+8, 1+9, ...), then (0+4, ...): the written order of RULES.md#N6.
mlir::Value laneTree(mlir::OpBuilder &b, mlir::Location loc, mlir::Value vector,
                     llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);
/// Scalar lane of a vector.
mlir::Value lane(mlir::OpBuilder &b, mlir::Location loc, mlir::Value vector, int64_t index);

} // namespace npar::codegen
