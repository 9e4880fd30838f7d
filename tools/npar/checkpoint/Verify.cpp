// Everything that a checkpoint says of itself, compared with what is there.
#include "engine/readable/HumanUnits.h"
#include "tools/npar/checkpoint/ByteProgress.h"
#include "tools/npar/checkpoint/CheckpointPath.h"
#include "tools/npar/checkpoint/CheckpointTools.h"
#include "tools/npar/terminal/Talk.h"

#include "engine/checkpoint/VerifyCheckpoint.h"
#include "engine/safetensors/Safetensors.h"

#include <iostream>
#include <nlohmann/json.hpp>

namespace npar::driver {

using readable::humanBytes;

ExitCode verifyCheckpoint(const VerifyCheckpointFlags &flags) {
  engine::Result<std::string> folder = checkpointFolder(flags.path);
  if (!folder.ok())
    return fail(folder.status());
  engine::Result<engine::Manifest> manifest = engine::readManifest(*folder);
  engine::Status status = manifest.status();
  engine::CheckpointVerified verified;
  if (manifest.ok()) {
    ByteProgress progress("verifying '" + *folder + "'", bytesOf(*manifest));
    engine::Result<engine::CheckpointVerified> outcome = engine::verifyCheckpoint(*folder, progress.adder());
    status = outcome.status();
    if (outcome.ok())
      verified = *outcome;
  }
  if (flags.json) {
    nlohmann::ordered_json json = {{"checkpoint", *folder},        {"ok", status.ok()},        {"tensors", verified.tensors},
                                   {"pieces", verified.pieces},    {"files", verified.files},  {"bytes", verified.bytes},
                                   {"unexpected", verified.other}, {"error", status.message()}};
    std::cout << json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
  if (!status.ok())
    return fail(status.code() == engine::Code::BadInput ? ExitCode::CheckFailed : exitCodeOf(status), status.message());
  for (const std::string &name : verified.other)
    printRemark(engine::quotedName(name) + " is not part of the checkpoint");
  if (!flags.json)
    std::cout << fmt::format("checkpoint '{}' is whole: {} tensors in {} pieces, {} in {} files, every byte compared with its hash\n",
                             *folder, verified.tensors, verified.pieces, humanBytes(static_cast<double>(verified.bytes)), verified.files);
  return ExitCode::Good;
}

} // namespace npar::driver
