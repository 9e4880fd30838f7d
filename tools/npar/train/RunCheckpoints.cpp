// Words what the engine does with checkpoints, and keeps a run to the data and the seed that it began with.
#include "tools/npar/train/RunCheckpoints.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/CheckpointTensors.h"
#include "engine/checkpoint/JsonTree.h"
#include "engine/checkpoint/Resume.h"
#include "engine/files/OpenFolder.h"
#include "tools/npar/checkpoint/OtherSettings.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/train/ModelTexts.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace npar::driver {

using engine::Result;
using engine::Status;

namespace {

/// The reason why no folder can be created or written at a path; empty if one can.
std::string whyNotWritable(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0)
    return !S_ISDIR(info.st_mode) ? "it is not a folder" : ::access(path.c_str(), W_OK | X_OK) != 0 ? std::strerror(errno) : "";
  if (errno != ENOENT)
    return std::strerror(errno);
  std::string parent = std::filesystem::path(path + "/.").lexically_normal().parent_path().parent_path().string();
  if (parent.empty())
    parent = ".";
  return ::access(parent.c_str(), W_OK | X_OK) == 0 ? "" : "'" + parent + "': " + std::strerror(errno);
}

} // namespace

ExitCode RunCheckpoints::look() const {
  if (!wanted())
    return ExitCode::Good;
  if (std::string why = whyNotWritable(flags.checkpoint); !why.empty())
    return fail(ExitCode::BadInput, fmt::format("cannot write checkpoints to '{}': {}", flags.checkpoint, why));
  if (engine::hasManifest(flags.checkpoint))
    return fail(ExitCode::BadInput, fmt::format("'{}' is a checkpoint: give --checkpoint the folder that contains it", flags.checkpoint));
  if (Result<program::OpenFolder> folder = program::OpenFolder::open(flags.checkpoint); folder.ok())
    if (auto kind = folder->kindOf("best.json"); kind != program::OpenFolder::Kind::None && kind != program::OpenFolder::Kind::File)
      return fail(
          ExitCode::BadInput,
          fmt::format("'{}/best.json', which names the best checkpoint, is not a regular file: give another folder", flags.checkpoint));
  Result<std::vector<engine::CommittedCheckpoint>> committed = engine::committedCheckpoints(flags.checkpoint);
  if (!committed.ok())
    return fail(committed.status());
  if (!committed->empty() && !flags.resume)
    return fail(ExitCode::BadInput,
                fmt::format("'{}' contains checkpoints of a training, the newest of step {}: give --resume to continue from it, or "
                            "name another folder",
                            flags.checkpoint, committed->back().step));
  return ExitCode::Good;
}

ExitCode RunCheckpoints::choose(Job &job) { return flags.resume ? takeNewest(job, UINT64_MAX, {}) : ExitCode::Good; }

/// Selects the newest intact checkpoint of a step before `below`. `damage`: the error of the damaged checkpoint that it replaces, if any.
ExitCode RunCheckpoints::takeNewest(Job &job, uint64_t below, const Status &damage) {
  std::shared_ptr<const engine::CheckpointStore> found;
  CheckpointIdentity own;
  ExitCode code = ExitCode::Good;
  Result<std::vector<engine::CommittedCheckpoint>> named = engine::namedCheckpoints(flags.checkpoint);
  if (!named.ok())
    code = fail(named.status());
  else if (job.isVoice() && !named->empty()) {
    Result<engine::NewestCheckpoint> newest = engine::newestWhole(flags.checkpoint, below);
    if (newest.ok()) {
      found = newest->store, own = identityOf(*found, flags.checkpoint);
      if (!damage.ok())
        newest->skipped.insert(newest->skipped.begin(), {origin->folder, damage.message()});
      for (const engine::SkippedCheckpoint &each : newest->skipped)
        printRemark(fmt::format("'{}' is skipped, the training resumes from '{}': {}", each.path, found->folder(), each.why));
    } else {
      code = fail(damage.ok() ? newest.status() : damage);
    }
  }
  if (code = job.agree(code); code != ExitCode::Good)
    return code;
  Outcome<CheckpointIdentity> told = toldByVoice(job, own);
  if (!told.ok())
    return told.code();
  if (!job.isVoice()) {
    Status same = findsTheSame(*told, flags.checkpoint);
    if (same.ok() && told->known) {
      Result<std::shared_ptr<const engine::CheckpointStore>> opened = engine::openCheckpointStore(told->in(flags.checkpoint));
      same = opened.status();
      found = opened.ok() ? *opened : nullptr;
    }
    code = same.ok() ? ExitCode::Good : fail(same);
  }
  if (code == ExitCode::Good && found && flags.seed && *flags.seed != found->manifest().seed)
    code = fail(ExitCode::BadInput, fmt::format("{} has seed {}, but --seed is {}: a training must continue with its original seed",
                                                found->description(), found->manifest().seed, *flags.seed));
  if (code == ExitCode::Good && found && origin && origin->manifest.seed != found->manifest().seed)
    code = fail(Status::badInput(fmt::format("{}; {} has seed {} and cannot replace it, because the run has seed {}", damage.message(),
                                             found->description(), found->manifest().seed, origin->manifest.seed)));
  if (code = job.agree(code); code != ExitCode::Good)
    return code;
  store = std::move(found);
  origin = store ? std::optional(Origin{store->manifest(), store->folder(), store->description()}) : std::nullopt;
  return ExitCode::Good;
}

void RunCheckpoints::keepOrigin(const ModelOrigin &origin) {
  if (!origin.texts)
    return;
  options.texts = textsToKeep(*origin.texts);
  engine::ModelCall &call = options.call;
  constants = origin.constants;
  call.text = options.texts.front().first;
  call.plan = flags.model.plan.value_or(""), call.train = flags.model.train.value_or(""), call.config = flags.model.config.value_or("");
  for (const std::string &setting : flags.model.settings) {
    std::string key = setting.substr(0, setting.find('='));
    bool ofModel = std::find(origin.constants.begin(), origin.constants.end(), key) != origin.constants.end();
    (ofModel ? call.settings : call.others).push_back(setting);
  }
}

uint64_t RunCheckpoints::seed(const program::Program &program) const {
  return origin ? origin->manifest.seed : flags.seed.value_or(program.seed());
}

ExitCode RunCheckpoints::goOn(const program::Program &program, engine::DataSource &data, const engine::BatchShape &shape) {
  source = &data, batches = shape;
  position.stream = data.stream();
  position.order = data.order();
  position.epochSamples = static_cast<uint64_t>(data.samples());
  position.batch = static_cast<uint64_t>(shape.rows);
  if (!origin)
    return ExitCode::Good;
  if (Status status = engine::fitsProgram(*store, program); !status.ok())
    return fail(status);
  if (origin->manifest.data.empty())
    return ExitCode::Good;
  const engine::DataPosition &before = origin->manifest.data.front();
  auto refuse = [&](const std::string &what, const std::string &there, const std::string &here) {
    return fail(ExitCode::BadInput, fmt::format("{} has trained on {} {}, but this run uses {}: its position in the data, sample "
                                                "{}, would refer to other samples\nnpar: help: give the same data, or start a new training "
                                                "with its weights in another folder: --weights {}",
                                                origin->description, what, there, here, before.samples, origin->folder));
  };
  if (before.stream != position.stream)
    return refuse("data of the kind", "'" + before.stream + "'", "'" + position.stream + "'");
  if (before.order != position.order)
    return refuse("samples in the order", "'" + before.order + "'", "'" + position.order + "'");
  if (before.epochSamples != position.epochSamples)
    return refuse("data whose sample count is", std::to_string(before.epochSamples), std::to_string(position.epochSamples));
  position.samples = before.samples;
  data.goOnFrom(firstStep(), static_cast<int64_t>(before.samples));
  if (before.batch != position.batch && !flags.quiet)
    printRemark(fmt::format("a batch now has {} samples instead of {}: training continues at sample {}", position.batch, before.batch,
                            before.samples));
  return ExitCode::Good;
}

uint64_t RunCheckpoints::snapshotBytes(const program::Program &program, const std::vector<int64_t> &ranks) const {
  if (!wanted())
    return 0;
  return ranks.empty() ? engine::snapshotBytes(program) : engine::bytesOf(program, engine::checkpointPieces(program, ranks));
}

ExitCode RunCheckpoints::open(Job &job, engine::Session &session, ProgramPointer program) {
  if (!wanted())
    return ExitCode::Good;
  seedInUse = seed(program->root());
  options.folder = flags.checkpoint, options.keep = static_cast<uint64_t>(flags.keep);
  Result<std::unique_ptr<engine::CheckpointWriter>> opened = [&] {
    Waiting waiting("checking whether another run still writes to '" + flags.checkpoint + "'");
    return engine::CheckpointWriter::open(session, program, options);
  }();
  if (!opened.ok())
    return fail(opened.status());
  writer = std::move(*opened);
  isFirst = session.ranks().front() == 0;
  sayRemarks();
  return origin ? fill(job, session, program->root()) : ExitCode::Good;
}

/// Loads the session from the checkpoint. All processes check it together before they use any of it; a damaged one is replaced by an older
/// one.
ExitCode RunCheckpoints::fill(Job &job, engine::Session &session, const program::Program &program) {
  while (true) {
    bool damaged = false;
    Result<std::vector<std::string>> remarks = [&] {
      Waiting waiting("reading " + origin->description);
      return engine::resumeFrom(session, program, *store, &damaged);
    }();
    if (remarks.ok()) {
      saved = firstStep();
      store = nullptr; // closes its files: a removed file frees its disk space only when closed
      if (!flags.quiet)
        printRemark(fmt::format("resuming from '{}': {} of {} steps are done", origin->folder, firstStep(), flags.steps));
      for (const std::string &text : flags.quiet ? std::vector<std::string>() : *remarks)
        printRemark(text);
      if (std::string others = otherSettings(origin->folder, flags.model, constants); !others.empty() && !flags.quiet)
        printRemark("warning: the settings differ from those when the checkpoint was written: " + others);
      return ExitCode::Good;
    }
    if (!damaged) {
      Result<engine::NewestCheckpoint> older = engine::newestWhole(flags.checkpoint, origin->manifest.step);
      return fail(older.ok()
                      ? Status(remarks.status().code(), fmt::format("{}\nnpar: help: if you remove '{}', a run resumes from '{}'",
                                                                    remarks.status().message(), origin->folder, older->store->folder()))
                      : remarks.status());
    }
    if (ExitCode code = takeNewest(job, origin->manifest.step, remarks.status()); code != ExitCode::Good)
      return code;
    if (ExitCode code = job.agree(goOn(program, *source, *batches)); code != ExitCode::Good)
      return code;
  }
}

/// Handles the outcome of a finished save. A failed save is reported as a warning and forgotten, so that the next one is made as usual.
/// Returns an error if the processes have lost contact, or if a save fails `atEnd`.
Status RunCheckpoints::settle(const Status &outcome, bool atEnd) {
  sayRemarks();
  if (outcome.ok() || !writer->usable())
    return outcome;
  double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  failed.push_back({saved, outcome.message(), now});
  if (!atEnd)
    printRemark("warning: " + outcome.message() + "; training continues");
  if (best == saved)
    best = -1; // the previous best checkpoint stays the best one
  saved = -1;
  spareBest();
  return atEnd ? outcome : Status();
}

std::vector<engine::FailedSaveRecord> RunCheckpoints::takeFailures() {
  auto first = failed.begin() + static_cast<std::ptrdiff_t>(std::exchange(told, failed.size()));
  return {first, failed.end()};
}

Status RunCheckpoints::save(int64_t done) {
  if (Status status = settle(writer->finish()); !status.ok())
    return status;
  engine::TrainingState state;
  state.step = static_cast<uint64_t>(done), state.seed = seedInUse, state.rate = rate;
  engine::DataPosition now = position;
  now.samples = static_cast<uint64_t>(source->position(done));
  now.epoch = now.epochSamples ? now.samples / now.epochSamples : 0;
  state.data = {now};
  saved = done;
  return writer->save(state);
}

Status RunCheckpoints::afterStep(int64_t done, double lastRate) {
  if (!writer)
    return {};
  rate = lastRate;
  if (Status status = settle(writer->poll()); !status.ok())
    return status;
  if (Status status = nameBest(); !status.ok() && !std::exchange(bestIsBehind, true))
    printRemark("warning: the name of the best checkpoint could not be written: " + status.message() +
                "; npar tries again after each step");
  Status status = flags.every > 0 && done % flags.every == 0 ? save(done) : Status();
  sayRemarks();
  return status;
}

Status RunCheckpoints::atEnd(int64_t done, bool sound) {
  if (!writer)
    return {};
  Waiting waiting("writing a checkpoint to '" + flags.checkpoint + "'");
  Status status = settle(writer->finish());
  if (status.ok() && sound && done > saved)
    status = save(done);
  if (status.ok())
    status = settle(writer->finish(), /*atEnd=*/true);
  Status named = nameBest();
  if (status.ok() && named.ok())
    writer->removeOld(); // the previous best checkpoint, which was kept until now
  sayRemarks();
  return status.ok() ? named : status;
}

Status RunCheckpoints::keepBest(int64_t done, const std::string &name, double value) {
  if (!writer)
    return {};
  best = done;
  spareBest(); // newer checkpoints must not displace it before `best.json` names it
  Status status = done > saved ? save(done) : Status();
  nlohmann::ordered_json json;
  json["checkpoint"] = fmt::format("step-{}", done);
  json["step"] = done;
  json[name] = value;
  bestText = json.dump(2) + "\n";
  return status;
}

std::optional<std::pair<int64_t, double>> RunCheckpoints::bestBefore(const std::string &name) {
  if (!origin)
    return std::nullopt;
  Result<program::OpenFolder> folder = program::OpenFolder::open(flags.checkpoint);
  Result<std::string> text = folder.ok() ? folder->read("best.json", 1 << 20) : folder.status();
  Result<nlohmann::json> tree = text.ok() ? engine::parseJsonTree(*text, {4, 1000}) : Result<nlohmann::json>(text.status());
  const nlohmann::json json = tree.ok() ? *tree : nlohmann::json();
  bool known =
      json.is_object() && json.contains("step") && json["step"].is_number_integer() && json.contains(name) && json[name].is_number();
  if (!known || json["step"].get<int64_t>() > firstStep())
    return std::nullopt;
  named = json["step"].get<int64_t>();
  spareBest();
  return std::pair(json["step"].get<int64_t>(), json[name].get<double>());
}

/// The old best checkpoint is protected until `best.json` names the new one.
Status RunCheckpoints::nameBest() {
  const std::string &newest = writer->newest(); // ".../step-N"; all earlier ones are complete too
  if (best < 0 || newest.empty() || std::stoll(newest.substr(newest.rfind('-') + 1)) < best)
    return {};
  if (isFirst) {
    if (Status status = writer->check(); !status.ok())
      return status;
    Result<program::OpenFolder> folder = program::OpenFolder::open(flags.checkpoint);
    if (Status status = folder.ok() ? folder->replace("best.json", bestText) : folder.status(); !status.ok())
      return status;
  }
  named = std::exchange(best, -1), bestIsBehind = false;
  spareBest();
  return {};
}

void RunCheckpoints::spareBest() {
  std::vector<uint64_t> steps;
  for (int64_t step : {named, best})
    if (step >= 0)
      steps.push_back(static_cast<uint64_t>(step));
  writer->spare(std::move(steps));
}

void RunCheckpoints::sayRemarks() {
  for (const std::string &text : writer->takeRemarks())
    if (!flags.quiet)
      printRemark(text);
}

std::string RunCheckpoints::newest() const { return writer && !writer->newest().empty() ? writer->newest() : origin ? origin->folder : ""; }

} // namespace npar::driver
