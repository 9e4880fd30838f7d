// Knows the files that npar has written as parts of a checkpoint, so that nothing else is ever removed with one.
#pragma once

#include "engine/checkpoint/Manifest.h"
#include "engine/files/OpenFolder.h"

#include <string>
#include <vector>

namespace npar::engine {

/// The first file of a folder that becomes a checkpoint, gone before the folder gets its name: a list of the files that will be in it. It
/// tells a half-written checkpoint from a folder of the user's.
struct UnfinishedMark {
  static constexpr const char *fileName = "unfinished.txt";
  static constexpr uint64_t largestFile = 100'000'000;
  static std::string text(const std::vector<std::string> &files);
  /// Reads what `text` wrote, which is not trusted. An error where it was cut or names a file that no checkpoint has.
  static Result<std::vector<std::string>> files(const std::string &text);
};

/// Every file of a checkpoint except its manifest: shards, then texts ("model/gpt2.npar").
std::vector<std::string> filesOf(const Manifest &manifest);

/// Returns whether a manifest can contain this file name: in the folder itself, or with `text` in "model/"; printable ASCII, not hidden.
bool isFileName(const std::string &name, bool text);

/// The result of removing npar's files from a folder.
struct FolderRemoval {
  std::string kept;               ///< why nothing was removed; empty: npar's own files are gone
  std::vector<std::string> other; ///< names of what npar has not written, which stays, and so does the folder; empty: it is gone
};

/// Removes from the folder `name` in `parent` what its manifest or its mark names, these two last, and then the folder if nothing else is
/// in it. A link, or a folder without either of them, is kept as it is. An error when a file cannot be removed.
Result<FolderRemoval> removeOwnFiles(const files::OpenFolder &parent, const std::string &name);

/// A text for people: what stays in a folder, and why. Empty where all is gone.
std::string whatStays(const std::string &path, const FolderRemoval &removal);

} // namespace npar::engine
