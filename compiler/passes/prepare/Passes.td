// Passes of the phase prepare.
#ifndef NPAR_PREPARE_PASSES_TD
#define NPAR_PREPARE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrepareCheck : Pass<"prepare-check", "::mlir::ModuleOp"> {
  let summary = "verify a whole nn program";
  let description = [{
    What no single op can see: there is an `@micro`; every op of a function says where it belongs (`at`) and has a source line; indices of
    parameters are 0, 1, 2, ... in order; every parameter is used; only accumulators are accumulated to.
    Changes nothing.
  }];
}

#endif
