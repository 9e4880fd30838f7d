// The last step of the compiler: the program that export filled, with its kernels, as checked and sealed bytes.
#pragma once

#include "engine/program/Loader.h"
#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::compiler {

/// The code of the kernels for one kind of device, as codegen made it (program::DeviceCode).
struct KernelCode {
  std::string backend, features;
  std::vector<uint8_t> object;
};

/// Puts the kernels' codes into the program, none for one that only the null backend may run, and seals it. This is where a program that is
/// compiled is verified; a failure is reported at the module.
mlir::FailureOr<std::shared_ptr<const program::LoadedProgram>> emitProgram(mlir::ModuleOp module, program::ProgramT &program,
                                                                           std::vector<KernelCode> codes);

/// The FlatBuffers payload of the program as it is, without header and checks.
flatbuffers::DetachedBuffer packDraft(const program::ProgramT &program);

} // namespace npar::compiler
