// Translates single entries between the IR and the compiled program's tables: shared by the memory plan and the emitter.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "engine/program/Program_generated.h"

#include <optional>

namespace npar {

/// Nothing for an element type that no program holds.
std::optional<program::ElementType> elementTypeOf(mlir::Type type);
mlir::Type typeOf(program::ElementType type, mlir::MLIRContext *context);

/// Bytes of a rank-local tensor.
uint64_t storageBytes(mlir::Type tensor);

/// The logical variable: global shape from the layout. `of` is left to the caller.
std::unique_ptr<program::VariableT> variableOf(nn::VariableOp variable);

/// How a rank keeps the variable; `variable`, `offset` and `owner` are left to the caller.
std::unique_ptr<program::PieceT> pieceOf(nn::VariableOp variable);

/// How a rank keeps a data buffer: local shape, mesh axes that split the columns, their order. `scope` is any op of the module; name and
/// place are left to the caller.
std::unique_ptr<program::InputT> inputOf(mlir::RankedTensorType type, mlir::Operation *scope);

/// Mesh axis indices of an array of axis names.
std::vector<uint32_t> axesOf(mlir::ArrayAttr names, dist::MeshAttr mesh);

/// The place in the user's text that a location stands for; null when there is none.
std::unique_ptr<program::SourcePlaceT> sourceOf(mlir::Location location);

/// All facts of a program that do not depend on ranks: model, plan, mesh, variables, batch. Micro-batch and data axes come from `tokens`,
/// the type of a data buffer, which may be null.
void fillProgram(mlir::ModuleOp module, mlir::Type tokens, program::ProgramT &program);

} // namespace npar
