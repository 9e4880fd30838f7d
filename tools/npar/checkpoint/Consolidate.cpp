// Whole logical tensors of a checkpoint as plain safetensors.
#include "engine/checkpoint/Consolidate.h"

#include "tools/npar/checkpoint/ByteProgress.h"
#include "tools/npar/checkpoint/CheckpointPath.h"
#include "tools/npar/checkpoint/CheckpointTools.h"
#include "tools/npar/files/PendingFile.h"
#include "tools/npar/terminal/Talk.h"

#include "engine/files/AtomicFile.h"
#include "engine/files/Folders.h"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace npar::driver {

using engine::Manifest;
using engine::Status;

namespace {

using Groups = std::vector<std::vector<std::string>>;

/// The folder is made under another name and gets its own when everything is in it.
Status writeFolder(const engine::CheckpointStore &checkpoint, const Groups &groups, const std::string &folder, ByteProgress &progress) {
  const std::string partial = folder + ".partial-" + std::to_string(::getpid());
  Status status = program::makeFolder(partial);
  for (size_t i = 0; i < groups.size() && status.ok(); ++i)
    status = engine::writeTensors(checkpoint, groups[i], partial + "/" + engine::groupFileName(i, groups.size()), progress.adder());
  if (status.ok()) {
    std::string index = engine::groupIndexText(checkpoint, groups);
    status = program::writeFileAtomically(partial + "/model.safetensors.index.json", index.data(), index.size());
  }
  if (status.ok())
    status = program::syncFolder(partial);
  if (status.ok())
    status = program::renameFolder(partial, folder);
  if (!status.ok())
    (void)program::removeFolder(partial);
  return status;
}

} // namespace

ExitCode consolidateCheckpoint(const ConsolidateFlags &flags) {
  engine::Result<std::shared_ptr<const engine::CheckpointStore>> opened = engine::openCheckpointStore(flags.path);
  if (!opened.ok())
    return fail(opened.status());
  const engine::CheckpointStore &checkpoint = **opened;
  FileClaims claims;
  claimFiles(claims, checkpoint);
  claims.write("-o", flags.output);
  if (ExitCode code = claims.check(); code != ExitCode::Good)
    return code;
  std::error_code ignored;
  if (flags.most && std::filesystem::exists(std::filesystem::symlink_status(flags.output, ignored)))
    return fail(ExitCode::BadInput, "'" + flags.output + "' is there already: with --shard-size give the name of a new folder");
  std::vector<std::string> names;
  uint64_t bytes = 0;
  for (const engine::ManifestTensor &tensor : checkpoint.manifest().tensors)
    if (flags.only.empty() || tensor.kind == flags.only) {
      names.push_back(tensor.name);
      bytes += tensor.elements() * engine::bytesOfType(tensor.type);
    }
  if (ExitCode code = refuseDamaged(checkpoint); code != ExitCode::Good)
    return code;
  Groups groups = engine::groupsOf(checkpoint, names, flags.most.value_or(UINT64_MAX));
  {
    ByteProgress progress("consolidating '" + checkpoint.folder() + "'", bytes);
    Status status = flags.most ? writeFolder(checkpoint, groups, flags.output, progress)
                               : engine::writeTensors(checkpoint, names, flags.output, progress.adder());
    if (!status.ok())
      return fail(status);
  }
  size_t files = flags.most ? groups.size() : 1;
  if (flags.json)
    std::cout << nlohmann::ordered_json({{"output", flags.output}, {"files", files}, {"tensors", names.size()}, {"bytes", bytes}}).dump(1)
              << "\n";
  else
    printRemark(fmt::format("wrote '{}': {} tensors of {} in {} file{}", flags.output, names.size(), humanBytes(static_cast<double>(bytes)),
                            files, files == 1 ? "" : "s"));
  return ExitCode::Good;
}

} // namespace npar::driver
