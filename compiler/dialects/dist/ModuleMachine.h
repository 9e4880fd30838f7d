// The machine that a module is planned for, and the spans of its groups of ranks. The module stores the machine as an attribute:
// `npar.machine = {name = "here", memory.far = 1.0e+10, ...}`; an uneven machine also has `kinds = [{hosts = 8, machine = {...}}, ...]`.
#pragma once

#include "compiler/cost/Topology.h"
#include "compiler/dialects/dist/Dist.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar::dist {

void setMachine(mlir::ModuleOp module, const dsl::Machine &machine);

/// The machine of the module around `op`. The reference machine supplies figures that the attribute lacks, or all figures if there is no
/// attribute.
dsl::Machine machineOf(mlir::Operation *op);

/// The span of a group of ranks along mesh axes; ranks take the slots of hosts in the order of the mesh.
cost::GroupSpan spanOf(const dsl::Machine &machine, MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> axes);

} // namespace npar::dist
