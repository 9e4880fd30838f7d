// A path names a checkpoint, or a folder of them.
#include "tools/npar/checkpoint/CheckpointPath.h"

#include "tools/npar/checkpoint/ByteProgress.h"
#include "tools/npar/terminal/Talk.h"

namespace npar::driver {

using engine::Result;
using engine::Status;

Result<std::string> checkpointFolder(const std::string &path) {
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back();
  if (engine::hasManifest(folder))
    return folder;
  Result<std::vector<engine::CommittedCheckpoint>> found = engine::namedCheckpoints(folder);
  if (!found.ok())
    return found.status();
  if (found->empty())
    return Status::badInput("'" + path + "' holds no checkpoint: it has neither a " + engine::Manifest::fileName +
                            " nor a folder 'step-N'");
  return found->back().path;
}

uint64_t bytesOf(const engine::Manifest &manifest) {
  uint64_t bytes = 0;
  for (const engine::ManifestTensor &tensor : manifest.tensors)
    bytes += tensor.elements() * engine::bytesOfType(tensor.type);
  return bytes;
}

void claimFiles(FileClaims &claims, const engine::CheckpointStore &checkpoint) {
  const std::string folder = checkpoint.folder() + "/";
  claims.read("the checkpoint", folder + engine::Manifest::fileName);
  for (const engine::ManifestFile &file : checkpoint.manifest().files)
    claims.read("the checkpoint", folder + file.name);
  for (const engine::ManifestFile &file : checkpoint.manifest().call.texts)
    claims.read("the checkpoint", folder + file.name);
}

ExitCode refuseDamaged(const engine::CheckpointStore &checkpoint) {
  engine::Status status = [&] {
    ByteProgress progress("verifying '" + checkpoint.folder() + "'", bytesOf(checkpoint.manifest()));
    return checkpoint.verify(0, 1, progress.adder());
  }();
  return status.ok() ? ExitCode::Good : fail(status);
}

} // namespace npar::driver
