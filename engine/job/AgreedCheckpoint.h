// Makes all processes of a job use the checkpoint that process 0 finds: the others may see another folder, or another newest checkpoint.
#pragma once

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/job/CheckpointIdentity_generated.h"
#include "engine/job/Processes.h"

#include <string>

namespace npar::job {

/// Identifies a checkpoint. CheckpointIdentity.fbs describes its fields.
struct CheckpointIdentity : wire::CheckpointIdentityT {
  /// The path of the checkpoint's folder, if the flag names `path`.
  std::string in(const std::string &path) const { return name.empty() ? path : path + "/" + name; }
};

/// The identity of a checkpoint that was found by `path`.
CheckpointIdentity identityOf(const engine::CheckpointStore &store, const std::string &path);

/// Returns process 0's `own` in all processes, which must call it together.
engine::Result<CheckpointIdentity> toldByFirst(const Processes &processes, const CheckpointIdentity &own);

/// An error, with step and manifest of both checkpoints, if this process finds another one by `path` than process 0.
engine::Status findsTheSame(const CheckpointIdentity &told, const std::string &path);

/// The path to read weights from. If `path` is a folder of checkpoints, this is the newest one that process 0 finds, and all other
/// processes must find it too; any other path is returned unchanged. All processes must call it together.
engine::Result<std::string> settleCheckpoint(Processes &processes, const std::string &path);

} // namespace npar::job
