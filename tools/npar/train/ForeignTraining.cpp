// Fills in flags from foreign::RunRequest, and names what stays out.
#include "tools/npar/train/ForeignTraining.h"

#include "engine/files/Ending.h"
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"

#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iostream>

namespace npar::driver {
namespace {

namespace fs = std::filesystem;

using foreign::Repetition;
using foreign::RunRequest;

/// The settings of the run that --from does not follow, as sentences.
using Sentences = std::vector<std::string>;

bool exists(const std::string &path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Nothing for a share of the run's steps, whose number is known later.
std::optional<Interval> intervalOf(const Repetition &repetition) {
  if (repetition.every == Repetition::Every::Epoch)
    return Interval::epochs(1);
  return repetition.steps ? std::optional(Interval(*repetition.steps)) : std::nullopt;
}

void takeLength(const RunRequest &run, RunFlags &flags, Sentences &left) {
  if (flags.steps || flags.epochs)
    return;
  if (run.maxSteps)
    flags.steps = *run.maxSteps;
  else if (run.epochs)
    flags.epochs = run.epochs;
  else
    left.push_back(fmt::format("its file does not give the length of the training: {} steps, or --steps N", RunFlags::defaultSteps));
}

/// Files with tensors are read as they are. A text needs a tokenizer, which is the user's choice.
void takeData(const RunRequest &run, RunFlags &flags, Sentences &left) {
  if (run.trainFiles.empty() || flags.data.random || !flags.data.files.empty())
    return;
  if (run.trainFiles.size() == 1 && files::endsWith(run.trainFiles[0], ".safetensors") && exists(run.trainFiles[0]))
    flags.data.files = run.trainFiles;
  else
    left.push_back(fmt::format("it reads {}: give the samples as --data FILE, with --tokens KIND for tokens (`npar tokens` encodes a text)",
                               fmt::join(run.trainFiles, ", ")));
}

void takeEvaluation(const RunRequest &run, RunFlags &flags, Sentences &left) {
  if (!run.evaluation || run.evaluation->every == Repetition::Every::Never || flags.evalEvery.isGiven())
    return;
  if (flags.evalData.empty())
    left.push_back("it evaluates while it trains: give --eval-data FILE and --eval-every N");
  else if (std::optional<Interval> interval = intervalOf(*run.evaluation))
    flags.evalEvery = *interval;
}

void takeCheckpoints(const RunRequest &run, RunFlags &flags, Sentences &left) {
  if (flags.checkpoint.empty()) {
    if (run.saving && run.saving->every != Repetition::Every::Never)
      left.push_back(run.output ? "it saves checkpoints to '" + *run.output + "': give --checkpoint DIR"
                                : "it saves checkpoints: give --checkpoint DIR");
  } else {
    if (std::optional<Interval> interval = run.saving ? intervalOf(*run.saving) : std::nullopt; interval && !flags.every.isGiven())
      flags.every = *interval;
    if (flags.keep == 0 && run.mostSaved)
      flags.keep = *run.mostSaved;
  }
  if (run.resume && !flags.resume)
    left.push_back("it continues from a checkpoint: give --resume with --checkpoint DIR, or --weights PATH");
}

ExitCode takeWeights(const RunRequest &run, RunFlags &flags) {
  if (!run.weights || !flags.weights.empty() || flags.fromScratch || flags.resume)
    return ExitCode::Good;
  std::error_code ignored;
  const fs::path here = *run.weights, beside = fs::path(flags.foreign.from).parent_path() / here; // as its config.json is looked for
  if (!fs::is_directory(here, ignored) && !fs::is_directory(beside, ignored))
    return fail(ExitCode::BadInput, fmt::format("'{}' starts from the weights of '{}', which is no folder here\nnpar: help: give --weights "
                                                "PATH, or --from-scratch to start from the seed's initial values",
                                                flags.foreign.from, *run.weights));
  flags.weights = (fs::is_directory(here, ignored) ? here : beside).string();
  return ExitCode::Good;
}

ExitCode checkModel(const RunFlags &flags, const foreign::ForeignRun &run) {
  if (!run.request.trains)
    return fail(ExitCode::BadInput, "'" + flags.foreign.from + "' only evaluates or predicts, and trains nothing: use `npar eval`");
  if (run.differences.empty() || flags.nearestModel)
    return ExitCode::Good;
  std::string lines;
  for (const std::string &difference : run.differences)
    lines += "\n  " + difference;
  return fail(ExitCode::BadInput, fmt::format("npar has no model that computes what '{}' trains, only a near one:{}\nnpar: help: "
                                              "--nearest-model trains it",
                                              flags.foreign.from, lines));
}

ExitCode readRun(RunFlags &flags, const Job &job) {
  engine::Observer nobody; // the voice speaks for all processes
  Outcome<std::shared_ptr<foreign::ForeignModel>> taken = flags.foreign.take(flags.model, job.isVoice() ? terminal() : nobody);
  if (!taken.ok())
    return taken.code();
  flags.run = *taken;
  if (flags.foreign.printPlan)
    return ExitCode::Good;
  const RunRequest &run = flags.run->run.request;
  if (ExitCode code = checkModel(flags, flags.run->run); code != ExitCode::Good)
    return code;
  if (ExitCode code = takeWeights(run, flags); code != ExitCode::Good)
    return code;
  Sentences left;
  takeLength(run, flags, left);
  takeData(run, flags, left);
  takeEvaluation(run, flags, left);
  takeCheckpoints(run, flags, left);
  if (!flags.quiet)
    for (const std::string &sentence : left)
      printRemark("'" + flags.foreign.from + "': " + sentence);
  return ExitCode::Good;
}

/// All that a process takes from the run, as text.
std::string takenText(const RunFlags &flags) {
  auto text = [](const Interval &interval) { return fmt::format("{}{}", interval.times(), interval.isInEpochs() ? " epochs" : ""); };
  return fmt::format("{}\n{} {} {} {} {} '{}' {}", flags.run->text, flags.steps.value_or(0), flags.epochs.value_or(0), text(flags.every),
                     flags.keep, text(flags.evalEvery), flags.weights, fmt::join(flags.data.files, "\n"));
}

/// Each process has read its own copy of the file.
ExitCode compareRuns(const RunFlags &flags, const Job &job) {
  const std::string own = takenText(flags);
  engine::Result<std::vector<std::vector<uint8_t>>> all = job.gather({own.begin(), own.end()});
  if (!all.ok())
    return fail(all.status());
  for (size_t process = 0; job.isVoice() && process < all->size(); ++process)
    if ((*all)[process] != all->front())
      return fail(ExitCode::BadInput,
                  fmt::format("{} finds another run in '{}' than {}: the file and all that it names must be the same on "
                              "every host",
                              job.nameOf(process), flags.foreign.from, job.nameOf(0)));
  return ExitCode::Good;
}

} // namespace

ExitCode takeForeignRun(RunFlags &flags, Job &job) {
  if (flags.foreign.from.empty())
    return ExitCode::Good;
  if (ExitCode code = job.agree(readRun(flags, job)); code != ExitCode::Good)
    return code;
  return job.agree(compareRuns(flags, job));
}

void reportForeignRun(const RunFlags &flags, bool compiled) {
  if (!flags.run)
    return;
  if (!compiled)
    printRemark("this is in the plan made from '" + flags.foreign.from + "'; --print-plan shows it");
  else if (!flags.quiet)
    std::cerr << foreign::foreignText(flags.foreign, *flags.run);
}

} // namespace npar::driver
