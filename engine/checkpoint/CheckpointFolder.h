// The folder of checkpoints on the disk: names, what is committed, what is left over.
#pragma once

#include "engine/checkpoint/Manifest.h"
#include "engine/files/Folders.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace npar::engine {

/// One run's hold of a folder of checkpoints. All paths begin with the folder's own.
class CheckpointFolder {
public:
  /// Makes the folder if it is not there, locks it, tries whether it can be written, and removes what killed runs have left behind.
  static Result<CheckpointFolder> open(const std::string &folder);

  /// A name that no other run uses.
  static std::string freshTag();
  static std::string partialName(const std::string &folder, uint64_t step, const std::string &tag);
  static std::string committedName(const std::string &folder, uint64_t step);

  /// Writes texts and manifest into the partial folder, syncs it and gives it its name.
  Status commit(const std::string &partial, Manifest manifest, const std::vector<std::pair<std::string, std::string>> &texts) const;
  /// Removes all committed checkpoints but the newest `keep` and those of steps `spared`: each loses its name first, so that none is there
  /// in part.
  Status removeOld(uint64_t keep, const std::vector<uint64_t> &spared, const std::string &tag) const;

private:
  explicit CheckpointFolder(std::string folder) : folder(std::move(folder)) {}
  Status removeLeftovers() const;
  std::string folder;
  std::unique_ptr<program::FolderLock> lock;
};

} // namespace npar::engine
