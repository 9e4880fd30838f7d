// Verifies that a checkpoint is unchanged since it was written: manifest, texts, headers and every byte of its tensors.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace npar::engine {

struct CheckpointVerified {
  uint64_t tensors = 0, pieces = 0, files = 0;
  uint64_t bytes = 0;             ///< of all tensors
  std::vector<std::string> other; ///< names in the folder that the manifest does not know
};

/// `folder` is the checkpoint's own. The error names the file, and the tensor where the damage is in one. `progress` (may be null) is told
/// the bytes compared, from any thread.
Result<CheckpointVerified> verifyCheckpoint(const std::string &folder, const std::function<void(uint64_t)> &progress = nullptr);

} // namespace npar::engine
