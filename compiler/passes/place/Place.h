// Phase place: layouts from the rules, reshards, local shapes (RULES.md#P1 to P8).
#pragma once

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace npar::place {

/// Before autodiff, since it decides what attention keeps for its gradient.
std::unique_ptr<mlir::Pass> createPlaceMarkAttentionPass();
std::unique_ptr<mlir::Pass> createPlaceSpreadRowsPass();
std::unique_ptr<mlir::Pass> createPlaceAssignPass();
std::unique_ptr<mlir::Pass> createPlaceAccountSavedPass();
std::unique_ptr<mlir::Pass> createPlaceExpandPass();
std::unique_ptr<mlir::Pass> createPlaceMaskPaddingPass();
std::unique_ptr<mlir::Pass> createPlaceLowerReshardsPass();
std::unique_ptr<mlir::Pass> createPlaceLowerHalosPass();
std::unique_ptr<mlir::Pass> createPlacePrefetchPass();
std::unique_ptr<mlir::Pass> createVerifyDistPass();

/// The phase: nn program with gradients in, dist program out. Errors are diagnostics at the rules' and operations' locations.
/// `accountSaved`: leave an account of the saved activations in the module. `verified`: end with `verify-dist`.
void buildPlacePipeline(mlir::OpPassManager &manager, bool accountSaved = false, bool verified = true);

/// Registers the passes and the pipeline `place` for npar-opt.
void registerPlacePasses();

} // namespace npar::place
