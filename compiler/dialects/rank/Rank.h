// The rank dialect: kernels, launches and library products (RankKernelOps.td).
#pragma once

#include "compiler/dialects/Words.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/dialects/rank/RankDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/rank/RankAttrs.h.inc"

#define GET_OP_CLASSES
#include "compiler/dialects/rank/RankOps.h.inc"
