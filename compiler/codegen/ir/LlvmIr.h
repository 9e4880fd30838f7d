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

/// Cleans up scalars and addresses for a processor: the loops are vectorised already. LLVM's whole pipeline compiles half as long again and
/// makes no kernel faster (tests/benchmark/KernelBenchmark.cpp).
void cleanUp(llvm::Module &module, llvm::TargetMachine &machine);

/// Runs LLVM's whole pipeline, which also unrolls loops, for a GPU, where a thread alone is slow.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace npar::codegen
