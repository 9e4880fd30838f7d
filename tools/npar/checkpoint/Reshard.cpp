// Rewrites a checkpoint with other shards: a given number of files, or the pieces that the ranks of another plan own.
#include "engine/checkpoint/Reshard.h"

#include "tools/npar/checkpoint/ByteProgress.h"
#include "tools/npar/checkpoint/CheckpointPath.h"
#include "tools/npar/checkpoint/CheckpointTools.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/terminal/Talk.h"

#include <iostream>
#include <nlohmann/json.hpp>

namespace npar::driver {

namespace {

/// The program whose ranks determine the shards. Compiled with kernels, because the manifest stores its hash.
Outcome<ProgramPointer> programOf(const ModelOptions &model, const engine::CheckpointStore &checkpoint) {
  FileClaims files;
  claimFiles(files, checkpoint);
  return loadModel(model, files);
}

} // namespace

ExitCode reshardCheckpoint(const ReshardFlags &flags) {
  if (flags.shards ? !flags.model.model.empty() || flags.model.hasTextFlags() : flags.model.model.empty())
    return fail(ExitCode::Usage, flags.shards ? "--shards cannot be combined with a model or its flags"
                                              : "give --shards N, or a model with its plan, or a compiled program (.npx)");
  engine::Result<std::shared_ptr<const engine::CheckpointStore>> opened = engine::openCheckpointStore(flags.path);
  if (!opened.ok())
    return fail(opened.status());
  const engine::CheckpointStore &checkpoint = **opened;
  engine::Manifest cut;
  if (flags.shards) {
    cut = engine::evenCut(checkpoint.manifest(), static_cast<uint64_t>(*flags.shards));
  } else {
    Outcome<ProgramPointer> program = programOf(flags.model, checkpoint);
    if (!program.ok())
      return program.code();
    engine::Result<engine::Manifest> asOwned = engine::programCut(checkpoint, **program);
    if (!asOwned.ok())
      return fail(asOwned.status());
    cut = std::move(*asOwned);
  }
  if (ExitCode code = refuseDamaged(checkpoint); code != ExitCode::Good)
    return code;
  size_t files = cut.files.size();
  engine::Result<std::string> written = [&] {
    ByteProgress progress("resharding '" + checkpoint.folder() + "'", bytesOf(cut));
    return engine::writeCut(checkpoint, std::move(cut), flags.output, progress.adder());
  }();
  if (!written.ok())
    return fail(written.status());
  if (flags.json)
    std::cout << nlohmann::ordered_json({{"checkpoint", *written}, {"files", files}, {"step", checkpoint.manifest().step}})
                     .dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
  else
    printRemark(fmt::format("wrote '{}': {} file{}", *written, files, files == 1 ? "" : "s"));
  return ExitCode::Good;
}

} // namespace npar::driver
