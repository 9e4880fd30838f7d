// The machine that a module is planned for, and where groups of ranks stand on it. The machine as an attribute: `npar.machine = {name =
// "here", memory.far = 1.0e+10, ...}`; of an uneven one `kinds = [{hosts = 8, machine = {...}}, ...]`, too.
#pragma once

#include "compiler/cost/Topology.h"
#include "compiler/dialects/dist/Dist.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar::dist {

void setMachine(mlir::ModuleOp module, const dsl::Machine &machine);

/// That of the module around `op`. Figures that the attribute lacks, all where there is no attribute, are the reference machine's.
dsl::Machine machineOf(mlir::Operation *op);

/// Where the ranks along mesh axes stand, ranks taking the places of hosts as the mesh numbers them.
cost::GroupSpan spanOf(const dsl::Machine &machine, MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> axes);

} // namespace npar::dist
