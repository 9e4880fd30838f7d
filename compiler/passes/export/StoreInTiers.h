// Applies a plan's rules that store values outside of the device to the model of a class.
#pragma once

#include "compiler/passes/export/ReadPipe.h"

namespace npar::compiler {

/// Gives the variables that `npar.tiers` names their tiers, and adds the copies that the steps need, with their times on the machines that
/// the class runs on. Refuses a machine without figures of a tier, at the rule.
mlir::LogicalResult storeInTiers(Tables &tables, llvm::ArrayRef<cost::Machine> machines, memory::ClassModel &model);

} // namespace npar::compiler
