// The operations of `npar checkpoint`. They work without a session, on byte ranges, in memory independent of the checkpoint's size.
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
  std::string only = "all"; ///< a kind of tensors, such as "parameter"
  bool json = false;
};
ExitCode diffCheckpoints(const DiffFlags &flags);

struct ConsolidateFlags {
  std::string path, output;
  std::string only = "parameter"; ///< a kind of tensors, or "all"
  std::optional<uint64_t> most;   ///< largest size of a file in bytes; if set, `output` is a folder
  std::string format = "safetensors"; ///< or "pytorch"
  bool isPytorch() const { return format == "pytorch"; }
  bool json = false;
};
ExitCode consolidateCheckpoint(const ConsolidateFlags &flags);

struct ReshardFlags {
  std::string path, output;
  std::optional<int64_t> shards;
  ModelOptions model; ///< its plan determines the shards
  bool json = false;
};
ExitCode reshardCheckpoint(const ReshardFlags &flags);

} // namespace npar::driver
