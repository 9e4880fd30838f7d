// The order of the placing passes and their registration.
#include "compiler/passes/place/Place.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace npar::place {

void buildPlacePipeline(mlir::OpPassManager &manager, bool accountSaved, bool verified) {
  manager.addPass(createPlaceAssignPass());
  if (accountSaved)
    manager.addPass(createPlaceAccountSavedPass());
  manager.addPass(createPlaceExpandPass());
  manager.addPass(createPlaceMaskPaddingPass());
  manager.addPass(createPlaceLowerReshardsPass());
  manager.addPass(createPlaceLowerHalosPass());
  manager.addPass(createPlacePrefetchPass());
  if (verified)
    manager.addPass(createVerifyDistPass());
}

void registerPlacePasses() {
  mlir::registerPass(createPlaceMarkAttentionPass);
  mlir::registerPass(createPlaceSpreadRowsPass);
  mlir::registerPass(createPlaceAssignPass);
  mlir::registerPass(createPlaceAccountSavedPass);
  mlir::registerPass(createPlaceExpandPass);
  mlir::registerPass(createPlaceMaskPaddingPass);
  mlir::registerPass(createPlaceLowerReshardsPass);
  mlir::registerPass(createPlaceLowerHalosPass);
  mlir::registerPass(createPlacePrefetchPass);
  mlir::registerPass(createVerifyDistPass);
  mlir::PassPipelineRegistration<>("place", "phase place: layouts, reshards, expansions, collectives",
                                   [](mlir::OpPassManager &manager) { buildPlacePipeline(manager); });
}

} // namespace npar::place
