// Asks the manifest, or the mark of a folder that has none yet, and removes those names through descriptors.
#include "engine/checkpoint/OwnFiles.h"

#include "engine/safetensors/Safetensors.h"

#include <algorithm>
#include <optional>
#include <set>

namespace npar::engine {

using files::OpenFolder;

namespace {

const std::string textFolder = "model";
const std::string markHead = "npar writes a checkpoint into this folder. It is not whole while this file is here. Its files:\n";
const std::string markEnd = "end of the list\n";

bool beginsWith(const std::string &text, const std::string &head) { return text.compare(0, head.size(), head) == 0; }

/// What npar has written in a folder. `temporaries`: also files that were on their way to these names, as a killed process leaves them.
struct OwnNames {
  std::set<std::string> files;
  bool temporaries = false;

  bool has(const std::string &name) const {
    if (files.count(name))
      return true;
    size_t ending = name.rfind('.');
    return temporaries && ending != std::string::npos && files.count(name.substr(0, ending));
  }
};

/// Returns nothing if there is neither a mark nor a manifest.
std::optional<OwnNames> ownNames(const OpenFolder &folder, const std::string &description) {
  OwnNames own;
  if (Result<std::string> mark = folder.read(UnfinishedMark::fileName, UnfinishedMark::largestFile); mark.ok())
    if (Result<std::vector<std::string>> files = UnfinishedMark::files(*mark); files.ok()) {
      own.files.insert(files->begin(), files->end());
      own.temporaries = true;
      return own;
    }
  Result<std::string> text = folder.read(Manifest::fileName, Manifest::largestFile);
  if (!text.ok())
    return std::nullopt;
  Result<Manifest> manifest = parseManifest(*text, description);
  if (!manifest.ok())
    return std::nullopt;
  std::vector<std::string> files = filesOf(*manifest);
  own.files.insert(files.begin(), files.end());
  return own;
}

/// Returns whether the mark is there and was cut while npar wrote it.
bool hasCutMark(const OpenFolder &folder) {
  Result<std::string> mark = folder.read(UnfinishedMark::fileName, UnfinishedMark::largestFile);
  return mark.ok() && (beginsWith(*mark, markHead) || beginsWith(markHead, *mark));
}

/// Removes the own files of one folder, whose names begin with `prefix` in the list; adds those of others to `other`.
Status removeFrom(const OpenFolder &folder, const std::string &prefix, const OwnNames &own, std::vector<std::string> &other) {
  Result<std::vector<std::string>> names = folder.names();
  if (!names.ok())
    return names.status();
  for (const std::string &name : *names) {
    OpenFolder::Kind kind = folder.kindOf(name);
    bool last = prefix.empty() && (name == Manifest::fileName || name == UnfinishedMark::fileName);
    if (prefix.empty() && name == textFolder && kind == OpenFolder::Kind::Folder) {
      Result<OpenFolder> texts = folder.inside(name);
      if (!texts.ok())
        return texts.status();
      size_t before = other.size();
      if (Status status = removeFrom(*texts, textFolder + "/", own, other); !status.ok())
        return status;
      if (other.size() == before)
        if (Status status = folder.removeEmptyFolder(name); !status.ok())
          return status;
    } else if (kind != OpenFolder::Kind::File || !(last || own.has(prefix + name))) {
      other.push_back(prefix + name);
    } else if (!last) {
      if (Status status = folder.removeFile(name); !status.ok())
        return status;
    }
  }
  return {};
}

} // namespace

std::string UnfinishedMark::text(const std::vector<std::string> &files) {
  std::string text = markHead;
  for (const std::string &file : files)
    text += file + "\n";
  return text + markEnd;
}

Result<std::vector<std::string>> UnfinishedMark::files(const std::string &text) {
  auto wrong = [](const std::string &why) { return Status::badInput(std::string(fileName) + " " + why); };
  bool whole = text.size() >= markHead.size() + markEnd.size() && beginsWith(text, markHead) &&
               text.compare(text.size() - markEnd.size(), markEnd.size(), markEnd) == 0;
  if (!whole)
    return wrong("is not as npar writes it");
  std::vector<std::string> files;
  const size_t end = text.size() - markEnd.size();
  for (size_t at = markHead.size(), stop; at < end; at = stop + 1) {
    stop = text.find('\n', at);
    std::string name = text.substr(at, stop - at);
    if (!isFileName(name, beginsWith(name, textFolder + "/")))
      return wrong("names the file " + quotedName(name) + ", which no checkpoint has");
    files.push_back(std::move(name));
  }
  return files;
}

std::vector<std::string> filesOf(const Manifest &manifest) {
  std::vector<std::string> names;
  for (const std::vector<ManifestFile> *list : {&manifest.files, &manifest.call.texts})
    for (const ManifestFile &file : *list)
      names.push_back(file.name);
  return names;
}

bool isFileName(const std::string &name, bool text) {
  const std::string prefix = text ? textFolder + "/" : "";
  if (!beginsWith(name, prefix) || (!text && name == textFolder))
    return false;
  std::string own = name.substr(prefix.size());
  auto plain = [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '/' && c != '\\'; };
  return !own.empty() && own.size() <= 200 && own[0] != '.' && std::all_of(own.begin(), own.end(), plain);
}

Result<FolderRemoval> removeOwnFiles(const OpenFolder &parent, const std::string &name) {
  FolderRemoval result;
  OpenFolder::Kind kind = parent.kindOf(name);
  if (kind == OpenFolder::Kind::None)
    return result;
  if (kind != OpenFolder::Kind::Folder) {
    result.kept = kind == OpenFolder::Kind::Link ? "it is a link" : "it is not a folder";
    return result;
  }
  Result<OpenFolder> folder = parent.inside(name);
  if (!folder.ok())
    return folder.status();
  std::optional<OwnNames> own = ownNames(*folder, name);
  if (!own) {
    Result<std::vector<std::string>> names = folder->names();
    if (names.ok() &&
        (names->empty() || (names->size() == 1 && hasCutMark(*folder)))) { // the process ended, or the disk was full, right then
      Status status = folder->removeFile(UnfinishedMark::fileName);
      if (status.ok())
        status = parent.removeEmptyFolder(name);
      return status.ok() ? Result<FolderRemoval>(result) : status;
    }
    result.kept = "neither a " + std::string(Manifest::fileName) + " nor an " + UnfinishedMark::fileName +
                  " in it lists the files that npar has written";
    return result;
  }
  if (Status status = removeFrom(*folder, "", *own, result.other); !status.ok())
    return status;
  for (const char *last : {Manifest::fileName, UnfinishedMark::fileName})
    if (folder->kindOf(last) == OpenFolder::Kind::File)
      if (Status status = folder->removeFile(last); !status.ok())
        return status;
  folder = Status(); // closed: some file systems remove no folder that is open
  if (!result.other.empty())
    return result;
  Status status = parent.removeEmptyFolder(name);
  return status.ok() ? Result<FolderRemoval>(result) : status;
}

std::string whatStays(const std::string &path, const FolderRemoval &removal) {
  if (!removal.kept.empty())
    return "'" + path + "' stays: " + removal.kept;
  if (removal.other.empty())
    return "";
  std::string text = "'" + path + "' is kept: npar did not write " + quotedName(removal.other.front());
  return text + (removal.other.size() > 1 ? " and " + std::to_string(removal.other.size() - 1) + " more in it" : " in it");
}

} // namespace npar::engine
