// The pipeline of the phase autodiff and its registration.
#include "compiler/passes/autodiff/Autodiff.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

void npar::compiler::buildAutodiffPipeline(mlir::OpPassManager &passes, program::ProgramKind kind, int64_t positions) {
  if (kind == program::ProgramKind::Training) {
    passes.addPass(createAutodiffBackwardPass());
    passes.addPass(createAutodiffRecomputePass());
    passes.addPass(createAutodiffUpdatePass());
  } else {
    passes.addPass(createAutodiffForwardPass(kind));
    if (positions > 0 && kind == program::ProgramKind::Generation)
      passes.addPass(createAutodiffDecodePass(positions));
  }
  passes.addPass(mlir::createCanonicalizerPass());
}

void npar::compiler::registerAutodiffPasses() {
  mlir::registerPass([] { return createAutodiffBackwardPass(); });
  mlir::registerPass([] { return createAutodiffRecomputePass(); });
  mlir::registerPass([] { return createAutodiffUpdatePass(); });
  mlir::registerPass([] { return createAutodiffForwardPass(program::ProgramKind::Evaluation); });
  mlir::registerPass([] { return createAutodiffDecodePass(); });
  mlir::PassPipelineRegistration<>("autodiff", "append gradients and the training step's update",
                                   [](mlir::OpPassManager &passes) { buildAutodiffPipeline(passes); });
}
