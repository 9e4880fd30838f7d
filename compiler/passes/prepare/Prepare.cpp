// The pipeline of the phase prepare and its registration.
#include "compiler/passes/prepare/Prepare.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

void npar::compiler::buildPreparePipeline(mlir::OpPassManager &passes) {
  passes.addPass(createPrepareTotalsPass());
  passes.addPass(createPreparePrecisionPass());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(createPrepareCheckPass());
  passes.addPass(createPrepareInputsPass());
  passes.addPass(createPrepareScoresPass()); // after what looks at uses of inputs
  passes.addPass(mlir::createCanonicalizerPass());
}

void npar::compiler::registerPreparePasses() {
  mlir::registerPass([] { return createPreparePrecisionPass(); });
  mlir::registerPass([] { return createPrepareScoresPass(); });
  mlir::registerPass([] { return createPrepareCheckPass(); });
  mlir::registerPass([] { return createPrepareInputsPass(); });
  mlir::registerPass([] { return createPrepareTotalsPass(); });
  mlir::PassPipelineRegistration<>("prepare", "canonicalize and check an imported program", buildPreparePipeline);
}
