// The order of writes, syncs and renames that makes a checkpoint whole or absent.
#include "engine/checkpoint/CheckpointFolder.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/OwnFiles.h"
#include "engine/files/StreamHash.h"
#include "engine/files/SyncedFile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace npar::engine {

using files::OpenFolder;
using files::SyncedFile;

static constexpr const char *partialMark = ".partial-";

/// The last part of a path in the folder.
static std::string nameOf(const std::string &path) { return path.substr(path.rfind('/') + 1); }

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

Result<CheckpointFolder> CheckpointFolder::open(const std::string &folder, std::vector<std::string> &remarks) {
  CheckpointFolder result(folder);
  if (Status status = files::makeFolder(folder); !status.ok())
    return status;
  Result<std::unique_ptr<files::FolderLock>> lock = files::FolderLock::take(folder);
  if (!lock.ok())
    return lock.status();
  result.lock = std::move(*lock);
  if (Status status = result.removeLeftovers(remarks); !status.ok())
    return status;
  // Tests whether a checkpoint can be written there, by starting one: a folder with a file in it.
  std::string trial = partialName(folder, 0, freshTag());
  Status status = result.begin(trial, {});
  Status removed = result.discard(trial);
  if (!status.ok() || !removed.ok())
    return status.ok() ? removed : status;
  return result;
}

Status CheckpointFolder::removeLeftovers(std::vector<std::string> &remarks) const {
  Result<OpenFolder> top = OpenFolder::open(folder);
  Result<std::vector<std::string>> names = top.ok() ? top->names() : top.status();
  if (!names.ok())
    return names.status();
  for (const std::string &name : *names) {
    size_t mark = name.find(partialMark);
    bool ours =
        mark != std::string::npos && mark > 5 && name.compare(0, 5, "step-") == 0 && name.find_first_not_of("0123456789", 5) == mark;
    if (!ours)
      continue;
    Result<FolderRemoval> removed = removeOwnFiles(*top, name);
    if (!removed.ok())
      return removed.status();
    if (std::string text = whatStays(folder + "/" + name, *removed); !text.empty())
      remarks.push_back(text + "; it is not a checkpoint: remove it if you do not need it");
  }
  return {};
}

Status CheckpointFolder::begin(const std::string &partial, const std::vector<std::string> &files) const {
  for (const std::string &file : files)
    if (!isFileName(file, /*text=*/file.compare(0, 6, "model/") == 0))
      return Status(Code::Internal, "a checkpoint cannot have a file '" + file + "'");
  Status status = files::makeFolder(partial);
  return status.ok() ? writeSynced(partial + "/" + UnfinishedMark::fileName, UnfinishedMark::text(files)) : status;
}

Status CheckpointFolder::commit(const std::string &partial, Manifest manifest,
                                const std::vector<std::pair<std::string, std::string>> &texts, std::vector<std::string> &remarks) {
  if (!texts.empty()) {
    if (Status status = files::makeFolder(partial + "/model"); !status.ok())
      return status;
    for (const auto &[name, content] : texts) {
      manifest.call.texts.push_back({"model/" + name, content.size(), files::hashText(content.data(), content.size())});
      if (Status status = writeSynced(partial + "/model/" + name, content); !status.ok())
        return status;
    }
    if (Status status = files::syncFolder(partial + "/model"); !status.ok())
      return status;
  }
  std::string text = manifestText(manifest);
  if (text.size() > Manifest::largestFile)
    return Status::runFailed("its manifest would have " + std::to_string(text.size()) + " bytes, more than the " +
                             std::to_string(Manifest::largestFile) + " that may be read");
  if (Status status = writeSynced(partial + "/" + Manifest::fileName, text); !status.ok())
    return status;
  return publish(nameOf(partial), nameOf(committedName(folder, manifest.step)), remarks);
}

Status CheckpointFolder::publish(const std::string &partial, const std::string &name, std::vector<std::string> &remarks) {
  Result<OpenFolder> top = OpenFolder::open(folder);
  Result<OpenFolder> own = top.ok() ? top->inside(partial) : top.status();
  if (!own.ok())
    return own.status();
  Status status = own->removeFile(UnfinishedMark::fileName); // from here on the manifest lists the files
  if (status.ok())
    status = own->sync();
  if (status.ok())
    status = lock->check();
  if (!status.ok())
    return status;
  if (renamed == name) { // an earlier try of this save got that far, and only the sync failed
    Result<FolderRemoval> removed = removeOwnFiles(*top, partial);
    status = removed.ok() ? top->sync() : removed.status();
  } else {
    status = top->rename(partial, name);
    if (!status.ok() && top->kindOf(name) == OpenFolder::Kind::Folder && holdsCheckpoint(folder + "/" + name)) {
      std::string aside = name + ".aside";
      for (int number = 2; top->kindOf(aside) != OpenFolder::Kind::None; ++number)
        aside = name + ".aside-" + std::to_string(number);
      status = top->rename(name, aside);
      if (status.ok())
        remarks.push_back("another '" + folder + "/" + name + "' was there: it is '" + aside + "' now");
      if (status.ok())
        status = top->rename(partial, name);
    }
    renamed = status.ok() ? name : "";
    if (status.ok())
      status = top->sync();
  }
  if (status.ok())
    renamed.clear();
  return status;
}

Status CheckpointFolder::discard(const std::string &partial) const {
  Result<OpenFolder> top = OpenFolder::open(folder);
  return top.ok() ? removeOwnFiles(*top, nameOf(partial)).status() : top.status();
}

Status CheckpointFolder::removeOld(uint64_t keep, const std::vector<uint64_t> &spared, const std::string &tag,
                                   std::vector<std::string> &remarks) {
  Result<std::vector<CommittedCheckpoint>> committed = committedCheckpoints(folder);
  Result<OpenFolder> top = OpenFolder::open(folder);
  if (!committed.ok() || !top.ok())
    return committed.ok() ? top.status() : committed.status();
  for (size_t i = 0; i + keep < committed->size(); ++i) {
    const CommittedCheckpoint &old = (*committed)[i];
    const std::string name = nameOf(old.path), leaving = nameOf(partialName(folder, old.step, tag + "-old"));
    if (staying.count(name) || std::find(spared.begin(), spared.end(), old.step) != spared.end())
      continue;
    Result<FolderRemoval> removed = FolderRemoval{"it is a link", {}};
    bool isFolder = top->kindOf(name) == OpenFolder::Kind::Folder;
    if (isFolder) {
      Status status = lock->check();
      if (status.ok())
        status = top->rename(name, leaving);
      if (!status.ok())
        return status;
      removed = removeOwnFiles(*top, leaving);
      if (!removed.ok())
        return removed.status();
    }
    std::string text = whatStays(old.path, *removed);
    if (text.empty())
      continue;
    staying.insert(name);
    remarks.push_back("old checkpoint " + text);
    if (isFolder)
      if (Status status = top->rename(leaving, name); !status.ok())
        return status;
  }
  return {};
}

} // namespace npar::engine
