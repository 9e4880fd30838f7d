// Which checkpoint a path names, what it consists of, and whether it is whole.
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

/// Compares every byte with its hash and prints what is wrong: what is written from a checkpoint gets hashes of its own, or none, and
/// nobody would see the damage again.
ExitCode refuseDamaged(const engine::CheckpointStore &checkpoint);

} // namespace npar::driver
