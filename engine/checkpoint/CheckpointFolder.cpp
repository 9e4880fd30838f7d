// The order of writes, syncs and renames that makes a checkpoint whole or absent.
#include "engine/checkpoint/CheckpointFolder.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/PieceHash.h"
#include "engine/files/SyncedFile.h"

#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace npar::engine {

using program::SyncedFile;

static constexpr const char *partialMark = ".partial-";

std::string CheckpointFolder::committedName(const std::string &folder, uint64_t step) { return folder + "/step-" + std::to_string(step); }

std::string CheckpointFolder::partialName(const std::string &folder, uint64_t step, const std::string &tag) {
  return committedName(folder, step) + partialMark + tag;
}

std::string CheckpointFolder::freshTag() {
  char text[64];
  std::snprintf(text, sizeof(text), "%lld-%llx", static_cast<long long>(::getpid()),
                static_cast<unsigned long long>(std::chrono::system_clock::now().time_since_epoch().count()));
  return text;
}

/// A whole small file.
static Status writeSynced(const std::string &path, const std::string &content) {
  Result<SyncedFile> file = SyncedFile::create(path);
  if (!file.ok())
    return file.status();
  Status status = file->write(content.data(), content.size());
  return status.ok() ? file->finish() : status;
}

Result<CheckpointFolder> CheckpointFolder::open(const std::string &folder) {
  CheckpointFolder result(folder);
  if (Status status = program::makeFolder(folder); !status.ok())
    return status;
  Result<std::unique_ptr<program::FolderLock>> lock = program::FolderLock::take(folder);
  if (!lock.ok())
    return lock.status();
  result.lock = std::move(*lock);
  if (Status status = result.removeLeftovers(); !status.ok())
    return status;
  // Whether a checkpoint can be written there: as each begins, with a folder and a file in it.
  std::string trial = partialName(folder, 0, freshTag());
  Status status = program::makeFolder(trial);
  if (status.ok())
    status = writeSynced(trial + "/trial", "trial");
  Status removed = program::removeFolder(trial);
  if (!status.ok() || !removed.ok())
    return status.ok() ? removed : status;
  return result;
}

Status CheckpointFolder::removeLeftovers() const {
  Result<std::vector<std::string>> names = program::namesIn(folder);
  if (!names.ok())
    return names.status();
  for (const std::string &name : *names) {
    size_t mark = name.find(partialMark);
    bool ours =
        mark != std::string::npos && mark > 5 && name.compare(0, 5, "step-") == 0 && name.find_first_not_of("0123456789", 5) == mark;
    if (ours)
      if (Status status = program::removeFolder(folder + "/" + name); !status.ok())
        return status;
  }
  return {};
}

Status CheckpointFolder::commit(const std::string &partial, Manifest manifest,
                                const std::vector<std::pair<std::string, std::string>> &texts) const {
  if (!texts.empty()) {
    if (Status status = program::makeFolder(partial + "/model"); !status.ok())
      return status;
    for (const auto &[name, content] : texts) {
      manifest.call.texts.push_back({"model/" + name, content.size(), hashText(content.data(), content.size())});
      if (Status status = writeSynced(partial + "/model/" + name, content); !status.ok())
        return status;
    }
    if (Status status = program::syncFolder(partial + "/model"); !status.ok())
      return status;
  }
  std::string text = manifestText(manifest);
  if (text.size() > Manifest::largestFile)
    return Status::runFailed("its manifest would have " + std::to_string(text.size()) + " bytes, more than the " +
                             std::to_string(Manifest::largestFile) + " that may be read");
  if (Status status = writeSynced(partial + "/" + Manifest::fileName, text); !status.ok())
    return status;
  if (Status status = program::syncFolder(partial); !status.ok())
    return status;
  if (Status status = lock->check(); !status.ok())
    return status;
  if (Status status = program::renameFolder(partial, committedName(folder, manifest.step)); !status.ok())
    return status;
  return program::syncFolder(folder);
}

Status CheckpointFolder::removeOld(uint64_t keep, const std::vector<uint64_t> &spared, const std::string &tag) const {
  Result<std::vector<CommittedCheckpoint>> committed = committedCheckpoints(folder);
  if (!committed.ok())
    return committed.status();
  for (size_t i = 0; i + keep < committed->size(); ++i) {
    if (std::find(spared.begin(), spared.end(), (*committed)[i].step) != spared.end())
      continue;
    if (Status status = lock->check(); !status.ok())
      return status;
    std::string leaving = partialName(folder, (*committed)[i].step, tag + "-old");
    if (Status status = program::renameFolder((*committed)[i].path, leaving); !status.ok())
      return status;
    if (Status status = program::removeFolder(leaving); !status.ok())
      return status;
  }
  return {};
}

} // namespace npar::engine
