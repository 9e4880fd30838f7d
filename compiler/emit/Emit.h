// The last step of the compiler: the program that export filled, with its kernels, as checked and sealed bytes.
#pragma once

#include "engine/program/Loader.h"
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

/// Puts the kernels' code into the program and seals it. This is where a program that is compiled is verified; a failure is reported at the
/// module.
mlir::FailureOr<std::shared_ptr<const program::LoadedProgram>> emitProgram(mlir::ModuleOp module, program::ProgramT &program,
                                                                           KernelCode code);

} // namespace npar
