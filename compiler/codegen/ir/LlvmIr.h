// Translates loops over pointers to LLVM IR, for processors and GPUs.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace npar::codegen {

/// Lowers a module of func, scf, cf, arith, math and LLVM ops to LLVM IR without a target. Consumes the module's contents.
mlir::FailureOr<std::unique_ptr<llvm::Module>> translateToLlvm(mlir::ModuleOp module, llvm::LLVMContext &context);

/// The loops are vectorised already; what remains is scalar clean-up and addressing, and unrolling where a thread alone is slow.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, bool unroll);

} // namespace npar::codegen
