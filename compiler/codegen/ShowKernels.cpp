// codegen-show-kernels: puts the generated code of kernels into the module; and registers this folder's passes.
#include "compiler/codegen/Codegen.h"
#include "compiler/codegen/Text.h"
#include "compiler/codegen/device/DeviceKernels.h"
#include "compiler/codegen/device/Distribute.h"
#include "compiler/codegen/loops/Append.h"
#include "compiler/codegen/loops/ScatterAdd.h"
#include "compiler/codegen/loops/SquareSum.h"
#include "compiler/codegen/lowering/Lowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace npar::codegen {

#define GEN_PASS_DECL_CODEGENSHOWKERNELS
#define GEN_PASS_DEF_CODEGENSHOWKERNELS
#include "compiler/codegen/Passes.h.inc"

namespace {
struct CodegenShowKernels : impl::CodegenShowKernelsBase<CodegenShowKernels> {
  using CodegenShowKernelsBase::CodegenShowKernelsBase;
  llvm::raw_ostream *shown = &llvm::nulls(); ///< gets PTX, which is no part of a module

  void getDependentDialects(DialectRegistry &registry) const override { registerCodegen(registry); }

  FailureOr<OwningOpRef<ModuleOp>> formOf(rank::KernelOp kernel, dist::MeshAttr mesh) {
    if (stage == "linalg")
      return lowerToLinalg(kernel, mesh);
    if (stage == "loops")
      return kernelLoops(kernel, mesh);
    FailureOr<DeviceLoops> loops = emitDeviceLoops(kernel, mesh);
    if (failed(loops) || failed(distributeLanes(*loops->module, loops->extent)))
      return failure();
    return std::move(loops->module);
  }

  void runOnOperation() override {
    getContext().loadAllAvailableDialects();
    if (stage == "ptx") {
      FailureOr<std::string> text = emitDeviceKernels(getOperation(), "sm_90");
      if (failed(text))
        return signalPassFailure();
      *shown << *text;
      return;
    }
    if (stage != "linalg" && stage != "loops" && stage != "threads") {
      getOperation().emitError("codegen-show-kernels: 'stage' is linalg, loops, threads or ptx, not '") << stage << "'";
      return signalPassFailure();
    }
    dist::MeshAttr mesh = dist::meshOf(getOperation());
    for (rank::KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<rank::KernelOp>())) {
      if (stage == "linalg" && (isScatterAdd(kernel) || isSquareSum(kernel) || isAppend(kernel)))
        continue; // have no such form
      FailureOr<OwningOpRef<ModuleOp>> code = formOf(kernel, mesh);
      if (failed(code))
        return signalPassFailure();
      for (Operation &op : llvm::make_early_inc_range(*(*code)->getBody())) {
        auto function = dyn_cast<func::FuncOp>(op); // or a table of constants
        bool ownName = function && !function.isDeclaration();
        if (!ownName && getOperation().lookupSymbol(SymbolTable::getSymbolName(&op)))
          continue;
        if (ownName)
          function.setSymName((kernel.getSymName() + "." + stage).str());
        op.remove();
        getOperation().push_back(&op);
      }
    }
  }
};
} // namespace

void registerCodegenPasses(llvm::raw_ostream &shown) {
  registerPass(createExportOutlineKernels);
  registerPass([&shown] {
    auto pass = std::make_unique<CodegenShowKernels>();
    pass->shown = &shown;
    return pass;
  });
}

} // namespace npar::codegen
