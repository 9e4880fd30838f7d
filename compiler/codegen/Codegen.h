// The code generator's front door: fragments' arithmetic to kernels, kernels to one shared object.
//
// ABI of a kernel: `extern "C" void NAME(void *const *buffers, const int64_t *context, int64_t begin, int64_t end)`. Buffers are the
// launch's operands in order, then its results, each a contiguous row-major local tensor. context = {data step, micro index, seed,
// coordinate along mesh axis 0, 1, ...}. [begin, end) is any part of the kernel's `extent` independent rows; any partition gives the
// same bits. Kernels allocate nothing but at most 64 KiB of stack and call nothing but libm and libc.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace npar::codegen {

struct CodegenOptions {
  /// Folder of compiled kernels; empty: $NPAR_CACHE, else $XDG_CACHE_HOME/npar/kernels, else ~/.cache/npar/kernels. A folder that cannot
  /// be written, or that others can write, costs time, nothing else.
  std::string cache;
  bool useCache = true;
  /// Called when a kernel or the linking begins, with its name; may be null.
  std::function<void(const std::string &)> onPhase;
  /// Asked before each kernel and before the linking; true ends the generation with failure and without an error. May be null.
  std::function<bool()> wantsToStop;
};

struct KernelObject {
  std::vector<uint8_t> bytes; ///< a shared object; empty when the module has no kernel
  std::string targetFeatures; ///< "x86_64-... x86-64-v4 +avx,+avx2,...": what the code needs
  int64_t compiled = 0, cached = 0;
};

/// Compiles every rank.kernel of the module that has code of its own. Errors are reported at the kernel.
mlir::LogicalResult compileKernels(mlir::ModuleOp module, const CodegenOptions &options, KernelObject &out);

/// Registers the lowerings of prims and LLVM IR translation: needed before `compileKernels` and `export-outline-kernels`.
void registerCodegen(mlir::DialectRegistry &registry);

/// The pass `export-outline-kernels`.
std::unique_ptr<mlir::Pass> createExportOutlineKernels();
/// Registers the passes of this folder for npar-opt. `shown` gets the PTX of codegen-show-kernels.
void registerCodegenPasses(llvm::raw_ostream &shown);

} // namespace npar::codegen
