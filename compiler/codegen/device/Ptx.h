// From a distributed kernel to text that every CUDA driver can assemble.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace npar::codegen {

/// A kernel's entry in PTX for an architecture ("sm_90"), without the header that a file of several begins with. `module` holds the
/// kernel's loops as one thread runs them (Distribute.h); its contents are consumed. The entry takes `buffers` pointers by value and a
/// pointer to the context, or, of a kernel for `many` blocks of scores, what DeviceKernels.h says, and runs in blocks of `blockThreads`.
mlir::FailureOr<std::string> emitPtx(mlir::ModuleOp module, llvm::StringRef name, llvm::StringRef architecture, int64_t buffers,
                                     int64_t blockThreads, bool many = false);

/// What comes before the entries.
std::string ptxHeader(llvm::StringRef architecture);

} // namespace npar::codegen
