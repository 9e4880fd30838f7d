// Chooses the cuDNN plan that computes an attention, by trying plans on random operands while a program is loaded.
#pragma once

#include "engine/backends/cuda/driver/CudaDevice.h"
#include "engine/backends/cuda/library/LibraryAttention.h"

#include <functional>

namespace npar::engine::cuda {

/// The arguments of a plan's execution. `workspace` has the sums of a gradient (sumsBytes), then the plan's own memory.
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
/// Returns the index of the first plan whose bits repeat and whose results are close to those of npar's own kernels, or `plans.size()`.
/// They are close if other orders of sums, and probabilities rounded before the product, explain the difference. The choice does not depend
/// on times, so neither do the bits. Allocates operands while it runs.
Result<size_t> tryAttention(const CudaDevice &device, const Cudnn &dnn, Handle library, const LibraryAttentionShape &shape,
                            const std::vector<DnnPlan> &plans, const OwnAttention &own, const std::string &what);

} // namespace npar::engine::cuda
