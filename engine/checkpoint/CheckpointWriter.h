// Writes checkpoints while training continues: a snapshot between two steps, files in the background, one rename that makes it valid.
#pragma once

#include "engine/checkpoint/Manifest.h"
#include "engine/program/Loader.h"
#include "engine/runtime/Session.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace npar::engine {

struct CheckpointOptions {
  std::string folder;                                     ///< of checkpoints; made if it is not there
  uint64_t keep = 0;                                      ///< how many to keep, the newest; 0: all
  std::vector<uint64_t> spared = {};                      ///< steps of some that stay besides
  ModelCall call;                                         ///< without `texts`
  std::vector<std::pair<std::string, std::string>> texts; ///< name and content of what the model consists of
  int retries = 2;                                        ///< how often a save that failed is tried again
  double retrySeconds = 0.5;                              ///< before the first of these tries; twice as long before the second ...
};

/// The state of training that a checkpoint stores in addition to its tensors: fields of Manifest.
struct TrainingState {
  uint64_t step = 0, seed = 0;
  std::vector<DataPosition> data;
  double rate = 0;
  std::vector<std::string> tuned = {}; ///< ModelCall::tuned
};

/// A checkpoint is the folder FOLDER/step-N. It grows as step-N.partial-... with one shard for each rank that owns something; when all are
/// synced, the manifest is written last, and the folder takes its name. So what has that name is whole, and the one before it stays until
/// then. What a killed run has left behind is removed when the next one begins. A save that fails, in whichever session, is tried again by
/// all of them from the same snapshot: a disk may be full, or a network away, for a moment only.
///
/// Each session writes the shards of its ranks, the one with rank 0 the manifest. All sessions make one of these and call the same, in the
/// same order, between steps. One save is under way at most. Nothing here throws; a failure leaves the checkpoints before it valid.
class CheckpointWriter {
public:
  /// Takes the memory of the snapshot; refuses a folder that cannot be written or that another run writes to.
  static Result<std::unique_ptr<CheckpointWriter>> open(Session &session, std::shared_ptr<const program::LoadedProgram> program,
                                                        CheckpointOptions options);
  /// Waits for a save under way; where ranks are in other sessions it is left unfinished.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter &) = delete;
  CheckpointWriter &operator=(const CheckpointWriter &) = delete;

  /// Takes a snapshot of parameters and state and begins to write it; waits first for a save that is under way, whose failure it returns
  /// without another save.
  Status save(const TrainingState &state);
  /// After every step: how a save that is under way continues. Its failure, after all tries, is returned once, in all sessions.
  Status poll();
  /// Waits until nothing is under way.
  Status finish();
  /// Returns true if another save can follow. It cannot if the sessions can no longer communicate, which is not a failed save.
  bool usable() const;
  /// Keeps the checkpoints of these steps, and of no others, however many newer ones exist.
  void spare(std::vector<uint64_t> steps);
  /// After a save those that are not to be kept are removed; this does it again, for what is spared no longer. Not while a save is under
  /// way.
  void removeOld();
  /// An error when another run has taken the folder over: to be asked before any other rename in it. Good in sessions without rank 0.
  Status check() const;
  /// The newest checkpoint that this has written, its folder; empty before the first.
  const std::string &newest() const;
  /// Returns problems since the last call that did not harm a checkpoint, such as a failed attempt or an old one that could not be removed.
  std::vector<std::string> takeRemarks();

private:
  struct Implementation;
  explicit CheckpointWriter(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace npar::engine
