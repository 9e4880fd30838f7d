// Process 0 finds the checkpoint and sends its step and manifest hash; every other process compares them before it reads any data.
#include "tools/npar/checkpoint/AgreedCheckpoint.h"

#include "tools/npar/terminal/Talk.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace npar::driver {

using engine::Result;
using engine::Status;

namespace {

std::string withoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

std::string describe(const engine::Manifest &manifest) { return fmt::format("step {}, manifest {}", manifest.step, manifest.hash); }

/// Describes the newest checkpoint that this process finds, for messages.
std::string newestHere(const std::string &path) {
  Result<std::vector<engine::CommittedCheckpoint>> committed = engine::committedCheckpoints(path);
  if (!committed.ok() || committed->empty())
    return fmt::format("this process found no checkpoint in '{}'", path);
  Result<engine::Manifest> manifest = engine::readManifest(committed->back().path);
  return fmt::format("the newest one that this process found is '{}' ({})", committed->back().path,
                     manifest.ok() ? describe(*manifest) : manifest.status().message());
}

} // namespace

CheckpointIdentity identityOf(const engine::CheckpointStore &store, const std::string &path) {
  const std::string top = withoutSlashes(path);
  return {true, store.folder() == top ? "" : store.folder().substr(store.folder().rfind('/') + 1), store.manifest().step,
          store.manifest().hash};
}

Outcome<CheckpointIdentity> toldByVoice(Job &job, const CheckpointIdentity &own) {
  std::vector<uint8_t> bytes;
  if (job.isVoice())
    bytes = nlohmann::json::to_cbor(nlohmann::json{own.known, own.name, own.step, own.hash});
  Result<std::vector<std::vector<uint8_t>>> all = job.gather(bytes);
  if (!all.ok())
    return fail(all.status());
  nlohmann::json told = nlohmann::json::from_cbor(all->front(), /*strict=*/true, /*allow_exceptions=*/false);
  bool good = told.is_array() && told.size() == 4 && told[0].is_boolean() && told[1].is_string() && told[2].is_number_unsigned() &&
              told[3].is_string();
  if (!good)
    return fail(ExitCode::Internal, "internal error: the processes of the job perform different operations");
  return CheckpointIdentity{told[0].get<bool>(), told[1].get<std::string>(), told[2].get<uint64_t>(), told[3].get<std::string>()};
}

Status findsTheSame(const CheckpointIdentity &told, const std::string &path) {
  const std::string top = withoutSlashes(path);
  if (!told.known)
    return engine::isCheckpoint(top) ? Status::badInput(fmt::format("process 0 found no checkpoint in '{}', {}", top, newestHere(top)))
                                     : Status();
  Result<engine::Manifest> manifest = engine::readManifest(told.in(top));
  if (manifest.ok() && manifest->step == told.step && manifest->hash == told.hash)
    return {};
  return Status::badInput(fmt::format("process 0 reads the checkpoint '{}' (step {}, manifest {}), {}: name a folder that all processes "
                                      "share",
                                      told.in(top), told.step, told.hash,
                                      manifest.ok() ? fmt::format("this process finds another one there ({})", describe(*manifest))
                                                    : newestHere(top)));
}

Outcome<std::string> settleCheckpoint(Job &job, const std::string &path) {
  if (path.empty())
    return path;
  CheckpointIdentity own;
  ExitCode code = ExitCode::Good;
  if (job.isVoice() && engine::isCheckpoint(withoutSlashes(path))) {
    Result<std::shared_ptr<const engine::CheckpointStore>> opened = engine::openCheckpointStore(path);
    if (opened.ok())
      own = identityOf(**opened, path);
    else
      code = fail(opened.status());
  }
  if (code = job.agree(code); code != ExitCode::Good)
    return code;
  Outcome<CheckpointIdentity> told = toldByVoice(job, own);
  if (!told.ok())
    return told.code();
  Status same = job.isVoice() ? Status() : findsTheSame(*told, path);
  if (code = job.agree(same.ok() ? ExitCode::Good : fail(same)); code != ExitCode::Good)
    return code;
  return told->known ? told->in(withoutSlashes(path)) : path;
}

} // namespace npar::driver
