// Reshards a checkpoint without a session: into another number of files, or into the pieces that the ranks of another plan own.
#pragma once

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/program/Loader.h"

#include <functional>
#include <string>

namespace npar::engine {

/// The manifest of the same checkpoint in at most `files` files whose tensors have nearly equal bytes: the tensors one after the other, cut
/// between two elements. Hashes and sizes of the files are open.
Manifest evenCut(const Manifest &source, uint64_t files);

/// The manifest of the same checkpoint as a run of this program would write it: a file for each rank that owns something. Tensors keep
/// their types; a counter of the training that the program does not have stays, with the first file. Refuses a program of another model,
/// as resuming does.
Result<Manifest> programCut(const CheckpointStore &source, const program::LoadedProgram &program);

/// Writes FOLDER/step-N, N being the step of `manifest`, which is a cut of the source: the source's bytes are read by ranges, hashed and
/// written, file by file in parallel, and never whole in memory; the folder takes its name when everything is on the disk. Refuses a
/// FOLDER/step-N that is there already. `progress` (may be null) is told the bytes done, from any thread. Returns the folder's path.
Result<std::string> writeCut(const CheckpointStore &source, Manifest manifest, const std::string &folder,
                             const std::function<void(uint64_t)> &progress = nullptr);

} // namespace npar::engine
