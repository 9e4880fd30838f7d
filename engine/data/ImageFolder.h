// A folder of pictures whose sub-folders are their classes.
#pragma once

#include "engine/pictures/Picture.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::engine {

/// Class k is the k-th sub-folder by name; its pictures are the files in it that end in .png, .jpg or .jpeg, by name. The order is that of
/// bytes, the same on every machine. The folder is listed once. Thread-safe to read.
class ImageFolder {
public:
  /// Refuses a sub-folder without pictures, and a folder without sub-folders. If no class is `needed`, the latter can have the pictures
  /// itself.
  static Result<ImageFolder> open(const std::string &path, bool needed = true);
  int64_t samples() const { return static_cast<int64_t>(names.size()); }
  const std::vector<std::string> &classes() const { return folders; }
  /// The number of the class of a picture.
  int64_t classOf(int64_t sample) const;
  /// Its name in the folder: "ants/0013.jpg", or "0013.jpg" if there are no classes.
  std::string name(int64_t sample) const {
    return (folders.empty() ? "" : folders[static_cast<size_t>(classOf(sample))] + "/") + names[static_cast<size_t>(sample)];
  }
  /// Its bytes, with 1 or 3 channels.
  Result<pictures::Picture> read(int64_t sample, int64_t channels) const;
  /// Remarks on files that are not read.
  const std::vector<std::string> &remarks() const { return worthKnowing; }

private:
  std::string path;
  std::vector<std::string> folders, names, worthKnowing;
  std::vector<int64_t> begins; ///< first sample of each class
};

} // namespace npar::engine
