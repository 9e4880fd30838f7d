// codegen-show-kernels: puts the generated code of kernels into the module; and registers this folder's passes.
#include "compiler/codegen/Codegen.h"
#include "compiler/codegen/Text.h"
#include "compiler/codegen/loops/ScatterAdd.h"
#include "compiler/codegen/loops/SquareSum.h"
#include "compiler/codegen/lowering/Lowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace npar::codegen {

#define GEN_PASS_DECL_CODEGENSHOWKERNELS
#define GEN_PASS_DEF_CODEGENSHOWKERNELS
#include "compiler/codegen/Passes.h.inc"

namespace {
struct CodegenShowKernels : impl::CodegenShowKernelsBase<CodegenShowKernels> {
  using CodegenShowKernelsBase::CodegenShowKernelsBase;
  void getDependentDialects(DialectRegistry &registry) const override { registerCodegen(registry); }

  void runOnOperation() override {
    getContext().loadAllAvailableDialects();
    if (stage != "linalg" && stage != "loops") {
      getOperation().emitError("codegen-show-kernels: 'stage' is linalg or loops, not '") << stage << "'";
      return signalPassFailure();
    }
    dist::MeshAttr mesh = dist::meshOf(getOperation());
    for (rank::KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<rank::KernelOp>())) {
      if (stage == "linalg" && (isScatterAdd(kernel) || isSquareSum(kernel)))
        continue; // have no such form
      FailureOr<OwningOpRef<ModuleOp>> code = stage == "linalg" ? lowerToLinalg(kernel, mesh) : kernelLoops(kernel, mesh);
      if (failed(code))
        return signalPassFailure();
      for (Operation &op : llvm::make_early_inc_range(*(*code)->getBody())) {
        auto function = cast<func::FuncOp>(op);
        if (function.isDeclaration() && getOperation().lookupSymbol(function.getSymName()))
          continue;
        if (!function.isDeclaration())
          function.setSymName((kernel.getSymName() + "." + stage).str());
        op.remove();
        getOperation().push_back(&op);
      }
    }
  }
};
} // namespace

void registerCodegenPasses() {
  registerPass(createExportOutlineKernels);
  registerPass([] { return createCodegenShowKernels(); });
}

} // namespace npar::codegen
