// Which of cuDNN's plans computes an attention: tried at load on drawn operands.
#pragma once

#include "engine/backends/cuda/driver/CudaDevice.h"
#include "engine/backends/cuda/library/LibraryAttention.h"

#include <functional>

namespace npar::engine::cuda {

/// What an execution of a plan is given. `workspace`: the sums of a gradient (sumsBytes) and then the plan's own.
struct AttentionCall {
  std::vector<DevicePointer> operands; ///< by the shape's numbers
  DevicePointer workspace = 0;
};
/// Bytes of a call's workspace.
uint64_t workspaceBytes(const LibraryAttentionShape &shape, const DnnPlan &plan);
/// Puts a plan into the stream that the library's handle has.
DnnCode executeAttention(const Cudnn &dnn, Handle library, const LibraryAttentionShape &shape, const DnnPlan &plan,
                         const AttentionCall &call);

/// Starts npar's own kernels for the shape.
using OwnAttention = std::function<Code(const std::vector<DevicePointer> &operands, Handle stream)>;
/// The first of the plans whose bits repeat and whose numbers are near those of npar's own kernels: as near as other orders of the sums and
/// probabilities that are rounded on their way to the product explain. So time chooses no bits. `plans.size()` where there is none. Takes
/// memory for operands meanwhile.
Result<size_t> tryAttention(const CudaDevice &device, const Cudnn &dnn, Handle library, const LibraryAttentionShape &shape,
                            const std::vector<DnnPlan> &plans, const OwnAttention &own, const std::string &what);

} // namespace npar::engine::cuda
