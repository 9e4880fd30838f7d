// One rank's file of a checkpoint.
#pragma once

#include "engine/checkpoint/CheckpointTensors.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::engine {

/// The contents of a shard: `pieces` of one rank, whose bytes follow each other in this order.
struct ShardContent {
  int64_t rank = 0;
  const program::OwnedPiece *pieces = nullptr;
  size_t count = 0;
  const uint8_t *bytes = nullptr;
};

/// Describes a shard that has been written.
struct ShardRecord {
  int64_t rank = 0;
  uint64_t bytes = 0;              ///< of the file
  std::vector<std::string> hashes; ///< of the pieces, in order
};

/// "rank-00003.safetensors".
std::string shardName(int64_t rank);

/// Writes and syncs the shard of a rank in a folder. `tensors` by variable (null: not stored).
Result<ShardRecord> writeShard(const std::string &folder, const std::vector<const ManifestTensor *> &tensors, const ShardContent &content);

} // namespace npar::engine
