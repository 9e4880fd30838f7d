// The tensors of a checkpoint as one store: whichever pieces its plan cut them into, any other plan reads its own ranges.
#pragma once

#include "engine/checkpoint/Manifest.h"
#include "engine/checkpoint/TensorStore.h"

#include <functional>

namespace npar::engine {

/// A committed checkpoint, opened: the manifest has been checked, and that each shard has the tensors that the manifest says. Tensors have
/// their logical names ("wte.weight", "wte.weight.exp_avg") and stored shapes. Hashes are checked by `verify` and `compareHashes` alone.
class CheckpointStore : public TensorStore {
public:
  virtual const Manifest &manifest() const = 0;
  /// The folder of the checkpoint.
  virtual const std::string &folder() const = 0;
  /// Bytes of `count` elements of a piece, from its element `first` on. Fails when the file has changed its size or cannot be read.
  virtual Status readPiece(const ManifestTensor &tensor, const ManifestPiece &piece, uint64_t first, uint64_t count,
                           uint8_t *bytes) const = 0;
  /// Reads the pieces number `part`, `part` + `parts` ... of all and compares their hashes, in parallel. The error names file and tensor.
  /// `progress` (may be null) is told the bytes done, from any thread.
  virtual Status verify(uint64_t part = 0, uint64_t parts = 1, const std::function<void(uint64_t)> &progress = nullptr) const = 0;
};

/// `path` is a checkpoint's folder, or a folder of checkpoints, of which the newest is taken. The error for one that is damaged names the
/// newest whole one, if there is another: which one to use is for the caller to say.
Result<std::shared_ptr<const CheckpointStore>> openCheckpointStore(const std::string &path);

/// Returns true if `path` is a checkpoint or a folder that contains one.
bool isCheckpoint(const std::string &path);

/// Returns true if a folder has a manifest, or a shard of a checkpoint whose manifest is missing.
bool holdsCheckpoint(const std::string &folder);

/// A committed checkpoint in a folder of them.
struct CommittedCheckpoint {
  uint64_t step = 0;
  std::string path;
};

/// The committed checkpoints of a folder ("step-100"), ascending; none if the folder does not exist. A folder of that name without a
/// checkpoint was not made by npar and is left out.
Result<std::vector<CommittedCheckpoint>> committedCheckpoints(const std::string &folder);

/// Returns everything called "step-100" in a folder, ascending, so that an entry that holds no checkpoint, or cannot be read, gets
/// reported.
Result<std::vector<CommittedCheckpoint>> namedCheckpoints(const std::string &folder);

/// The folder of the checkpoint that `path` names: `path` itself, or the newest one in a folder of them.
Result<std::string> folderOfCheckpoint(const std::string &path);

/// Opens one of them. Refuses a checkpoint whose step differs from the name.
Result<std::shared_ptr<const CheckpointStore>> openNamed(const CommittedCheckpoint &named);

/// A checkpoint that cannot be used, and why.
struct SkippedCheckpoint {
  std::string path;
  std::string why;
};

/// The newest checkpoint of a folder that training can continue from.
struct NewestCheckpoint {
  std::shared_ptr<const CheckpointStore> store;
  std::vector<SkippedCheckpoint> skipped; ///< newer folders `step-N` that are damaged or hold no checkpoint, newest first
};

/// Opens the newest checkpoint before step `below` whose manifest, files, sizes and headers are intact; hashes are not compared. If none is
/// intact, returns the error of the newest one. A checkpoint in a later format is not damaged: it is an error at once.
Result<NewestCheckpoint> newestWhole(const std::string &folder, uint64_t below = UINT64_MAX);

} // namespace npar::engine
