// Looks at the ending of the last part of a path.
#include "engine/files/OutputName.h"

#include "engine/files/Destination.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>

namespace npar::files {

namespace {

/// `endings` belong to the format; the first one is suggested.
engine::Status checkEnding(const std::string &flag, const std::string &path, const std::string &format,
                           const std::vector<std::string> &endings) {
  const std::filesystem::path name = path;
  const std::string ending = name.extension().string();
  if (ending.empty() || std::find(endings.begin(), endings.end(), ending) != endings.end() || destinationOf(path).direct)
    return {};
  return engine::Status::usage(flag + " writes a " + format + " file, not '" + ending + "': name the file '" +
                               std::filesystem::path(path).replace_extension(endings.front()).string() + "' instead of '" + path + "'");
}

} // namespace

engine::Status checkSafetensorsName(const std::string &flag, const std::string &path) {
  return checkEnding(flag, path, "safetensors", {".safetensors"});
}

engine::Status checkPytorchName(const std::string &flag, const std::string &path) {
  return checkEnding(flag, path, "PyTorch", {".pt", ".pth", ".bin"});
}

std::string whyOtherFormat(const std::string &flag, const std::string &path, const std::vector<std::string> &endings) {
  static const char *const known[] = {".csv", ".html", ".jpeg", ".jpg",         ".json", ".jsonl", ".npx",
                                      ".pdf", ".png",  ".pt",   ".safetensors", ".svg",  ".tsv"};
  std::string ending = std::filesystem::path(path).extension().string();
  for (char &letter : ending)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  bool other = std::find(std::begin(known), std::end(known), ending) != std::end(known);
  if (!other || endings.empty() || std::find(endings.begin(), endings.end(), ending) != endings.end() || destinationOf(path).direct)
    return "";
  std::string wanted;
  for (const std::string &each : endings)
    wanted += (wanted.empty() ? "'" : " or '") + each + "'";
  return flag + " '" + path + "' has the suffix of another format: use " + wanted;
}

} // namespace npar::files
