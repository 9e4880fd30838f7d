// Windows whose positions are split: which entries a rank needs, and the same windows over these entries alone.
#pragma once

#include "compiler/dialects/dist/Halo.h"
#include "compiler/dialects/nn/ops/Windows.h"

namespace npar::place {

/// Returns whether ranks that split axis number i of the windows exchange entries: sending these moves less than gathering the axis of
/// `entries` entries. `positions` is the number of positions on all `members` ranks.
bool isExchanged(nn::WindowsOp windows, unsigned i, int64_t entries, int64_t positions, int64_t members);

/// Makes windows local along axis number i, whose positions `splits` split. x is split in the same way or whole along it. Returns the new
/// dist.halo before the windows, which `cause` explains; null if each rank's entries are what its positions need.
dist::HaloOp makeLocal(nn::WindowsOp windows, unsigned i, llvm::ArrayRef<mlir::StringAttr> splits, dist::CauseAttr cause);

} // namespace npar::place
