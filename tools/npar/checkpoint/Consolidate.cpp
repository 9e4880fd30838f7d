// Whole logical tensors of a checkpoint as plain safetensors.
#include "engine/files/OutputName.h"
#include "engine/readable/HumanUnits.h"
#include "tools/npar/checkpoint/ByteProgress.h"
#include "tools/npar/checkpoint/CheckpointPath.h"
#include "tools/npar/checkpoint/CheckpointTools.h"
#include "tools/npar/terminal/Talk.h"

#include "engine/checkpoint/TensorFiles.h"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

namespace npar::driver {

using readable::humanBytes;

using engine::Status;

ExitCode consolidateCheckpoint(const ConsolidateFlags &flags) {
  engine::Result<std::shared_ptr<const engine::CheckpointStore>> opened = engine::openCheckpointStore(flags.path);
  if (!opened.ok())
    return fail(opened.status());
  const engine::CheckpointStore &checkpoint = **opened;
  FileClaims claims;
  claimFiles(claims, checkpoint);
  claims.write("-o", flags.output);
  ExitCode code = reported(claims.check());
  if (code == ExitCode::Good && !flags.most)
    code = reported(program::checkSafetensorsName("-o", flags.output));
  if (code != ExitCode::Good)
    return code;
  std::error_code ignored;
  if (flags.most && std::filesystem::exists(std::filesystem::symlink_status(flags.output, ignored)))
    return fail(ExitCode::BadInput, "'" + flags.output + "' already exists: with --shard-size give the name of a new folder");
  std::vector<engine::TensorToStore> tensors;
  uint64_t bytes = 0;
  size_t leftOut = 0;
  for (const engine::ManifestTensor &tensor : checkpoint.manifest().tensors)
    if (flags.only == "all" || tensor.kind == flags.only) {
      tensors.push_back({tensor.name, tensor.name, tensor.type});
      bytes += tensor.elements() * engine::bytesOfType(tensor.type);
    } else {
      ++leftOut;
    }
  if (code = refuseDamaged(checkpoint); code != ExitCode::Good)
    return code;
  engine::WrittenFolder written{1, bytes};
  {
    ByteProgress progress("consolidating '" + checkpoint.folder() + "'", bytes);
    auto part = [&](uint64_t size) { return progress.add(size), true; };
    Status status;
    if (!flags.most) {
      status = engine::writeTensorFile(checkpoint, tensors, flags.output, part);
    } else {
      engine::Result<engine::WrittenFolder> folder =
          engine::writeTensorFolder(checkpoint, tensors, {flags.output, *flags.most, /*texts=*/{}, part});
      status = folder.status();
      if (folder.ok())
        written = *folder;
    }
    if (!status.ok())
      return fail(status);
  }
  if (flags.json)
    std::cout << nlohmann::ordered_json({{"output", flags.output},
                                         {"only", flags.only},
                                         {"files", written.files},
                                         {"tensors", tensors.size()},
                                         {"left_out", leftOut},
                                         {"bytes", bytes}})
                     .dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
  else
    printRemark(fmt::format(
        "wrote '{}': {} tensors, {} in total, in {} file{}{}", flags.output, tensors.size(), humanBytes(static_cast<double>(bytes)),
        written.files, written.files == 1 ? "" : "s",
        leftOut ? fmt::format("; left out {} tensors that are not of kind '{}' (--only all includes them)", leftOut, flags.only) : ""));
  return ExitCode::Good;
}

} // namespace npar::driver
