// Translates a distributed kernel to PTX text that every CUDA driver can assemble.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace npar::codegen {

/// A kernel's entry in PTX for an architecture ("sm_90"), without the header that precedes all entries of a file. `module` holds the
/// kernel's loops in the form that one thread runs (Distribute.h); its contents are consumed. The entry takes `buffers` pointers by value
/// and a pointer to the context, and runs in blocks of `blockThreads` threads. With `many` it takes the arguments of such kernels in
/// DeviceKernels.h.
mlir::FailureOr<std::string> emitPtx(mlir::ModuleOp module, llvm::StringRef name, llvm::StringRef architecture, int64_t buffers,
                                     int64_t blockThreads, bool many = false);

/// The PTX header that precedes the entries of a file.
std::string ptxHeader(llvm::StringRef architecture);

} // namespace npar::codegen
