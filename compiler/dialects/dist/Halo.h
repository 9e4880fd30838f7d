// The ops by which ranks get entries of a split axis from each other, for windows.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/dist/Reach.h"

#define GET_OP_CLASSES
#include "compiler/dialects/dist/Halo.h.inc"

namespace npar::dist {

void addHalo(DistDialect &dialect);

/// The type of x with another axis in the place of `over`: named `over` and `suffix`, with `local` elements on each rank of `axes`.
mlir::RankedTensorType nearType(mlir::RankedTensorType x, mlir::StringAttr over, llvm::StringRef suffix,
                                llvm::ArrayRef<mlir::StringAttr> axes, int64_t local, MeshAttr mesh);

} // namespace npar::dist
