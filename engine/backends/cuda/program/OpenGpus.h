// Chooses the GPUs of a host that a process uses.
#pragma once

#include "engine/device/Backend.h"

namespace npar::engine::cuda {

/// The GPUs that a process takes of its host's, by Spread: one, or several as one backend. Refuses more than the host has or than there are
/// ranks, and GPUs of different architectures. `products` and `attention`: who computes them, by their words (CudaProducts.h,
/// CudaAttentions.h).
Result<std::unique_ptr<Backend>> openGpus(const Spread &spread, const std::string &products, const std::string &attention);

} // namespace npar::engine::cuda
