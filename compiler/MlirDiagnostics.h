// Turns MLIR's diagnostics into located messages about the user's text.
#pragma once

#include "dsl/Diagnostics.h"
#include "mlir/IR/Diagnostics.h"

namespace npar::compiler {

/// The place in the user's text that a location stands for; line 0 if the location has no file.
dsl::Location toUserText(mlir::Location location, const dsl::Sources &sources);

/// While it lives, every error and warning of the context goes to `diagnostics`, at the place in the user's text that the operation
/// carries (file, line, column). Notes that start with "help: " become helps.
class MlirDiagnostics : mlir::ScopedDiagnosticHandler {
public:
  MlirDiagnostics(mlir::MLIRContext &context, const dsl::Sources &sources, dsl::Diagnostics &diagnostics);
};

} // namespace npar::compiler
