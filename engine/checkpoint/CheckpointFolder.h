// The folder of checkpoints on the disk: names, what is committed, what is left over.
#pragma once

#include "engine/checkpoint/Manifest.h"
#include "engine/files/Folders.h"
#include "engine/files/OpenFolder.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace npar::engine {

/// One run's hold of a folder of checkpoints. All paths begin with the folder's own. Nothing is removed but what npar has written, which
/// manifests and marks list (OwnFiles.h), and no link is followed. `remarks` gets what stays for that reason, a sentence each.
class CheckpointFolder {
public:
  /// Makes the folder if it is not there, locks it, tries whether it can be written, and removes what killed runs have left behind.
  static Result<CheckpointFolder> open(const std::string &folder, std::vector<std::string> &remarks);

  /// An error when another run has taken the folder over: to be asked before each rename in it.
  Status check() const { return lock->check(); }

  /// A name that no other run uses.
  static std::string freshTag();
  static std::string partialName(const std::string &folder, uint64_t step, const std::string &tag);
  static std::string committedName(const std::string &folder, uint64_t step);

  /// Makes a partial folder, and in it the mark that lists the files which will come.
  Status begin(const std::string &partial, const std::vector<std::string> &files) const;
  /// Writes texts and manifest into the partial folder, syncs it and gives it its name. A damaged checkpoint that has the
  /// name is moved aside; anything else that has it is an error.
  Status commit(const std::string &partial, Manifest manifest, const std::vector<std::pair<std::string, std::string>> &texts,
                std::vector<std::string> &remarks);
  /// Removes a partial folder.
  Status discard(const std::string &partial) const;
  /// Removes all committed checkpoints but the newest `keep` and those of steps `spared`: each loses its name first, so that none is there
  /// in part.
  Status removeOld(uint64_t keep, const std::vector<uint64_t> &spared, const std::string &tag, std::vector<std::string> &remarks);

private:
  explicit CheckpointFolder(std::string folder) : folder(std::move(folder)) {}
  Status removeLeftovers(std::vector<std::string> &remarks) const;
  Status publish(const std::string &partial, const std::string &name, std::vector<std::string> &remarks);
  std::string folder;
  std::string renamed;           ///< the checkpoint that has its name already, but may not have it on the disk; else empty
  std::set<std::string> staying; ///< old checkpoints that cannot go, which has been said
  std::unique_ptr<files::FolderLock> lock;
};

} // namespace npar::engine
