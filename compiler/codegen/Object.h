// Compiles a module of loops over pointers to native code inside this process: LLVM dialect -> LLVM IR -> object -> shared object.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::codegen {

/// The machine that code is generated for: `cpu` and `features` are needed, `tune` only chooses among equal instructions.
struct Target {
  std::string triple, cpu, features, tune;
};

/// This machine.
Target hostTarget();

/// Lowers a module of func, scf, cf, arith, math and LLVM ops to a relocatable object. Consumes the module's contents.
mlir::FailureOr<std::string> emitObject(mlir::ModuleOp module, const Target &target);

/// Links relocatable objects to one shared object. libm and libc symbols stay undefined: the host process has them.
mlir::FailureOr<std::vector<uint8_t>> linkShared(llvm::ArrayRef<std::string> objects, mlir::Location loc);

} // namespace npar::codegen
