// Runs the engine's operations and prints what they come to.
#include "tools/npar/checkpoint/CheckpointTools.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/ManifestReport.h"
#include "engine/checkpoint/Reshard.h"
#include "engine/checkpoint/StoreComparison.h"
#include "engine/checkpoint/TensorFiles.h"
#include "engine/checkpoint/VerifyCheckpoint.h"
#include "engine/files/OutputName.h"
#include "engine/json/Json.h"
#include "engine/readable/HumanUnits.h"
#include "engine/safetensors/Safetensors.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"

#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <iostream>

namespace npar::driver {

using engine::Status;
using readable::humanBytes;
using CheckpointPointer = std::shared_ptr<const engine::CheckpointStore>;

namespace {

/// Reports each full percent. Any thread can call `add`.
class ByteProgress {
public:
  ByteProgress(std::string what, uint64_t total) : waiting(std::move(what)), total(total) {}
  void add(uint64_t bytes) {
    uint64_t before = done.fetch_add(bytes), after = before + bytes;
    if (total && percent(before) != percent(after))
      waiting.phase(fmt::format("{} %, {} of {}", percent(after), readable::humanBytes(static_cast<double>(after)),
                                readable::humanBytes(static_cast<double>(total))));
  }
  std::function<void(uint64_t)> adder() {
    return [this](uint64_t bytes) { add(bytes); };
  }

private:
  uint64_t percent(uint64_t bytes) const { return static_cast<uint64_t>(100.0 * static_cast<double>(bytes) / static_cast<double>(total)); }
  Waiting waiting;
  uint64_t total;
  std::atomic<uint64_t> done{0};
};

/// Refuses an output whose name belongs to the other format.
Status checkName(const ConsolidateFlags &flags) {
  if (flags.isPytorch())
    return files::checkPytorchName("--format pytorch", flags.output);
  Status status = files::checkSafetensorsName("-o", flags.output);
  bool isOfPytorch = files::checkPytorchName("-o", flags.output).ok();
  return status.ok() || !isOfPytorch ? status : Status(status.code(), status.message() + ", or give --format pytorch");
}

/// Compares all data with their hashes. Without this check damage would go unnoticed, because files written from a checkpoint get new
/// hashes or none.
ExitCode refuseDamaged(const engine::CheckpointStore &checkpoint) {
  Status status = [&] {
    ByteProgress progress("verifying '" + checkpoint.folder() + "'", checkpoint.manifest().bytes());
    return checkpoint.verify(0, 1, progress.adder());
  }();
  return reported(status);
}

} // namespace

ExitCode showCheckpoint(const ShowFlags &flags) {
  Outcome<std::string> folder = reported(engine::folderOfCheckpoint(flags.path));
  if (!folder.ok())
    return folder.code();
  Outcome<engine::Manifest> manifest = reported(engine::readManifest(*folder));
  if (!manifest.ok())
    return manifest.code();
  if (flags.json)
    printJson(engine::reportJson(*manifest, *folder));
  else
    std::cout << engine::reportText(*manifest, *folder);
  return ExitCode::Good;
}

ExitCode verifyCheckpoint(const VerifyCheckpointFlags &flags) {
  Outcome<std::string> folder = reported(engine::folderOfCheckpoint(flags.path));
  if (!folder.ok())
    return folder.code();
  engine::Result<engine::Manifest> manifest = engine::readManifest(*folder);
  engine::Status status = manifest.status();
  engine::CheckpointVerified verified;
  if (manifest.ok()) {
    ByteProgress progress("verifying '" + *folder + "'", manifest->bytes());
    engine::Result<engine::CheckpointVerified> outcome = engine::verifyCheckpoint(*folder, progress.adder());
    status = outcome.status();
    if (outcome.ok())
      verified = *outcome;
  }
  if (flags.json)
    printJson({{"checkpoint", *folder},
               {"ok", status.ok()},
               {"tensors", verified.tensors},
               {"pieces", verified.pieces},
               {"files", verified.files},
               {"bytes", verified.bytes},
               {"unexpected", verified.other},
               {"error", status.message()}});
  if (!status.ok())
    return fail(status.code() == engine::Code::BadInput ? ExitCode::CheckFailed : exitCodeOf(status), status.message());
  for (const std::string &name : verified.other)
    printRemark(engine::quotedName(name) + " is not part of the checkpoint");
  if (!flags.json)
    std::cout << fmt::format("checkpoint '{}' is whole: {} tensors in {} pieces, {} in {} files, every byte compared with its hash\n",
                             *folder, verified.tensors, verified.pieces, humanBytes(static_cast<double>(verified.bytes)), verified.files);
  return ExitCode::Good;
}

ExitCode diffCheckpoints(const DiffFlags &flags) {
  Outcome<engine::StoreComparison> comparison = reported(engine::StoreComparison::open(flags.left, flags.right, flags.only));
  if (!comparison.ok())
    return comparison.code();
  Status compared = [&] {
    ByteProgress progress("comparing '" + flags.left + "' and '" + flags.right + "'", comparison->bytes());
    return comparison->run(progress.adder());
  }();
  if (!compared.ok())
    return fail(compared);
  if (flags.json)
    printJson(comparison->json());
  else
    std::cout << comparison->text();
  if (size_t leftOut = comparison->leftOut())
    printRemark(fmt::format("{} tensors of state are in the checkpoint alone: left out", leftOut));
  return comparison->equal() ? ExitCode::Good : ExitCode::CheckFailed;
}

ExitCode consolidateCheckpoint(const ConsolidateFlags &flags) {
  if (flags.most && flags.isPytorch())
    return fail(ExitCode::Usage, "--format pytorch writes one file: leave out --shard-size");
  Outcome<CheckpointPointer> opened = reported(engine::openCheckpointStore(flags.path));
  if (!opened.ok())
    return opened.code();
  const engine::CheckpointStore &checkpoint = **opened;
  FileClaims claims;
  claims.read(checkpoint);
  claims.write("-o", flags.output);
  ExitCode code = reported(claims.check());
  if (code == ExitCode::Good && !flags.most)
    code = reported(checkName(flags));
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
      bytes += tensor.bytes();
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
      status = engine::writeTensorFile(checkpoint, tensors, flags.output, part,
                                       flags.isPytorch() ? engine::TensorFormat::Pytorch : engine::TensorFormat::Safetensors);
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
    printJson({{"output", flags.output},
               {"only", flags.only},
               {"files", written.files},
               {"tensors", tensors.size()},
               {"left_out", leftOut},
               {"bytes", bytes}});
  else
    printRemark(fmt::format(
        "wrote '{}': {} tensors, {} in total, in {} file{}{}", flags.output, tensors.size(), humanBytes(static_cast<double>(bytes)),
        written.files, written.files == 1 ? "" : "s",
        leftOut ? fmt::format("; left out {} tensors that are not of kind '{}' (--only all includes them)", leftOut, flags.only) : ""));
  return ExitCode::Good;
}

ExitCode reshardCheckpoint(const ReshardFlags &flags) {
  if (flags.shards ? !flags.model.model.empty() || flags.model.hasTextFlags() : flags.model.model.empty())
    return fail(ExitCode::Usage, flags.shards ? "--shards cannot be combined with a model or its flags"
                                              : "give --shards N, or a model with its plan, or a compiled program (.npx)");
  Outcome<CheckpointPointer> opened = reported(engine::openCheckpointStore(flags.path));
  if (!opened.ok())
    return opened.code();
  const engine::CheckpointStore &checkpoint = **opened;
  engine::Manifest cut;
  if (flags.shards) {
    cut = engine::evenCut(checkpoint.manifest(), static_cast<uint64_t>(*flags.shards));
  } else {
    FileClaims claims;
    claims.read(checkpoint);
    Outcome<ProgramPointer> program = loadModel(flags.model, claims); // with kernels, because the manifest stores its hash
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
    ByteProgress progress("resharding '" + checkpoint.folder() + "'", cut.bytes());
    return engine::writeCut(checkpoint, std::move(cut), flags.output, progress.adder());
  }();
  if (!written.ok())
    return fail(written.status());
  if (flags.json)
    printJson({{"checkpoint", *written}, {"files", files}, {"step", checkpoint.manifest().step}});
  else
    printRemark(fmt::format("wrote '{}': {} file{}", *written, files, files == 1 ? "" : "s"));
  return ExitCode::Good;
}

} // namespace npar::driver
