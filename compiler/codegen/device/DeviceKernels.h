// All kernels of a module for one kind of GPU.
#pragma once

#include "compiler/codegen/device/OwnLoops.h"

#include <string>

namespace npar::codegen {

/// The text of the module's kernels for an architecture ("sm_90"): PTX, preceded by comments with the launch parameters of each kernel:
/// ```
/// // npar kernels sm_90
/// // kernel add_gelu_0 threads 256 rows 16 extent 4096 : f32[786432] f32[3072] -> f32[786432] inplace 0=0
/// ```
/// Blocks of `threads` threads compute `extent` rows, `rows` rows each; if the grid has fewer blocks, each block loops. A kernel's entry
/// takes an array of pointers by value, first to the operands and then to the results in the order of the listed types and element counts,
/// each aligned to its element, and a pointer to the context (Codegen.h) in device memory. `inplace` pairs a result with an operand whose
/// buffer it may share.
///
/// The word `many` follows the extent of kernels that change attention scores and of kernels that process all parameters at once (squares
/// of gradients, updates). Each y of their grid handles one block of scores or one parameter. Their entry takes three arguments: the
/// address in device memory of the first such array of pointers, the distance in bytes between consecutive arrays, and the context.
mlir::FailureOr<std::string> emitDeviceKernels(mlir::ModuleOp module, llvm::StringRef architecture);

/// Lowers a kernel to loops that suit a GPU; they still compute on vectors.
mlir::FailureOr<DeviceLoops> emitDeviceLoops(rank::KernelOp kernel, dist::MeshAttr mesh);

} // namespace npar::codegen
