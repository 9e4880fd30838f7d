#include "engine/data/ImageFolder.h"

#include "engine/data/NumberText.h"
#include "engine/files/ClassFolders.h"
#include "engine/files/Ending.h"
#include "engine/files/Folders.h"
#include "engine/pictures/Codecs.h"

#include <algorithm>
#include <filesystem>

namespace npar::engine {

Result<ImageFolder> ImageFolder::open(const std::string &path, bool needed) {
  std::error_code ignored;
  if (!files::isFolder(path))
    return Status::badInput("cannot read the pictures '" + path +
                            "': " + (std::filesystem::exists(path, ignored) ? "it is not a folder" : "there is no such folder"));
  Result<std::vector<std::string>> entries = files::namesIn(path);
  if (!entries.ok())
    return entries.status();
  ImageFolder result;
  result.path = path;
  int64_t others = 0;
  for (const std::string &folder : *entries) {
    if (!files::isClassFolder(path, folder)) {
      others += folder[0] != '.';
      continue;
    }
    Result<std::vector<std::string>> names = files::namesIn(path + "/" + folder);
    if (!names.ok())
      return names.status();
    auto end = std::partition(names->begin(), names->end(), files::isPictureName);
    if (end == names->begin())
      return Status::badInput("class folder '" + path + "/" + folder + "' has no PNG or JPEG file (.png, .jpg, .jpeg), among " +
                              number(static_cast<int64_t>(names->size())) + " files; remove the folder or put pictures into it");
    others += names->end() - end;
    std::sort(names->begin(), end);
    result.folders.push_back(folder);
    result.begins.push_back(result.samples());
    std::move(names->begin(), end, std::back_inserter(result.names));
  }
  if (result.folders.empty() && !needed) {
    result.names = std::move(*entries);
    result.names.erase(
        std::remove_if(result.names.begin(), result.names.end(), [](const auto &name) { return !files::isPictureName(name); }),
        result.names.end());
    others -= result.samples();
    if (result.names.empty())
      return Status::badInput("folder '" + path + "' has neither pictures (.png, .jpg, .jpeg) nor sub-folders with pictures");
  } else if (result.folders.empty())
    return Status::badInput("folder '" + path + "' has no sub-folders: it needs one for each class of pictures");
  if (others > 0)
    result.worthKnowing.push_back(number(others) + (others == 1 ? " file" : " files") + " in '" + path +
                                  "' that are not PNG or JPEG files of a class are ignored");
  return result;
}

int64_t ImageFolder::classOf(int64_t sample) const { return std::upper_bound(begins.begin(), begins.end(), sample) - begins.begin() - 1; }

Result<pictures::Picture> ImageFolder::read(int64_t sample, int64_t channels) const {
  Result<pictures::Picture> picture = pictures::readPicture(path + "/" + name(sample));
  return picture.ok() ? pictures::withChannels(std::move(*picture), channels) : picture;
}

} // namespace npar::engine
