// The dist dialect: mesh, layouts, rules and collectives, with the queries that placing and its successors share.
#pragma once

#include "compiler/dialects/nn/Nn.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/dialects/dist/DistDialect.h.inc"

namespace npar::dist {
/// Whether an attribute is the word of a reduction that values may be partial with. How a sum rounds is no property of a value.
bool isReduction(mlir::Attribute attribute);
} // namespace npar::dist

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/dist/DistAttrs.h.inc"

namespace npar::dist {
/// Values take their padding along. A flat piece has zeros in all of it, wherever it goes.
nn::ZeroPadding zeroPaddingOfMove(mlir::Type input);
} // namespace npar::dist

#include "compiler/dialects/dist/DistInterfaces.h.inc"

#define GET_OP_CLASSES
#include "compiler/dialects/dist/DistOps.h.inc"

namespace npar::dist {

/// The mesh of the module around `op`; the empty mesh (one rank) when it names none.
MeshAttr meshOf(mlir::Operation *op);

/// The memory order of an axis before it is split: 0 for the logical order, n for the zigzag order of n ranks. In zigzag order the axis
/// consists of 2 n chunks; place 2 i holds chunk i and place 2 i + 1 holds chunk 2 n - 1 - i, so that every rank has as many early as late
/// positions. Code that needs logical positions must call this. Module attribute `dist.zigzag = {seq = 4 : i64}`.
int64_t zigzagOf(mlir::Operation *op, mlir::StringAttr axis);

/// The layout of a tensor; null before placing.
LayoutAttr layoutOf(mlir::Type type);
inline LayoutAttr layoutOf(mlir::Value value) { return layoutOf(value.getType()); }

/// The rank-local tensor type of a layout.
mlir::RankedTensorType localType(mlir::Type element, LayoutAttr layout, MeshAttr mesh);

/// Removes the given axes from the layout's partial axes, in any order.
LayoutAttr withoutPartial(LayoutAttr layout, llvm::ArrayRef<mlir::StringAttr> axes);

/// Builds a layout from its dimensions, its partial axes (possibly none) and the reduction of the partial values.
LayoutAttr makeLayout(mlir::MLIRContext *context, llvm::ArrayRef<mlir::StringAttr> names, llvm::ArrayRef<int64_t> sizes,
                      llvm::ArrayRef<llvm::SmallVector<mlir::StringAttr>> splits, llvm::ArrayRef<mlir::StringAttr> partial = {},
                      program::ReduceOp reduction = program::ReduceOp::Sum);

/// Strings of an array attribute.
llvm::SmallVector<mlir::StringAttr> stringsOf(mlir::ArrayAttr array);
mlir::ArrayAttr stringArray(mlir::MLIRContext *context, llvm::ArrayRef<mlir::StringAttr> strings);

} // namespace npar::dist
