// Compares files by what they are, not by how they are spelled.
#include "tools/lib/models/FileClaims.h"

#include "engine/files/Destination.h"
#include "engine/files/Folders.h"
#include "engine/files/OutputName.h"

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace npar::models {
namespace {

constexpr const char *ofData = "the data", *ofLengths = "the lengths of documents";

/// Both are written as it comes (standard output, and a flag that says /dev/stdout), so that neither takes the other's place.
bool bothDirect(const std::string &one, const std::string &other) {
  return files::destinationOf(one).direct && files::destinationOf(other).direct;
}

bool sameFile(const std::string &one, const std::string &other) {
  struct stat left, right;
  bool leftThere = ::stat(one.c_str(), &left) == 0, rightThere = ::stat(other.c_str(), &right) == 0;
  if (leftThere && rightThere)
    return left.st_dev == right.st_dev && left.st_ino == right.st_ino && S_ISREG(left.st_mode);
  return !leftThere && !rightThere && files::destinationOf(one).path == files::destinationOf(other).path;
}

/// The folder of checkpoints itself, or a name in it that npar gives.
bool isOfCheckpoints(const std::string &output, const std::string &folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  auto settled = [&](const std::string &path) {
    return fs::weakly_canonical(fs::absolute(fs::path(path) / ".").lexically_normal().parent_path(), ignored);
  };
  fs::path own = settled(folder), path = settled(output);
  if (path == own)
    return true;
  auto inside = path.lexically_relative(own);
  std::string name = inside.empty() ? "" : inside.begin()->string();
  return name == "best.json" || name == files::FolderLock::fileName || name.rfind("step-", 0) == 0;
}

} // namespace

FileClaims::FileClaims() {
  for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status;
    if (::fstat(stream, &status) == 0 && S_ISREG(status.st_mode))
      write(stream == STDOUT_FILENO ? "standard output" : "standard error", "/proc/self/fd/" + std::to_string(stream));
  }
}

void FileClaims::write(const std::string &what, const std::string &path, std::vector<std::string> endings) {
  if (!path.empty())
    outputs.push_back({what, path, std::move(endings)});
}

void FileClaims::writeCheckpoints(const std::string &what, const std::string &folder) {
  if (!folder.empty())
    folders.push_back({what, folder, {}});
}

void FileClaims::read(const std::string &what, const std::string &path) {
  if (path.empty())
    return;
  inputs.push_back({what, path, {}});
  engine::Result<std::vector<std::string>> names = files::namesIn(path);
  if (!names.ok()) // a file, or what cannot be read
    return;
  for (const std::string &name : *names)
    inputs.push_back({what, path + "/" + name, {}});
}

void FileClaims::read(const dsl::Sources &texts, const std::optional<dsl::Data> &data) {
  for (uint32_t file = 0; file < texts.size(); ++file)
    read("the text '" + texts.name(file) + "'", texts.name(file));
  if (!data)
    return;
  for (const dsl::DataGroup &group : data->groups)
    for (const dsl::DataFile &file : group.files) {
      read(ofData, file.path);
      read(ofLengths, file.lengths);
    }
}

void FileClaims::read(const engine::CheckpointStore &checkpoint) {
  const std::string folder = checkpoint.folder() + "/";
  read("the checkpoint", folder + engine::Manifest::fileName);
  for (const engine::ManifestFile &file : checkpoint.manifest().files)
    read("the checkpoint", folder + file.name);
  for (const engine::ManifestFile &file : checkpoint.manifest().call.texts)
    read("the checkpoint", folder + file.name);
}

void FileClaims::read(const program::Program &compiled) {
  if (!compiled.data())
    return;
  for (const program::DataGroup *group : *compiled.data()->groups())
    for (const program::DataFile *file : *group->files()) {
      read(ofData, file->path()->str());
      read(ofLengths, file->lengths()->str());
    }
}

engine::Status FileClaims::check() const {
  auto refuse = [](const Claim &output, const Claim &other) {
    return engine::Status::usage(output.what + " and " + other.what + " name the same file, '" + output.path +
                                 "': give the output another name");
  };
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    for (const Claim &folder : folders)
      if (isOfCheckpoints(output->path, folder.path))
        return engine::Status::usage(output->what + " names '" + output->path + "', which is in the folder of checkpoints that " +
                                     folder.what + " writes: give the output another name");
    for (const Claim &input : inputs)
      if (sameFile(output->path, input.path))
        return refuse(*output, input);
    for (auto earlier = outputs.begin(); earlier != output; ++earlier)
      if (sameFile(output->path, earlier->path) && !bothDirect(output->path, earlier->path))
        return refuse(*output, *earlier);
  }
  for (const Claim &output : outputs)
    if (std::string why = files::whyOtherFormat(output.what, output.path, output.endings); !why.empty())
      return engine::Status::usage(why);
  return {};
}

} // namespace npar::models
