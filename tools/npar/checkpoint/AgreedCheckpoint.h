// Which checkpoint a path means, decided once for all processes of a job: each of them may see another folder, or another newest one in it.
#pragma once

#include "engine/checkpoint/CheckpointStore.h"
#include "tools/npar/job/Job.h"

#include <string>

namespace npar::driver {

/// What tells a checkpoint from any other.
struct CheckpointIdentity {
  bool known = false; ///< false: there is no checkpoint
  std::string name;   ///< of its folder in the folder that a flag names, "step-4"; empty: the flag names it itself
  uint64_t step = 0;
  std::string hash; ///< of its manifest

  /// The path of its folder.
  std::string in(const std::string &path) const { return name.empty() ? path : path + "/" + name; }
};

/// Of a checkpoint that was found by `path`.
CheckpointIdentity identityOf(const engine::CheckpointStore &store, const std::string &path);

/// What process 0 gives, in all processes, which call it together.
Outcome<CheckpointIdentity> toldByVoice(Job &job, const CheckpointIdentity &own);

/// Whether this process finds by `path` what process 0 has found. The error has step and manifest of both.
engine::Status findsTheSame(const CheckpointIdentity &told, const std::string &path);

/// The path to read weights from. Where `path` is a folder of checkpoints that is the newest one in process 0's, which all others must find
/// too; the path of anything else stays. All processes call it together.
Outcome<std::string> settleCheckpoint(Job &job, const std::string &path);

} // namespace npar::driver
