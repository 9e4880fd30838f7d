// What `npar checkpoint` does with checkpoints: offline, by ranges of bytes, in memory that does not grow with them.
#pragma once

#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/ExitCode.h"

#include <optional>
#include <string>

namespace npar::driver {

struct ShowFlags {
  std::string path;
  bool json = false;
};
ExitCode showCheckpoint(const ShowFlags &flags);

struct VerifyCheckpointFlags {
  std::string path;
  bool json = false;
};
ExitCode verifyCheckpoint(const VerifyCheckpointFlags &flags);

struct DiffFlags {
  std::string left, right;
  std::string only = "all"; ///< a kind of tensors, "parameter"
  bool json = false;
};
ExitCode diffCheckpoints(const DiffFlags &flags);

struct ConsolidateFlags {
  std::string path, output;
  std::string only = "parameter"; ///< a kind of tensors; "all"
  std::optional<uint64_t> most; ///< bytes of one file; then `output` is a folder
  bool json = false;
};
ExitCode consolidateCheckpoint(const ConsolidateFlags &flags);

struct ReshardFlags {
  std::string path, output;
  std::optional<int64_t> shards;
  ModelOptions model; ///< its plan says the cut; without a model's name the checkpoint's own text
  bool json = false;
};
ExitCode reshardCheckpoint(const ReshardFlags &flags);

} // namespace npar::driver
