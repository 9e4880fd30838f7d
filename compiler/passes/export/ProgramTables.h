// Translates single entries between the IR and the compiled program's tables: what export fills a program with.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "engine/program/Program_generated.h"

namespace npar::compiler {

using nn::elementTypeOf;

/// Bytes of a rank-local tensor.
uint64_t storageBytes(mlir::Type tensor);

/// The logical variable: global shape from the layout. `of` is left to the caller.
std::unique_ptr<program::VariableT> variableOf(nn::VariableOp variable);

/// The piece of the variable that a rank stores; the caller fills in `variable`, `offset` and `owner`.
std::unique_ptr<program::PieceT> pieceOf(nn::VariableOp variable);

/// The data buffer that a rank has for an input. `scope` is any op of the module; the caller fills in the input and the offset.
std::unique_ptr<program::InputT> inputOf(mlir::RankedTensorType type, mlir::Operation *scope);

/// The buffer that a rank has for a result; arguments as for `inputOf`.
std::unique_ptr<program::ResultBufferT> resultOf(mlir::RankedTensorType type, mlir::Operation *scope);

/// Adds the logical result that values of this type are parts of, one per micro-batch. Returns its index in the program.
uint32_t addResult(program::ProgramT &program, llvm::StringRef name, mlir::RankedTensorType type);

/// The place in the user's text that a location stands for; null when there is none.
std::unique_ptr<program::SourcePlaceT> sourceOf(mlir::Location location);

/// All facts of a program that do not depend on ranks: model, plan, mesh, variables, inputs, batch. How the batch is dealt out is known
/// when a data buffer is, see `fillSamples`.
mlir::LogicalResult fillProgram(mlir::ModuleOp module, program::ProgramT &program);

/// Micro-batch and data axes, which are those of any data buffer.
void fillSamples(const program::InputT &input, program::ProgramT &program);

/// The index of an input in the program by its name; the number of inputs if there is no such input, which no verified program refers to.
uint32_t findInput(const program::ProgramT &program, llvm::StringRef name);

} // namespace npar::compiler
