// Finds the checkpoint that a path names, claims its files and checks that they are intact.
#pragma once

#include "engine/checkpoint/CheckpointStore.h"
#include "tools/lib/models/FileClaims.h"

#include <string>

namespace npar::driver {

using models::FileClaims;

/// The folder of the checkpoint: `path` itself, or the newest checkpoint in a folder of them.
engine::Result<std::string> checkpointFolder(const std::string &path);

/// Total bytes of all tensors.
uint64_t bytesOf(const engine::Manifest &manifest);

/// Claims every file of a checkpoint as an input.
void claimFiles(FileClaims &claims, const engine::CheckpointStore &checkpoint);

/// Compares all data with their hashes and prints every mismatch. Without this check damage would go unnoticed, because files written from
/// a checkpoint get new hashes or none.
ExitCode refuseDamaged(const engine::CheckpointStore &checkpoint);

} // namespace npar::driver
