// Compiles the kernels of a module: cached objects or linalg -> loops -> object, then one shared object.
#include "compiler/codegen/Codegen.h"
#include "compiler/codegen/Cache.h"
#include "compiler/codegen/Object.h"
#include "compiler/codegen/Text.h"
#include "compiler/codegen/loops/Append.h"
#include "compiler/codegen/loops/Counts.h"
#include "compiler/codegen/loops/Emit.h"
#include "compiler/codegen/loops/ScatterAdd.h"
#include "compiler/codegen/loops/SquareSum.h"
#include "compiler/codegen/lowering/Lowering.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

#include <atomic>

using namespace mlir;

namespace npar::codegen {

void registerCodegen(DialectRegistry &registry) {
  registry.insert<nn::NnDialect, dist::DistDialect, rank::RankDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                  linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
  registerLowerings(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

FailureOr<OwningOpRef<ModuleOp>> kernelLoops(rank::KernelOp kernel, dist::MeshAttr mesh) {
  if (isScatterAdd(kernel))
    return emitScatterAdd(kernel, mesh);
  if (isSquareSum(kernel))
    return emitSquareSum(kernel, mesh);
  if (isAppend(kernel))
    return emitAppend(kernel);
  if (isCounts(kernel))
    return emitCounts(kernel, mesh);
  FailureOr<OwningOpRef<ModuleOp>> linalg = lowerToLinalg(kernel, mesh);
  if (failed(linalg))
    return failure();
  return emitLoops(*(*linalg)->getOps<func::FuncOp>().begin(), kernel.getSymName());
}

LogicalResult compileKernels(ModuleOp module, const CodegenOptions &options, KernelObject &out) {
  Target target = hostTarget();
  out.targetFeatures = target.triple + " " + target.cpu + " " + target.features;
  SmallVector<rank::KernelOp> kernels;
  llvm::copy_if(module.getOps<rank::KernelOp>(), std::back_inserter(kernels), [](rank::KernelOp kernel) { return !kernel.getCode(); });
  if (kernels.empty())
    return success();
  MLIRContext *context = module.getContext();
  context->loadAllAvailableDialects();
  dist::MeshAttr mesh = dist::meshOf(module);
  KernelCache cache(options.cache, options.useCache);
  static std::atomic<bool> told{false};
  if (!cache.problem().empty() && !told.exchange(true))
    emitWarning(UnknownLoc::get(context), cache.problem());
  std::vector<std::string> objects(kernels.size());
  std::atomic<int64_t> begun{0}, compiled{0}, cached{0};
  LogicalResult result = failableParallelForEachN(context, 0, kernels.size(), [&](size_t i) -> LogicalResult {
    if (options.onPhase)
      options.onPhase("kernel " + std::to_string(++begun) + " of " + std::to_string(kernels.size()));
    if (options.wantsToStop && options.wantsToStop())
      return failure();
    rank::KernelOp kernel = kernels[i];
    std::string key = cache.key(out.targetFeatures + " " + target.tune + "\n" + kernelText(kernel, mesh, kernel.getSymName()));
    if (std::optional<std::string> found = cache.find(key)) {
      objects[i] = std::move(*found);
      ++cached;
      return success();
    }
    FailureOr<OwningOpRef<ModuleOp>> loops = kernelLoops(kernel, mesh);
    if (failed(loops))
      return failure();
    FailureOr<std::string> object = emitObject(loops->get(), target);
    if (failed(object))
      return failure();
    cache.put(key, *object);
    objects[i] = std::move(*object);
    ++compiled;
    return success();
  });
  if (failed(result))
    return failure();
  if (options.onPhase)
    options.onPhase("linking the kernels");
  if (options.wantsToStop && options.wantsToStop())
    return failure();
  FailureOr<std::vector<uint8_t>> linked = linkShared(objects, module.getLoc());
  if (failed(linked))
    return failure();
  out.bytes = std::move(*linked);
  out.compiled = compiled;
  out.cached = cached;
  return success();
}

} // namespace npar::codegen
