// Process 0 finds the checkpoint and sends its step and manifest hash; every other process compares them before it reads any data.
#include "engine/job/AgreedCheckpoint.h"

#include "engine/tables/Tables.h"

#include <fmt/format.h>

namespace npar::job {

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
  CheckpointIdentity found;
  found.known = true, found.step = store.manifest().step, found.hash = store.manifest().hash;
  if (store.folder() != top)
    found.name = store.folder().substr(store.folder().rfind('/') + 1);
  return found;
}

Result<CheckpointIdentity> toldByFirst(const Processes &processes, const CheckpointIdentity &own) {
  std::vector<uint8_t> bytes;
  if (processes.isFirst())
    bytes = tables::pack(own);
  TRY(std::vector<std::vector<uint8_t>> all, processes.gather(bytes));
  CheckpointIdentity told;
  if (!tables::unpack(all.front(), told))
    return Status::internal("internal error: the processes of the job perform different operations");
  return told;
}

Status findsTheSame(const CheckpointIdentity &told, const std::string &path) {
  const std::string top = withoutSlashes(path);
  if (!told.known)
    return engine::isCheckpoint(top) ? Status::badInput(fmt::format("process 0 found no checkpoint in '{}', {}", top, newestHere(top)))
                                     : Status();
  Result<engine::Manifest> manifest = engine::readManifest(told.in(top));
  if (manifest.ok() && manifest->step == told.step && manifest->hash == told.hash)
    return {};
  return Status::badInput(
      fmt::format("process 0 reads the checkpoint '{}' (step {}, manifest {}), {}: name a folder that all processes "
                  "share",
                  told.in(top), told.step, told.hash,
                  manifest.ok() ? fmt::format("this process finds another one there ({})", describe(*manifest)) : newestHere(top)));
}

Result<std::string> settleCheckpoint(Processes &processes, const std::string &path) {
  if (path.empty())
    return path;
  CheckpointIdentity own;
  Status status;
  if (processes.isFirst() && engine::isCheckpoint(withoutSlashes(path))) {
    Result<std::shared_ptr<const engine::CheckpointStore>> opened = engine::openCheckpointStore(path);
    status = opened.status();
    if (opened.ok())
      own = identityOf(**opened, path);
  }
  TRY_STATUS(processes.agree(status));
  TRY(CheckpointIdentity told, toldByFirst(processes, own));
  TRY_STATUS(processes.agree(processes.isFirst() ? Status() : findsTheSame(told, path)));
  return told.known ? told.in(withoutSlashes(path)) : path;
}

} // namespace npar::job
