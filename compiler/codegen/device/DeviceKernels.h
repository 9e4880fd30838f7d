// All kernels of a module for one kind of GPU.
#pragma once

#include "compiler/codegen/device/OwnLoops.h"

#include <string>

namespace npar::codegen {

/// The text of the module's kernels for an architecture ("sm_90"): PTX, with a comment before it that says how to launch them:
/// ```
/// // npar kernels sm_90
/// // kernel add_gelu_0 threads 256 rows 16 extent 4096 : f32[786432] f32[3072] -> f32[786432] inplace 0=0
/// ```
/// `extent` rows are computed by blocks of `threads` threads, `rows` each; with fewer blocks than that they go round. An entry takes an
/// array of pointers by value, to the operands and then the results (types and element counts are given), in that order, each aligned to
/// its element, and a pointer to the context (Codegen.h) in device memory. `inplace` pairs a result with an operand that it may lie on.
///
/// A kernel that attention changes scores by, or that does what all parameters need (squares of gradients, updates), has the word `many`
/// after its extent. It does a block of scores, or a parameter, for each y of its grid: its entry takes the address of such an array of
/// pointers in device memory, for the first of them, the distance in bytes from there to that of the next one, and the context.
mlir::FailureOr<std::string> emitDeviceKernels(mlir::ModuleOp module, llvm::StringRef architecture);

/// A kernel's loops as they suit a GPU, still on vectors.
mlir::FailureOr<DeviceLoops> emitDeviceLoops(rank::KernelOp kernel, dist::MeshAttr mesh);

} // namespace npar::codegen
