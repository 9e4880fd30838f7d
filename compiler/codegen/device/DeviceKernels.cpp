// Makes of each kernel its loops, its threads, its PTX and the line with its launch.
#include "compiler/codegen/device/DeviceKernels.h"

#include "compiler/codegen/device/Distribute.h"
#include "compiler/codegen/device/OwnLoops.h"
#include "compiler/codegen/device/Ptx.h"
#include "compiler/codegen/loops/Append.h"
#include "compiler/codegen/loops/Emit.h"
#include "compiler/codegen/loops/KernelFunction.h"
#include "compiler/codegen/loops/ScatterAdd.h"
#include "compiler/codegen/loops/SquareSum.h"
#include "compiler/codegen/lowering/Lowering.h"
#include "compiler/dialects/nn/ops/Scores.h"

using namespace mlir;

namespace npar::codegen {

/// A thread keeps no rows: exp costs less than the way to memory. Columns are threads rather than parts of one.
static constexpr LoopOptions loopOptions = {/*scratchBytes=*/0, /*columnParts=*/1};

FailureOr<DeviceLoops> emitDeviceLoops(rank::KernelOp kernel, dist::MeshAttr mesh) {
  if (isScatterAdd(kernel))
    return emitScatterRows(kernel, mesh);
  if (onlyOp<rank::BinSumsOp>(kernel))
    return emitBinRows(kernel);
  if (isSquareSum(kernel))
    return DeviceLoops{emitSquareSum(kernel, mesh), squareSumExtent(kernel)};
  if (isAppend(kernel)) {
    FailureOr<OwningOpRef<ModuleOp>> loops = emitAppend(kernel);
    if (failed(loops))
      return failure();
    return DeviceLoops{std::move(*loops), appendExtent(kernel)};
  }
  FailureOr<OwningOpRef<ModuleOp>> linalg = lowerToLinalg(kernel, mesh);
  if (failed(linalg))
    return failure();
  func::FuncOp generics = *(*linalg)->getOps<func::FuncOp>().begin();
  FailureOr<int64_t> extent = kernelExtent(generics, loopOptions);
  FailureOr<OwningOpRef<ModuleOp>> loops = emitLoops(generics, kernel.getSymName(), loopOptions);
  if (failed(extent) || failed(loops))
    return failure();
  return DeviceLoops{std::move(*loops), *extent};
}

static void printTypes(llvm::raw_ostream &stream, TypeRange types) {
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    stream << " " << tensor.getElementType() << "[" << tensor.getNumElements() << "]";
  }
}

/// Tells whether attention changes scores by it: only formulas of scores have this axis name.
static bool isOfScores(rank::KernelOp kernel) {
  StringAttr query = StringAttr::get(kernel.getContext(), nn::ScoresOp::query);
  return llvm::any_of(kernel.getOperandTypes(), [&](Type type) { return nn::hasAxis(type, query); });
}

/// Tells whether it updates a parameter or squares its gradient. A model has many of one size, and one launch does all of them.
static bool isOfParameter(rank::KernelOp kernel) {
  return onlyOp<rank::SquareSumOp>(kernel) || kernel.walk([](nn::OptimizeOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

FailureOr<std::string> emitDeviceKernels(ModuleOp module, StringRef architecture) {
  module.getContext()->loadAllAvailableDialects();
  dist::MeshAttr mesh = dist::meshOf(module);
  std::string lines, entries;
  llvm::raw_string_ostream stream(lines);
  for (rank::KernelOp kernel : module.getOps<rank::KernelOp>()) {
    if (kernel.getCode())
      continue;
    FailureOr<DeviceLoops> loops = emitDeviceLoops(kernel, mesh);
    if (failed(loops))
      return failure();
    StringRef name = kernel.getSymName();
    if (callsLibrary(*loops->module))
      return kernel.emitError("internal error: a GPU has no function of the C library");
    FailureOr<DeviceThreads> threads = distributeLanes(*loops->module, loops->extent);
    if (failed(threads))
      return failure();
    auto buffers = static_cast<int64_t>(kernel.getOperandTypes().size() + kernel.getResultTypes().size());
    bool many = isOfScores(kernel) || isOfParameter(kernel);
    FailureOr<std::string> entry = emitPtx(*loops->module, name, architecture, buffers, threads->block, many);
    if (failed(entry))
      return failure();
    entries += *entry;
    stream << "// kernel " << name << " threads " << threads->block << " rows " << threads->rows << " extent " << loops->extent
           << (many ? " many :" : " :");
    printTypes(stream, kernel.getOperandTypes());
    stream << " ->";
    printTypes(stream, kernel.getResultTypes());
    for (auto [result, operand] : kernel.getInplacePairs())
      stream << " inplace " << result << "=" << operand;
    stream << "\n";
  }
  return "// npar kernels " + architecture.str() + "\n" + lines + ptxHeader(architecture) + entries;
}

} // namespace npar::codegen
