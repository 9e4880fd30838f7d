// Kernels with a nest of their own whose loops a GPU wants otherwise: more rows, each walked by a whole warp. Their results have the same
// bits.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"

namespace npar::codegen {

/// A kernel's loops and the number of rows that they have.
struct DeviceLoops {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int64_t extent;
};

/// nn.scatter_add: a row is a chunk of one row of the table, and looks for its tokens itself.
mlir::FailureOr<DeviceLoops> emitScatterRows(rank::KernelOp kernel, dist::MeshAttr mesh);
/// rank.bin_sums: a row is a bin, to which the lanes add what block sums have for it. These additions are exact, so their order is free.
DeviceLoops emitBinRows(rank::KernelOp kernel);

} // namespace npar::codegen
