// Words what the engine does with checkpoints, and keeps a run to the data and the seed that it began with.
#include "tools/npar/train/RunCheckpoints.h"

#include "engine/checkpoint/CheckpointTensors.h"
#include "engine/checkpoint/JsonTree.h"
#include "engine/checkpoint/Resume.h"
#include "engine/files/BoundedText.h"
#include "engine/files/OutputFile.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace npar::driver {

using engine::Result;
using engine::Status;

namespace {

/// Why no folder could be made or written at a path; empty when one could.
std::string whyNotWritable(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0)
    return !S_ISDIR(info.st_mode) ? "it is no folder" : ::access(path.c_str(), W_OK | X_OK) != 0 ? std::strerror(errno) : "";
  if (errno != ENOENT)
    return std::strerror(errno);
  std::string parent = std::filesystem::path(path + "/.").lexically_normal().parent_path().parent_path().string();
  if (parent.empty())
    parent = ".";
  return ::access(parent.c_str(), W_OK | X_OK) == 0 ? "" : "'" + parent + "': " + std::strerror(errno);
}

} // namespace

ExitCode RunCheckpoints::look() {
  if (!wanted())
    return ExitCode::Good;
  if (std::string why = whyNotWritable(flags.checkpoint); !why.empty())
    return fail(ExitCode::BadInput, fmt::format("cannot write checkpoints to '{}': {}", flags.checkpoint, why));
  if (engine::hasManifest(flags.checkpoint))
    return fail(ExitCode::BadInput,
                fmt::format("'{}' is a checkpoint itself: --checkpoint names the folder that holds them", flags.checkpoint));
  Result<std::vector<engine::CommittedCheckpoint>> committed = engine::committedCheckpoints(flags.checkpoint);
  if (!committed.ok())
    return fail(committed.status());
  if (committed->empty())
    return ExitCode::Good;
  if (!flags.resume)
    return fail(ExitCode::BadInput, fmt::format("'{}' holds checkpoints of a training, the newest of step {}: --resume goes on from it, or "
                                                "name another folder",
                                                flags.checkpoint, committed->back().step));
  return openNewest(*committed);
}

ExitCode RunCheckpoints::openNewest(const std::vector<engine::CommittedCheckpoint> &committed) {
  Result<std::shared_ptr<const engine::CheckpointStore>> opened = engine::openCheckpointStore(committed.back().path);
  if (!opened.ok())
    return fail(opened.status().code() == engine::Code::BadInput && committed.size() > 1
                    ? Status::badInput(fmt::format("{}\nnpar: help: without '{}' a run goes on from '{}'", opened.status().message(),
                                                   committed.back().path, committed[committed.size() - 2].path))
                    : opened.status());
  store = std::move(*opened);
  const engine::Manifest &manifest = store->manifest();
  if (flags.seed && *flags.seed != manifest.seed)
    return fail(ExitCode::BadInput, fmt::format("{} has seed {}, --seed says {}: a training goes on with the seed that it began with",
                                                store->description(), manifest.seed, *flags.seed));
  return ExitCode::Good;
}

void RunCheckpoints::keepOrigin(const ModelOrigin &origin) {
  if (!origin.texts)
    return;
  std::set<std::string> names;
  for (uint32_t i = 0; i < origin.texts->size(); ++i) {
    std::string name = std::filesystem::path(origin.texts->name(i)).filename().string();
    if (names.insert(name).second) // of two files of one name the first is the one that is found beside the others
      options.texts.emplace_back(name, origin.texts->text(i));
  }
  engine::ModelCall &call = options.call;
  call.text = options.texts.front().first;
  call.plan = flags.model.plan.value_or(""), call.train = flags.model.train.value_or(""), call.config = flags.model.config.value_or("");
  for (const std::string &setting : flags.model.settings) {
    std::string key = setting.substr(0, setting.find('='));
    bool ofModel = std::find(origin.constants.begin(), origin.constants.end(), key) != origin.constants.end();
    (ofModel ? call.settings : call.others).push_back(setting);
  }
}

uint64_t RunCheckpoints::seed(const program::Program &program) const {
  return store ? store->manifest().seed : flags.seed.value_or(program.seed());
}

ExitCode RunCheckpoints::goOn(const program::Program &program, engine::DataSource &data, const engine::BatchShape &shape) {
  source = &data;
  position.stream = data.stream();
  position.order = data.order();
  position.epochSamples = static_cast<uint64_t>(data.samples());
  position.batch = static_cast<uint64_t>(shape.rows);
  if (!store)
    return ExitCode::Good;
  if (Status status = engine::fitsProgram(*store, program); !status.ok())
    return fail(status);
  if (store->manifest().data.empty())
    return ExitCode::Good;
  const engine::DataPosition &before = store->manifest().data.front();
  auto refuse = [&](const std::string &what, const std::string &there, const std::string &here) {
    return fail(ExitCode::BadInput, fmt::format("{} has trained on {} {}, this run would go on with {}: its position in the data, sample "
                                                "{}, would mean other samples\nnpar: help: give the same data, or begin a new training "
                                                "with its weights in another folder: --weights {}",
                                                store->description(), what, there, here, before.samples, store->folder()));
  };
  if (before.stream != position.stream)
    return refuse("data of the kind", "'" + before.stream + "'", "'" + position.stream + "'");
  if (before.order != position.order)
    return refuse("samples in the order", "'" + before.order + "'", "'" + position.order + "'");
  if (before.epochSamples != position.epochSamples)
    return refuse("data whose number of samples is", std::to_string(before.epochSamples), std::to_string(position.epochSamples));
  position.samples = before.samples;
  data.goOnFrom(firstStep(), static_cast<int64_t>(before.samples));
  if (before.batch != position.batch && !flags.quiet)
    printRemark(
        fmt::format("a batch has {} samples and had {}: the data go on at sample {}", position.batch, before.batch, before.samples));
  return ExitCode::Good;
}

uint64_t RunCheckpoints::snapshotBytes(const program::Program &program, const std::vector<int64_t> &ranks) const {
  if (!wanted())
    return 0;
  return ranks.empty() ? engine::snapshotBytes(program) : engine::bytesOf(program, engine::checkpointPieces(program, ranks));
}

ExitCode RunCheckpoints::open(engine::Session &session, ProgramPointer program) {
  if (!wanted())
    return ExitCode::Good;
  seedInUse = seed(program->root());
  options.folder = flags.checkpoint, options.keep = static_cast<uint64_t>(flags.keep);
  Result<std::unique_ptr<engine::CheckpointWriter>> opened = [&] {
    Waiting waiting("looking whether another run still writes to '" + flags.checkpoint + "'");
    return engine::CheckpointWriter::open(session, program, options);
  }();
  if (!opened.ok())
    return fail(opened.status());
  writer = std::move(*opened);
  isFirst = session.ranks().front() == 0;
  if (!store)
    return ExitCode::Good;
  Waiting waiting("reading " + store->description());
  Result<std::vector<std::string>> remarks = engine::resumeFrom(session, program->root(), *store);
  if (!remarks.ok())
    return fail(remarks.status());
  saved = firstStep();
  if (flags.quiet)
    return ExitCode::Good;
  printRemark(fmt::format("goes on from '{}': {} of {} steps are done", store->folder(), firstStep(), flags.steps));
  for (const std::string &text : *remarks)
    printRemark(text);
  return ExitCode::Good;
}

Status RunCheckpoints::save(int64_t done) {
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
  Status status = writer->poll();
  if (status.ok())
    status = nameBest();
  if (status.ok() && flags.every > 0 && done % flags.every == 0)
    status = save(done);
  sayRemarks();
  return status;
}

Status RunCheckpoints::atEnd(int64_t done, bool sound) {
  if (!writer)
    return {};
  Waiting waiting("writing a checkpoint to '" + flags.checkpoint + "'");
  Status status = writer->finish();
  if (status.ok())
    status = nameBest();
  if (status.ok() && sound && done > saved)
    status = save(done);
  if (status.ok())
    status = writer->finish();
  if (status.ok())
    status = nameBest();
  if (status.ok())
    writer->removeOld(); // the best one before this, which stayed until here
  sayRemarks();
  return status;
}

Status RunCheckpoints::keepBest(int64_t done, const std::string &name, double value) {
  if (!writer)
    return {};
  best = done;
  spareBest(); // also while newer ones come before it is named
  Status status = done > saved ? save(done) : Status();
  nlohmann::ordered_json json;
  json["checkpoint"] = fmt::format("step-{}", done);
  json["step"] = done;
  json[name] = value;
  bestText = json.dump(2) + "\n";
  return status;
}

std::optional<std::pair<int64_t, double>> RunCheckpoints::bestBefore(const std::string &name) {
  if (!store)
    return std::nullopt;
  Result<std::string> text = program::readBoundedText(flags.checkpoint + "/best.json", "the best checkpoint's name", 1 << 20);
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

/// Until the new best one is named the old one stays.
Status RunCheckpoints::nameBest() {
  const std::string &newest = writer->newest(); // ".../step-N"; those before it are whole, too
  if (best < 0 || newest.empty() || std::stoll(newest.substr(newest.rfind('-') + 1)) < best)
    return {};
  named = std::exchange(best, -1);
  spareBest();
  if (!isFirst)
    return {};
  Result<program::OutputFile> file = program::OutputFile::create(flags.checkpoint + "/best.json");
  if (!file.ok())
    return file.status();
  Status status = file->write(0, bestText.data(), bestText.size());
  return status.ok() ? file->commit() : status;
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

std::string RunCheckpoints::newest() const { return writer && !writer->newest().empty() ? writer->newest() : store ? store->folder() : ""; }

} // namespace npar::driver
