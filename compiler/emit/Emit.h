// From rank programs to the bytes of a compiled program.
#pragma once

#include "engine/program/Program_generated.h"
#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar {

/// The native code of the kernels, as codegen made it; empty for a program that only the null backend may run.
struct KernelCode {
  std::vector<uint8_t> object;
  std::string targetFeatures;
};

/// Collects the rank programs of a module into the compiled program's tables. Decides nothing: all was decided by the passes.
mlir::FailureOr<std::unique_ptr<program::ProgramT>> buildProgram(mlir::ModuleOp module);

/// The bytes of a .npx file. The program is verified once more; a failure is reported at the module.
mlir::FailureOr<std::vector<uint8_t>> emitProgram(mlir::ModuleOp module, const KernelCode &code);

} // namespace npar
