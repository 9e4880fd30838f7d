// Words what happens to checkpoints, and keeps a run to the data and the seed that it began with.
#include "engine/training/RunCheckpoints.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/CheckpointTensors.h"
#include "engine/checkpoint/JsonTree.h"
#include "engine/checkpoint/Resume.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/OpenFolder.h"
#include "engine/json/Json.h"
#include "engine/readable/Printable.h"
#include "engine/status/OptionNames.h"
#include "engine/text/TokenizerFiles.h"
#include "engine/training/FolderFiles.h"
#include "engine/training/TrainedClasses.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace npar::training {

using engine::Option;
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

Status RunCheckpoints::look() const {
  if (!wanted())
    return {};
  if (std::string why = whyNotWritable(plan.folder); !why.empty())
    return Status::badInput(fmt::format("cannot write checkpoints to '{}': {}", plan.folder, why));
  if (engine::hasManifest(plan.folder))
    return Status::badInput(fmt::format("'{}' is a checkpoint: give the folder that contains it", plan.folder));
  if (Result<files::OpenFolder> folder = files::OpenFolder::open(plan.folder); folder.ok())
    if (auto kind = folder->kindOf("best.json"); kind != files::OpenFolder::Kind::None && kind != files::OpenFolder::Kind::File)
      return Status::badInput(
          fmt::format("'{}/best.json', which names the best checkpoint, is not a regular file: give another folder", plan.folder));
  Result<std::vector<engine::CommittedCheckpoint>> committed = engine::committedCheckpoints(plan.folder);
  if (!committed.ok())
    return committed.status();
  if (!committed->empty() && !plan.resume)
    return Status::badInput(
        fmt::format("'{}' contains checkpoints of a training, the newest of step {}: give {} to continue from it, or name another folder",
                    plan.folder, committed->back().step, nameOf(Option::Resume)));
  return {};
}

Status RunCheckpoints::choose(job::Processes &processes) { return plan.resume ? takeNewest(processes, UINT64_MAX, {}) : Status(); }

/// Selects the newest intact checkpoint of a step before `below`. `damage`: the error of the damaged checkpoint that it replaces, if any.
Status RunCheckpoints::takeNewest(job::Processes &processes, uint64_t below, const Status &damage) {
  std::shared_ptr<const engine::CheckpointStore> found;
  job::CheckpointIdentity own;
  Result<std::vector<engine::CommittedCheckpoint>> named = engine::namedCheckpoints(plan.folder);
  Status status = named.status();
  if (status.ok() && processes.isFirst() && !named->empty()) {
    Result<engine::NewestCheckpoint> newest = engine::newestWhole(plan.folder, below);
    if (newest.ok()) {
      found = newest->store, own = job::identityOf(*found, plan.folder);
      if (!damage.ok())
        newest->skipped.insert(newest->skipped.begin(), {origin->folder, damage.message()});
      for (const engine::SkippedCheckpoint &each : newest->skipped)
        observer.remark(fmt::format("warning: '{}' is skipped, the training resumes from '{}': {}", each.path, found->folder(), each.why));
    } else {
      status = damage.ok() ? newest.status() : damage;
    }
  }
  TRY_STATUS(processes.agree(status));
  TRY(job::CheckpointIdentity told, job::toldByFirst(processes, own));
  if (!processes.isFirst()) {
    status = job::findsTheSame(told, plan.folder);
    if (status.ok() && told.known) {
      Result<std::shared_ptr<const engine::CheckpointStore>> opened = engine::openCheckpointStore(told.in(plan.folder));
      status = opened.status();
      found = opened.ok() ? *opened : nullptr;
    }
  }
  if (status.ok() && found && plan.seed && *plan.seed != found->manifest().seed)
    status = Status::badInput(fmt::format("{} has seed {}, but {} is {}: a training must continue with its original seed",
                                          found->description(), found->manifest().seed, nameOf(Option::Seed), *plan.seed));
  if (status.ok() && found && origin && origin->manifest.seed != found->manifest().seed)
    status = Status::badInput(fmt::format("{}; {} has seed {} and cannot replace it, because the run has seed {}", damage.message(),
                                          found->description(), found->manifest().seed, origin->manifest.seed));
  TRY_STATUS(processes.agree(status));
  store = std::move(found);
  origin = store ? std::optional(Origin{store->manifest(), store->folder(), store->description()}) : std::nullopt;
  return {};
}

void RunCheckpoints::keepTokenizer(const std::string &path) {
  const std::vector<std::string> &names = engine::tokenizerFileNames();
  auto isOfTokenizer = [&](const std::string &name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  auto &texts = options.texts;
  texts.erase(std::remove_if(texts.begin(), texts.end(), [&](const auto &text) { return isOfTokenizer(text.first); }), texts.end());
  for (const std::string &file : engine::tokenizerFiles(path)) {
    const std::string name = engine::tokenizerFileName(path, file);
    if (!isOfTokenizer(name) || std::any_of(texts.begin(), texts.end(), [&](const auto &text) { return text.first == name; }))
      continue;
    auto content = files::readFile(file, engine::ManifestFile::largestText);
    if (content.ok())
      texts.emplace_back(name, std::string(content->begin(), content->end()));
    else if (wanted() && !plan.quiet)
      observer.remark("warning: checkpoints will lack the tokenizer: " + content.status().message());
  }
}

void RunCheckpoints::keepModel(KeptModel model, const std::string &weights, const std::vector<std::string> &parts) {
  options.texts = std::move(model.texts), options.call = std::move(model.call);
  constants = std::move(model.constants);
  std::string folder = startFolder(weights);
  if (!origin && engine::isCheckpoint(weights))
    if (auto checkpoint = engine::openCheckpointStore(weights); checkpoint.ok())
      folder = (*checkpoint)->folder();
  options.call.weights = readable::printableName(origin ? origin->manifest.call.weights : folder);
  options.call.parts.clear();
  for (const std::string &part : origin ? origin->manifest.call.parts : parts)
    options.call.parts.push_back(readable::printableName(part));
  FolderFiles others = filesOfFolder(folder);
  for (auto &file : others.files) // a text of the model may have such a name
    if (std::none_of(options.texts.begin(), options.texts.end(), [&](const auto &text) { return text.first == file.first; }))
      options.texts.push_back(std::move(file));
  for (const std::string &problem : wanted() ? others.problems : std::vector<std::string>())
    observer.remark("warning: checkpoints will lack a file of '" + folder + "': " + problem);
}

void RunCheckpoints::keepFiles(const std::vector<std::pair<std::string, std::string>> &files) {
  options.texts.insert(options.texts.end(), files.begin(), files.end());
}

std::vector<std::string> RunCheckpoints::tunedBefore(const std::vector<std::string> &given, const std::string &plan) const {
  if (!origin || origin->manifest.call.tuned.empty())
    return {};
  const engine::ModelCall &call = origin->manifest.call;
  std::set<std::string> before(call.settings.begin(), call.settings.end());
  before.insert(call.others.begin(), call.others.end());
  return call.plan == plan && before == std::set<std::string>(given.begin(), given.end()) ? call.tuned : std::vector<std::string>();
}

uint64_t RunCheckpoints::seed(const program::Program &program) const {
  return origin ? origin->manifest.seed : plan.seed.value_or(program.seed());
}

Status RunCheckpoints::goOn(const program::Program &program, engine::DataSource &data, const engine::BatchShape &shape) {
  source = &data, batches = shape;
  TRY_STATUS(moveData(program, data));
  return plan.clock ? plan.clock->start(data, shape.rows, firstStep()) : Status();
}

Status RunCheckpoints::moveData(const program::Program &program, engine::DataSource &data) {
  position.stream = data.stream();
  position.order = data.order();
  position.epochSamples = static_cast<uint64_t>(data.samples());
  position.batch = static_cast<uint64_t>(batches->rows);
  position.classes = data.classes();
  if (!origin)
    return {};
  if (Status status = engine::fitsProgram(*store, program); !status.ok())
    return status;
  if (origin->manifest.data.empty())
    return {};
  const engine::DataPosition &before = origin->manifest.data.front();
  const std::string help =
      fmt::format("start a new training with its weights in another folder: {}", nameOf(Option::LoadWeights, origin->folder));
  if (before.stream == engine::hostStream && position.stream != engine::hostStream)
    return Status::badInput(
        fmt::format("{} was trained with step(), whose data npar cannot find again\nnpar: help: continue it with step(), or {}",
                    origin->description, help));
  auto refuse = [&](const std::string &what, const std::string &there, const std::string &here) {
    return Status::badInput(fmt::format("{} has trained on {} {}, but this run uses {}: its position in the data, sample "
                                        "{}, would refer to other samples\nnpar: help: give the same data, or {}",
                                        origin->description, what, there, here, before.samples, help));
  };
  if (before.stream != position.stream)
    return refuse("data of the kind", "'" + before.stream + "'", "'" + position.stream + "'");
  if (before.order != position.order)
    return refuse("samples in the order", "'" + before.order + "'", "'" + position.order + "'");
  TRY_STATUS(checkClasses(position.classes, {origin->description, before.classes}));
  if (before.epochSamples != position.epochSamples)
    return refuse("data whose sample count is", std::to_string(before.epochSamples), std::to_string(position.epochSamples));
  position.samples = before.samples;
  data.goOnFrom(firstStep(), static_cast<int64_t>(before.samples));
  if (before.batch != position.batch && !plan.quiet)
    observer.remark(fmt::format("a batch now has {} samples instead of {}: training continues at sample {}", position.batch, before.batch,
                                before.samples));
  return {};
}

uint64_t RunCheckpoints::snapshotBytes(const program::Program &program, const std::vector<int64_t> &ranks) const {
  if (!wanted())
    return 0;
  return ranks.empty() ? program::storedBytes(program) : engine::bytesOf(program, engine::checkpointPieces(program, ranks));
}

Status RunCheckpoints::open(job::Processes &processes, engine::Session &session, program::ProgramPointer program) {
  if (!wanted())
    return {};
  seedInUse = seed(program->root());
  options.folder = plan.folder, options.keep = static_cast<uint64_t>(plan.keep);
  Result<std::unique_ptr<engine::CheckpointWriter>> opened = [&] {
    engine::Activity activity(observer, "checking whether another run still writes to '" + plan.folder + "'");
    return engine::CheckpointWriter::open(session, program, options);
  }();
  if (!opened.ok())
    return opened.status();
  writer = std::move(*opened);
  isFirst = session.ranks().front() == 0;
  sayRemarks();
  return origin ? fill(processes, session, program->root()) : Status();
}

/// Loads the session from the checkpoint. All processes check it together before they use any of it; a damaged one is replaced by an older
/// one.
Status RunCheckpoints::fill(job::Processes &processes, engine::Session &session, const program::Program &program) {
  while (true) {
    bool damaged = false;
    Result<std::vector<std::string>> remarks = [&] {
      engine::Activity activity(observer, "reading " + origin->description);
      return engine::resumeFrom(session, program, *store, &damaged);
    }();
    if (remarks.ok()) {
      saved = firstStep();
      store = nullptr; // closes its files: a removed file frees its disk space only when closed
      if (!plan.quiet)
        observer.remark(fmt::format("resuming from '{}': {} of {} steps are done", origin->folder, firstStep(),
                                    plan.clock ? plan.clock->steps() : firstStep()));
      for (const std::string &text : plan.quiet ? std::vector<std::string>() : *remarks)
        observer.remark(text);
      std::string others = plan.given ? engine::otherSettings(origin->folder, *plan.given, constants) : "";
      if (!others.empty() && !plan.quiet)
        observer.remark("warning: the settings differ from those when the checkpoint was written: " + others);
      return {};
    }
    if (!damaged) {
      Result<engine::NewestCheckpoint> older = engine::newestWhole(plan.folder, origin->manifest.step);
      if (!older.ok())
        return remarks.status();
      return Status(remarks.status().code(), fmt::format("{}\nnpar: help: if you remove '{}', a run resumes from '{}'",
                                                         remarks.status().message(), origin->folder, older->store->folder()));
    }
    TRY_STATUS(takeNewest(processes, origin->manifest.step, remarks.status()));
    TRY_STATUS(processes.agree(goOn(program, *source, *batches)));
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
    observer.remark("warning: " + outcome.message() + "; training continues");
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
  state.tuned = tuned;
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
    observer.remark("warning: the name of the best checkpoint could not be written: " + status.message() +
                    "; npar tries again after each step");
  Status status = plan.clock && plan.clock->isDue(plan.every, done) ? save(done) : Status();
  sayRemarks();
  return status;
}

Status RunCheckpoints::atEnd(int64_t done, bool sound) {
  if (!writer)
    return {};
  engine::Activity activity(observer, "writing a checkpoint to '" + plan.folder + "'");
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

Status RunCheckpoints::saveNow(int64_t done, double lastRate) {
  rate = lastRate;
  if (!writer)
    return {};
  engine::Activity activity(observer, "writing a checkpoint to '" + plan.folder + "'");
  TRY_STATUS(save(done));
  return settle(writer->finish(), /*atEnd=*/true);
}

Status RunCheckpoints::keepBest(int64_t done, const std::string &name, double value) {
  if (!writer)
    return {};
  best = done;
  spareBest(); // newer checkpoints must not displace it before `best.json` names it
  Status status = done > saved ? save(done) : Status();
  OrderedJson json;
  json["checkpoint"] = fmt::format("step-{}", done);
  json["step"] = done;
  json[name] = value;
  bestText = json.dump(2) + "\n";
  return status;
}

std::optional<std::pair<int64_t, double>> RunCheckpoints::bestBefore(const std::string &name) {
  if (!origin)
    return std::nullopt;
  Result<files::OpenFolder> folder = files::OpenFolder::open(plan.folder);
  Result<std::string> text = folder.ok() ? folder->read("best.json", 1 << 20) : folder.status();
  Result<Json> tree = text.ok() ? engine::parseJsonTree(*text, {4, 1000}) : Result<Json>(text.status());
  const Json json = tree.ok() ? *tree : Json();
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
    Result<files::OpenFolder> folder = files::OpenFolder::open(plan.folder);
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
    if (!plan.quiet)
      observer.remark(text);
}

std::string RunCheckpoints::newest() const { return writer && !writer->newest().empty() ? writer->newest() : origin ? origin->folder : ""; }

} // namespace npar::training
