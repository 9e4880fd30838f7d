// The newest checkpoint of a folder that a training can continue from, and which newer ones are damaged.
#pragma once

#include "engine/checkpoint/CheckpointStore.h"

#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

struct SkippedCheckpoint {
  std::string path;
  std::string why;
};

struct NewestCheckpoint {
  std::shared_ptr<const CheckpointStore> store;
  std::vector<SkippedCheckpoint> skipped; ///< newer ones that are damaged, or none under such a name, the newest first
};

/// Opens the newest checkpoint of a step before `below` whose manifest, files, sizes and headers are whole; hashes are not compared. If
/// none is whole, the error is that of the newest one. A checkpoint of a later format is not damaged and is an error at once.
Result<NewestCheckpoint> newestWhole(const std::string &folder, uint64_t below = UINT64_MAX);

} // namespace npar::engine
