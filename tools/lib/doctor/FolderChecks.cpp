// The standard library, the cache of kernels, and room on disks.
#include "tools/lib/doctor/Checks.h"

#include "engine/files/PrivateFolder.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/Printable.h"

#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace npar::doctor {

namespace fs = std::filesystem;
using readable::humanBytes;
using readable::printableName;

namespace {

/// A checkpoint of a small model and its optimizer.
constexpr uint64_t leastSpace = uint64_t{100} << 20;

std::string quoted(const std::string &path) { return "'" + printableName(path) + "'"; }

/// The path itself, or the nearest folder above it that exists.
fs::path existingAbove(const std::string &path) {
  std::error_code failed;
  fs::path here = fs::absolute(path, failed).lexically_normal();
  while (here.has_relative_path() && !fs::exists(here, failed))
    here = here.parent_path();
  return here;
}

bool isWritable(const fs::path &folder) { return ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0; }

} // namespace

Finding checkLibrary(const std::string &folder, size_t models) {
  if (models == 0)
    return {"library", Health::Problem, fmt::format("no model in {}/models", quoted(folder)),
            "unset NPAR_STDLIB, or set it to a folder with models, layers and plans"};
  return {"library", Health::Ok, fmt::format("{} models in {}", models, quoted(folder)), ""};
}

Finding checkCache(const Surroundings &) {
  files::CachePlace place = files::cachePlace("kernels");
  const std::string name = "cache", elsewhere = "set NPAR_CACHE to a folder of your own: without one, npar compiles all kernels each time";
  if (place.root.empty())
    return {name, Health::Problem, "no place: HOME, XDG_CACHE_HOME and NPAR_CACHE are not set", elsewhere};
  engine::Result<std::optional<files::PrivateFolder>> found = files::PrivateFolder::find(place.root, place.below);
  if (!found.ok())
    return {name, Health::Problem, found.status().message(), found.status().code() == engine::Code::CheckFailed ? "" : elsewhere};
  fs::path folder = *found ? fs::path(place.path()) : existingAbove(place.path());
  if (!isWritable(folder))
    return {name, Health::Problem, quoted(folder.string()) + " cannot be written", elsewhere};
  return {name, Health::Ok, quoted(place.path()) + (*found ? "" : ", which npar makes when it needs it"), ""};
}

Finding checkDisk(const Surroundings &surroundings) {
  std::error_code missing; // a folder that was removed can still be asked about its disk
  (void)fs::current_path(missing);
  if (missing)
    return {"disk", Health::Problem, "the current folder does not exist", "change to another folder"};
  std::string text;
  files::CachePlace place = files::cachePlace("kernels");
  for (const auto &[name, path] : {std::pair<std::string, std::string>("here", "."), {"in the cache", place.path()}}) {
    std::optional<DiskSpace> space = path.empty() ? std::nullopt : surroundings.space(existingAbove(path).string());
    if (!space)
      continue;
    std::string found = fmt::format("{} free {}", humanBytes(static_cast<double>(space->freeBytes)), name);
    if (space->readOnly)
      return {"disk", Health::Problem, fmt::format("the file system {} is read-only", name),
              path == "." ? "run npar in a folder that you can write" : "set NPAR_CACHE to another folder"};
    if (space->freeFiles == 0)
      return {"disk", Health::Problem, fmt::format("the file system {} has no room for another file", name), "remove files there"};
    if (space->freeBytes < leastSpace)
      return {"disk", Health::Problem, found, fmt::format("make room: a checkpoint of a small model needs {}", humanBytes(leastSpace))};
    text += (text.empty() ? "" : ", ") + found;
  }
  if (text.empty())
    return {"disk", Health::Note, "the system does not tell how much is free", ""};
  return {"disk", Health::Ok, text, ""};
}

} // namespace npar::doctor
