// The pipe dialect: fragments per stage and phase, transfers, stashes and the order of tasks (PipeOps.td).
#pragma once

#include "compiler/dialects/Words.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include <optional>
#include <string>

namespace npar::pipe {

using program::Phase;

/// An entry of pipe.order: `F0:2` is fragment F0 for micro-batch 2, `U0` runs once per training step (micro 0). `+B3:1` runs at the same
/// time as the task before it.
struct TaskName {
  llvm::StringRef fragment;
  int64_t micro = 0;
  bool perMicro = false;
  bool overlaps = false;
};

/// Nothing when the text is no task. The name points into `text`.
std::optional<TaskName> parseTaskName(llvm::StringRef text);

} // namespace npar::pipe

#include "compiler/dialects/pipe/PipeDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/pipe/PipeAttributes.h.inc"

#define GET_OP_CLASSES
#include "compiler/dialects/pipe/PipeOps.h.inc"
