// The checkpoints of a trainer whose host hands over each batch, with files of the host in them.
#include "tools/api/Origin.h"
#include "tools/api/Texts.h"
#include "tools/api/library/Arguments.h"
#include "tools/api/library/HostData.h"
#include "tools/api/library/Trainer.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/Resume.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/StreamHash.h"
#include "engine/training/RunCheckpoints.h"

#include <fmt/format.h>
#include <sys/stat.h>

using namespace npar;
using npar::api::withTrainer;
using npar::engine::Result;
using npar::engine::Status;

/// Identifies a folder by device and number, whatever path leads to it; nothing if it does not exist.
static std::optional<std::pair<uint64_t, uint64_t>> identityOf(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 ? std::optional(std::pair<uint64_t, uint64_t>(info.st_dev, info.st_ino)) : std::nullopt;
}

void npar_trainer::usesFolder(const std::string &path) { folder = identityOf(path); }

bool npar_trainer::hasUsedFolder(const std::string &path) const { return folder && folder == identityOf(path); }

namespace npar::api {
namespace {

/// Prefix that distinguishes files of the host from the model's in a checkpoint.
constexpr const char *hostPrefix = "host.";

/// The files of the host with their names in a checkpoint.
Result<std::vector<std::pair<std::string, std::string>>> hostFiles(const npar_save_options &options) {
  TRY_STATUS(Arguments("npar_save_options").whole(options.keep, "keep").array(options.files, options.file_count, "files").status());
  std::vector<std::pair<std::string, std::string>> files;
  for (size_t i = 0; i < options.file_count; ++i) {
    const std::string member = "files[" + std::to_string(i) + "]";
    TRY_STATUS(Arguments("npar_save_options")
                   .filled(options.files[i].key, member + ".key")
                   .content(options.files[i].value, member + ".value")
                   .status());
    std::string name = hostPrefix + textOf(options.files[i].key);
    if (name.find('/') != std::string::npos || name.size() > 200)
      return Status::usage("npar_save_options: " + member + ".key is no name of a file: at most 200 characters without '/'");
    if (options.files[i].value.len > engine::ManifestFile::largestText)
      return Status::usage("npar_save_options: " + member + ".value is longer than 64 MiB");
    for (const auto &[other, content] : files)
      if (other == name)
        return Status::usage("npar_save_options: " + member + ".key is given twice");
    files.emplace_back(std::move(name), textOf(options.files[i].value));
  }
  return files;
}

/// Reads the files of the host in a checkpoint, whose hashes must match. `damaged`: one does not.
Result<std::map<std::string, std::string>> hostFilesOf(const engine::CheckpointStore &store, bool &damaged) {
  std::map<std::string, std::string> files;
  for (const engine::ManifestFile &file : store.manifest().call.texts) {
    const std::string prefix = std::string("model/") + hostPrefix;
    if (file.name.compare(0, prefix.size(), prefix) != 0)
      continue;
    TRY(std::vector<uint8_t> bytes, files::readFile(store.folder() + "/" + file.name, engine::ManifestFile::largestText));
    if (files::hashText(bytes.data(), bytes.size()) != file.hash) {
      damaged = true;
      return Status::badInput("'" + store.folder() + "/" + file.name + "' is damaged: its hash differs from the manifest's");
    }
    files.emplace(file.name.substr(prefix.size()), std::string(bytes.begin(), bytes.end()));
  }
  return files;
}

/// The newest checkpoint of the folder before step `below`, which must be the same for all processes.
Result<engine::NewestCheckpoint> newestOf(npar_trainer &trainer, const std::string &folder, uint64_t below) {
  Result<engine::NewestCheckpoint> newest = engine::newestWhole(folder, below);
  TRY_STATUS(trainer.processes().agree(newest.status()));
  if (LauncherJob *job = trainer.memory->job.get()) {
    const std::string &hash = newest->store->manifest().hash;
    TRY_STATUS(job->checkSame({hash.begin(), hash.end()}, "the newest checkpoint of '" + folder + "'"));
  }
  return newest;
}

/// Continues from a checkpoint of the folder: the newest whose bytes are as they were written.
Status resume(npar_trainer &trainer, npar_str named) {
  const std::string folder = textOf(named);
  TRY_STATUS(trainer.begin({"resumes from the newest checkpoint in '" + folder + "'"},
                           Arguments("npar_trainer_resume").filled(named, "folder").status()));
  uint64_t below = UINT64_MAX;
  Status damage; // of the newest checkpoint
  while (true) {
    Result<engine::NewestCheckpoint> found = newestOf(trainer, folder, below);
    if (!found.ok())
      return damage.ok() ? found.status() : damage;
    engine::NewestCheckpoint newest = std::move(*found);
    for (const engine::SkippedCheckpoint &each : newest.skipped)
      trainer.observer.remark("'" + each.path + "' is skipped: " + each.why);
    const engine::Manifest &manifest = newest.store->manifest();
    if (manifest.seed != trainer.options.seed)
      return Status::badInput(newest.store->description() + " has seed " + std::to_string(manifest.seed) + ", but the trainer has seed " +
                              std::to_string(trainer.options.seed) + ": create it with the checkpoint's seed");
    TRY_STATUS(engine::fitsProgram(*newest.store, trainer.root()));
    bool damaged = false;
    auto files = hostFilesOf(*newest.store, damaged);
    if (trainer.memory->job) // a file that only one process cannot read
      TRY_STATUS(trainer.processes().agree(files.status()));
    Result<std::vector<std::string>> remarks =
        files.ok() ? engine::resumeFrom(trainer.session(), trainer.root(), *newest.store, &damaged) : files.status();
    if (!remarks.ok() && damaged) {
      trainer.observer.remark("'" + newest.store->folder() + "' is skipped: " + remarks.status().message());
      if (damage.ok())
        damage = remarks.status();
      below = manifest.step;
      continue;
    }
    TRY_STATUS(trainer.end(remarks.status(), /*changes=*/true));
    for (const std::string &text : *remarks)
      trainer.observer.remark(text);
    trainer.done = static_cast<int64_t>(manifest.step);
    trainer.files = std::move(*files);
    trainer.usesFolder(folder);
    return {};
  }
}

/// Writes one checkpoint, and waits for it. A folder with checkpoints that this trainer neither wrote nor resumed from is refused.
Status save(npar_trainer &trainer, npar_str named, const npar_save_options &options, const char *function) {
  const std::string folder = textOf(named);
  auto files = hostFiles(options);
  const Status nameless = Arguments(function).filled(named, "folder").status();
  const std::string kept = options.keep > 0 ? fmt::format(" and keeps {}", options.keep) : "";
  TRY_STATUS(trainer.begin({fmt::format("saves a checkpoint in '{}'{}", folder, kept)}, nameless.ok() ? files.status() : nameless));
  training::CheckpointPlan plan;
  plan.folder = folder, plan.resume = trainer.hasUsedFolder(folder), plan.keep = options.keep;
  plan.seed = trainer.options.seed;
  training::RunCheckpoints checkpoints(std::move(plan), trainer.observer);
  TRY_STATUS(trainer.processes().agree(checkpoints.look()));
  if (!trainer.origin.empty())
    checkpoints.keepModel(unpackOrigin(trainer.origin), trainer.weights);
  checkpoints.keepFiles(*files);
  HostData data(trainer.shape);
  TRY_STATUS(checkpoints.goOn(trainer.root(), data, trainer.shape));
  TRY_STATUS(trainer.processes().agree(checkpoints.open(trainer.processes(), trainer.session(), trainer.memory->program)));
  TRY_STATUS(checkpoints.saveNow(trainer.done));
  trainer.usesFolder(folder);
  trainer.observer.tell(NPAR_EVENT_SAVED, checkpoints.newest());
  return {};
}

} // namespace
} // namespace npar::api

extern "C" {

npar_code npar_trainer_save(npar_trainer *trainer, npar_str folder, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_save", error,
                     [&](npar_trainer &own) -> Status { return api::save(own, folder, {}, "npar_trainer_save"); });
}

npar_code npar_trainer_save_with(npar_trainer *trainer, npar_str folder, const npar_save_options *options, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_save_with", error, [&](npar_trainer &own) -> Status {
    TRY(npar_save_options given, api::optionsOf(options, "npar_save_options"));
    return api::save(own, folder, given, "npar_trainer_save_with");
  });
}

npar_code npar_trainer_saved_file(npar_trainer *trainer, npar_str name, npar_buffer **content, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_saved_file", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(api::needs(content, "npar_trainer_saved_file", "content"));
    TRY_STATUS(api::Arguments("npar_trainer_saved_file").filled(name, "name").status());
    auto found = own.files.find(api::textOf(name));
    *content = nullptr;
    if (found != own.files.end())
      api::give(content, found->second);
    return {};
  });
}

npar_code npar_trainer_resume(npar_trainer *trainer, npar_str folder, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_resume", error, [&](npar_trainer &own) -> Status { return api::resume(own, folder); });
}
}
