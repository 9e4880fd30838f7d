// The machine that a module is planned for, as an attribute: `npar.machine = {name = "here", memory.far = 1.0e+10, ...}`.
#pragma once

#include "dsl/machine/Machine.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar::dist {

void setMachine(mlir::ModuleOp module, const dsl::Machine &machine);

/// That of the module around `op`. Figures that the attribute lacks, all where there is no attribute, are the reference machine's.
dsl::Machine machineOf(mlir::Operation *op);

} // namespace npar::dist
