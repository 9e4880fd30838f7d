// Which checkpoint a path names.
#pragma once

#include "engine/checkpoint/CheckpointStore.h"
#include "tools/npar/files/FileClaims.h"

#include <string>

namespace npar::driver {

/// The folder of the checkpoint: `path` itself, or in a folder of checkpoints the newest one's.
engine::Result<std::string> checkpointFolder(const std::string &path);

/// Bytes of all tensors.
uint64_t bytesOf(const engine::Manifest &manifest);

/// Claims every file of a checkpoint as an input.
void claimFiles(FileClaims &claims, const engine::CheckpointStore &checkpoint);

} // namespace npar::driver
