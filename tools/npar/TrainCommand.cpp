// `npar train`: compiles a text in memory or loads a compiled program, and trains it.
#include "tools/npar/Command.h"

#include "engine/data/SampleCount.h"
#include "engine/data/TextSamples.h"
#include "engine/files/OutputName.h"
#include "engine/job/AgreedCheckpoint.h"
#include "engine/program/Words.h"
#include "engine/text/TokenizerFiles.h"
#include "engine/training/RunCheckpoints.h"
#include "tools/lib/foreign/ConfigFile.h"
#include "tools/lib/models/EvaluationProgram.h"
#include "tools/lib/models/ModelTexts.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/train/ForeignTraining.h"
#include "tools/npar/train/RunFlags.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <sstream>

namespace npar::driver {

using engine::Result;
using engine::Status;

namespace {

/// Refuses a text without a data block if no data are given, or a token file of unknown kind. Errors in the text itself are ignored here,
/// since compilation reports them.
ExitCode checkFed(const RunFlags &flags) {
  std::error_code error;
  bool clear = flags.data.random || (!flags.data.files.empty() && !flags.data.lacksTokens());
  if (clear || flags.model.isCompiled() || !std::filesystem::is_regular_file(flags.model.file(), error)) // a pipe can be read only once
    return ExitCode::Good;
  Outcome<dsl::FrontendOptions> frontend = reported(flags.model.frontend());
  if (!frontend.ok())
    return frontend.code();
  dsl::Sources sources;
  std::optional<dsl::Program> program = models::elaborateQuietly(*frontend, sources);
  if (!program || program->data)
    return ExitCode::Good;
  return fail(flags.data.files.empty() ? engine::noData(/*mayBeRandom=*/true) : engine::noTokens());
}

/// Reports wrong combinations of flags before anything is compiled.
ExitCode checkFlags(RunFlags &flags) {
  if (ExitCode code = flags.foreign.check(flags.model); code != ExitCode::Good)
    return code;
  if (flags.foreign.from.empty() && (flags.nearestModel || flags.fromScratch))
    return fail(ExitCode::Usage, std::string(flags.nearestModel ? "--nearest-model" : "--from-scratch") + " needs --from FILE");
  if (flags.fromScratch && !flags.weights.empty())
    return fail(ExitCode::Usage, "--from-scratch and --weights cannot be used together");
  if (!flags.fresh.empty() && flags.weights.empty())
    return fail(ExitCode::Usage, "--fresh needs --weights PATH");
  if (!flags.parts.empty() && flags.weights.empty())
    return fail(ExitCode::Usage, "--weights-part needs --weights PATH, the weights of which it replaces a part");
  if (flags.traceSteps > 0 && flags.trace.empty())
    return fail(ExitCode::Usage, "--trace-steps needs --trace FILE.json");
  if (flags.device.backend == "null" && !(flags.weights.empty() && flags.saveWeights.empty()))
    return fail(ExitCode::Usage, std::string(flags.weights.empty() ? "--output" : "--weights") +
                                     " cannot be used with --backend null, which computes nothing and has no weights");
  if (flags.device.backend == "null" && !flags.checkpoint.empty())
    return fail(ExitCode::Usage, "--checkpoint cannot be used with --backend null, which computes nothing to save");
  if (flags.logs.size() > RunLogs::most)
    return fail(ExitCode::Usage,
                "--log is given " + std::to_string(flags.logs.size()) + " times, the most is " + std::to_string(RunLogs::most));
  if (flags.checkpoint.empty() && (flags.every.isGiven() || flags.keep > 0 || flags.resume))
    return fail(ExitCode::Usage, std::string(flags.every.isGiven() ? "--checkpoint-every"
                                             : flags.keep > 0      ? "--checkpoint-keep"
                                                                   : "--resume") +
                                     " needs --checkpoint DIR");
  if (flags.data.random)
    for (auto [flag, isEpochs] : {std::pair("--epochs", flags.epochs.has_value()), std::pair("--eval-every", flags.evalEvery.isInEpochs()),
                                  std::pair("--checkpoint-every", flags.every.isInEpochs())})
      if (isEpochs)
        return fail(ExitCode::Usage, std::string(flag) + " cannot count epochs of --random-data, which has no end");
  if ((flags.evalEvery.isGiven() || !flags.evalData.empty()) && flags.device.backend == "null")
    return fail(ExitCode::Usage, std::string(flags.evalEvery.isGiven() ? "--eval-every" : "--eval-data") +
                                     " cannot be used with --backend null, which computes nothing to evaluate");
  if (!flags.tune.empty() && flags.model.isCompiled())
    return fail(ExitCode::Usage, "--tune needs the model file, because it compiles more programs");
  if (!flags.tune.empty() && !flags.trace.empty())
    return fail(ExitCode::Usage, "--tune and --trace cannot be used together: the first steps belong to several programs");
  if (flags.device.graphs && !flags.trace.empty())
    return fail(ExitCode::Usage, "--cuda-graph and --trace cannot be used together: a graph hides the times of single steps");
  if (flags.checkReplicas > 0 && flags.device.backend == "null")
    return fail(ExitCode::Usage, "--check-replicas cannot be used with --backend null, which computes nothing to compare");
  return reported(flags.data.check());
}

/// Checks all files before anything is compiled. In a job each process checks its inputs, and only the voice claims the outputs.
ExitCode takeFiles(const RunFlags &flags, const Job &job, FileClaims &files, RunLogs &logs, RunCheckpoints &checkpoints) {
  files.writeCheckpoints("--checkpoint", flags.checkpoint);
  files.write("--trace", flags.trace, {".json"});
  files.write("--output", flags.saveWeights);
  for (const RunLogs::Output &output : logs.outputs())
    files.write(output.what, output.path, output.endings);
  models::claim(flags.data, files);
  files.read("--weights", flags.weights);
  for (const std::string &part : flags.parts)
    files.read("--weights-part", part);
  files.read("the model", flags.model.file());
  files.read("--from", flags.foreign.from);
  if (flags.foreign.modelConfig)
    files.read("--model-config", *flags.foreign.modelConfig);
  if (ExitCode code = reported(files.check()); code != ExitCode::Good)
    return code;
  if (ExitCode code = reported(files::checkSafetensorsName("--output", flags.saveWeights)); code != ExitCode::Good)
    return code;
  if (ExitCode code = reported(checkpoints.look()); code != ExitCode::Good)
    return code;
  if (!job.isVoice())
    logs.leave();
  for (const std::string &path : {flags.trace, flags.saveWeights})
    if (!path.empty() && job.isVoice())
      if (engine::Status status = files::checkWritable(path); !status.ok())
        return fail(status);
  SignalsHeld held; // a signal must not end the process between creating a file and registering it for removal
  if (engine::Status status = logs.claim(terminal()); !status.ok())
    return fail(status);
  stopAtOnce(" before the first step: nothing was written", logs.fresh(), /*quiet=*/!job.isVoice());
  return ExitCode::Good;
}

/// True if the data block's split has a part to evaluate on, and trains on another.
bool hasEvaluationPart(const RunFlags &flags, const program::Program &root) {
  return root.data() && root.data()->shares()->size() > 1 && flags.data.files.empty() && !flags.data.random;
}

/// The data to evaluate on: those of --eval-data, else the last part of the data block's split. `classes`: names of those that are trained.
Result<engine::DataPlan> evaluationData(const RunFlags &flags, const program::Program &root, const std::vector<std::string> &classes) {
  engine::GivenData given;
  given.files = flags.evalData, given.columns = flags.data.columns;
  given.tokenizer = flags.data.tokenizer, given.ownTokenizer = flags.data.ownTokenizer;
  if (!given.files.empty()) {
    given.tokens = flags.data.tokens;
  } else if (!hasEvaluationPart(flags, root)) {
    return Status::badInput("no data are reserved for evaluation\nnpar: help: give --eval-data FILE, or a data block with `split 0.9, 0.1 "
                            "seed 42`");
  }
  TRY(engine::DataPlan plan, engine::planOf(given, root, engine::BatchShape::of(root)));
  if (given.files.empty())
    plan.split.part = plan.split.shares.size() - 1;
  else
    plan.split = {};
  if (engine::TextFeed *feed = plan.find(engine::TextFeedKind::Class); feed && feed->names.empty())
    feed->names = classes; // the data to evaluate on may lack a class
  return plan;
}

/// The length of the run: that of the flags, or else of the train block.
RunClock clockOf(const RunFlags &flags, const program::Program *root) {
  const bool isOfBlock = !flags.steps && !flags.epochs && root && root->epochs() > 0;
  return RunClock(flags.steps.value_or(RunFlags::defaultSteps), isOfBlock ? std::optional(root->epochs()) : flags.epochs);
}

/// The interval of evaluations: that of the flag, or else an epoch, if the run counts epochs and has data to evaluate on.
Result<Interval> evaluationInterval(const RunFlags &flags, const program::Program &root, const RunClock &clock) {
  if (flags.evalEvery.isGiven())
    return flags.evalEvery;
  const bool can = !flags.model.isCompiled() && flags.device.backend != "null";
  if (can && clock.epochs() && (!flags.evalData.empty() || hasEvaluationPart(flags, root)))
    return Interval::epochs(1);
  if (flags.stopAfter > 0 || !flags.evalData.empty() || !flags.stopOn.empty())
    return Status::usage(std::string(flags.stopAfter > 0       ? "--eval-stop-after"
                                     : !flags.evalData.empty() ? "--eval-data"
                                                               : "--eval-stop-on") +
                         " needs --eval-every N");
  return Interval();
}

/// Compiles the program of the evaluations and opens their data.
ExitCode prepareEvaluations(const RunFlags &flags, Job &job, const program::Program &training, const std::vector<std::string> &classes,
                            FileClaims &files, RunEvaluations &evaluations) {
  if (!evaluations.wanted())
    return ExitCode::Good;
  Status usage = flags.model.isCompiled()
                     ? Status::usage("--eval-every needs the model file, because it also compiles an evaluation program")
                     : Status();
  if (Status status = job.agree(usage); !status.ok())
    return fail(status);
  models::EvaluationProgram made;
  auto compile = [&]() -> Result<ProgramPointer> {
    models::EvaluationRequest request;
    request.options = flags.model;
    request.options.kind = program::ProgramKind::Evaluation;
    request.countSamples = [&](const program::Program &root) -> Result<int64_t> {
      TRY(engine::DataPlan plan, evaluationData(flags, root, classes));
      return engine::countSamples(plan, engine::BatchShape::of(root));
    };
    request.crew = job.crew(flags.threads, flags.device.backend);
    request.taken = engine::memoryNeeded(training, request.crew, job.ranksOnHost(training)).total();
    request.ofTraining = true, request.withWarnings = false;
    TRY(made, models::compileToEvaluate(request, files, terminal()));
    if (!flags.quiet)
      printRemark("an evaluation takes " + made.text());
    return made.program;
  };
  Outcome<ProgramPointer> program = reported(job.share(compile, Job::Ranks::Shared));
  if (!program.ok())
    return program.code();
  Status status = evaluations.take(*program, made.batch);
  if (status.ok()) {
    Result<engine::DataPlan> plan = evaluationData(flags, (*program)->root(), classes);
    status = plan.ok() ? evaluations.openData(*plan, flags.evalData.empty() ? "" : flags.data.tokens) : plan.status();
  }
  for (const std::string &file : flags.evalData)
    files.read("--eval-data", file.substr(file.find('=') + 1));
  return reported(job.agree(status.ok() ? files.check() : status));
}

/// Compiles the programs that the first steps try, in process 0, and shares them.
ExitCode prepareTuning(const RunFlags &flags, Job &job, const ProgramPointer &own, RunTuning &tuning) {
  if (flags.tune.empty())
    return ExitCode::Good;
  RunTuning made;
  Outcome<std::string> sizes = reported(job.decide([&]() -> Result<std::string> {
    TRY(made.sizes, models::compileBuckets(flags.model, own, terminal()));
    if (flags.device.backend == "null" && made.sizes.size() > 1)
      TRY_STATUS(made.simulate(flags.model.machine));
    std::string list;
    for (size_t i = 0; i < made.sizes.size(); ++i)
      list += fmt::format("{} {:a} ", made.sizes[i].bytes, made.planned.empty() ? 0.0 : made.planned[i]);
    return list;
  }));
  if (!sizes.ok())
    return sizes.code();
  std::istringstream numbers(*sizes);
  std::string bytes, seconds;
  for (size_t i = 0; numbers >> bytes >> seconds; ++i) {
    Outcome<ProgramPointer> program =
        i == 0 ? Outcome<ProgramPointer>(own) : reported(job.share([&] { return made.sizes[i].program; }, Job::Ranks::Shared));
    if (!program.ok())
      return program.code();
    tuning.sizes.push_back({std::strtoll(bytes.c_str(), nullptr, 10), *program});
    if (flags.device.backend == "null")
      tuning.planned.push_back(std::strtod(seconds.c_str(), nullptr));
  }
  tuning.prepare();
  if (!tuning.steps.wanted() && !flags.quiet)
    printRemark(
        fmt::format("--tune buckets has nothing to try: every size of buckets gives plan '{}' the same program, as ranks add up no or "
                    "few gradients",
                    own->root().plan()->str()));
  return ExitCode::Good;
}

/// The size of buckets that an earlier run of this training has chosen, if it is resumed without --tune.
ModelOptions withTuned(const RunFlags &flags, RunCheckpoints &checkpoints) {
  ModelOptions options = flags.model;
  if (!flags.tune.empty() || options.isCompiled())
    return options;
  const std::vector<std::string> tuned = checkpoints.tunedBefore(options.settings, options.plan.value_or(""));
  checkpoints.keepTuned(tuned);
  for (const std::string &setting : tuned) {
    options.settings.push_back(setting);
    if (!flags.quiet)
      printRemark(fmt::format("'{}' applies, which an earlier run of this training has chosen by trying; --tune tries again", setting));
  }
  return options;
}

/// Warns if the weights give the same classes other numbers: the training would have to learn them again.
void warnOfOrder(const RunFlags &flags, const std::vector<std::string> &classes) {
  if (flags.quiet || !flags.fresh.empty() || engine::isCheckpoint(flags.weights))
    return;
  const std::vector<std::string> own = foreign::namesOfClasses(flags.weights);
  if (own != classes && own.size() == classes.size() && std::is_permutation(own.begin(), own.end(), classes.begin()))
    printRemark(fmt::format("warning: the weights number the classes '{}', the data '{}': name them in the order of the weights, "
                            "class(\"COLUMN\", [\"{}\"])",
                            fmt::join(own, "', '"), fmt::join(classes, "', '"), fmt::join(own, "\", \"")));
}

ExitCode runIn(Job &job, RunFlags &flags) {
  FileClaims files;
  RunLogs logs(flags.logs);
  RunClock clock = clockOf(flags, nullptr);
  RunCheckpoints checkpoints(
      {flags.checkpoint, flags.every, flags.keep, flags.resume, flags.seed, &clock, flags.model.given(), flags.quiet}, terminal());
  if (ExitCode code = job.agree(takeFiles(flags, job, files, logs, checkpoints)); code != ExitCode::Good)
    return code;
  if (ExitCode code = reported(checkpoints.choose(job)); code != ExitCode::Good)
    return code;
  if (!checkpoints.resumes()) { // a resumed training reads its checkpoint instead
    std::vector<std::string *> paths = {&flags.weights};
    for (std::string &part : flags.parts)
      paths.push_back(&part);
    for (std::string *path : paths) {
      Outcome<std::string> settled = reported(job::settleCheckpoint(job, *path));
      if (!settled.ok())
        return settled.code();
      *path = *settled;
      files.read(path == &flags.weights ? "--weights" : "--weights-part", *path);
    }
  }
  const ModelOptions model = withTuned(flags, checkpoints);
  auto load = [&] {
    ModelOrigin origin;
    Result<ProgramPointer> made = models::loadModel(model, files, terminal(), /*withoutKernels=*/false, &origin);
    if (origin.texts)
      checkpoints.keepModel(models::keptModel(flags.model, *origin.texts, std::move(origin.constants)), flags.weights, flags.parts);
    if (!origin.batch.empty() && !flags.quiet)
      printRemark(origin.batch);
    return made;
  };
  Outcome<ProgramPointer> program = reported(job.share(load, Job::Ranks::Shared));
  if (job.isVoice())
    reportForeignRun(flags, program.ok());
  if (!program.ok())
    return program.code();
  if (program::ProgramKind kind = (*program)->root().kind(); kind != program::ProgramKind::Training)
    return job.agree(fail(ExitCode::BadInput, "'" + flags.model.model + "' was compiled for " + program::wordOf(kind) +
                                                  " and cannot train: compile it without --for"));
  Outcome<engine::DataPlan> data = ExitCode::Good;
  std::vector<std::string> classes; // named by texts
  if (!flags.data.random) {
    const program::Program &root = (*program)->root();
    flags.data.ownTokenizer = engine::tokenizerFolder(checkpoints.startFolder(flags.weights));
    data = reported(planOf(flags.data, root, engine::BatchShape::of(root)));
    ExitCode code = data.ok() ? reported(nameClasses(*data)) : data.code();
    if (code == ExitCode::Good) {
      for (const std::string &tokenizer : data->tokenizers().size() == 1 ? data->tokenizers() : std::set<std::string>())
        checkpoints.keepTokenizer(tokenizer);
      if (const engine::TextFeed *feed = data->find(engine::TextFeedKind::Class))
        classes = feed->names;
      warnOfOrder(flags, classes);
    }
    if (code == ExitCode::Good) {
      claim(*data, files);
      code = reported(files.check());
    }
    if (code = job.agree(code); code != ExitCode::Good)
      return code;
  }
  clock = clockOf(flags, &(*program)->root());
  Outcome<Interval> every = reported(evaluationInterval(flags, (*program)->root(), clock));
  if (ExitCode code = job.agree(every.code()); code != ExitCode::Good)
    return code;
  RunTuning tuning;
  if (ExitCode code = prepareTuning(flags, job, *program, tuning); code != ExitCode::Good)
    return code;
  RunEvaluations evaluations({*every, clock, flags.stopAfter, flags.stopOn});
  if (ExitCode code = prepareEvaluations(flags, job, (*program)->root(), classes, files, evaluations); code != ExitCode::Good)
    return code;
  if (data.ok() && !flags.quiet)
    if (std::string text = engine::unusedParts(*data, evaluations.wanted() && flags.evalData.empty(), !flags.evalData.empty());
        !text.empty())
      printRemark(text);
  return train(flags, job, *program, data.ok() ? &*data : nullptr, clock, logs, checkpoints, evaluations, tuning);
}

ExitCode runTrain(RunFlags flags) {
  return inJob(flags.job, [&](Job &job) {
    if (ExitCode code = checkFlags(flags); code != ExitCode::Good)
      return code;
    flags.quiet |= !job.isVoice();
    if (flags.quiet)
      Waiting::silence();
    std::signal(SIGPIPE, SIG_IGN); // a closed pipe for the log or progress must not kill the process
    if (ExitCode code = job.join(flags.timeout, flags.json); code != ExitCode::Good)
      return code;
    if (ExitCode code = job.agree(chooseDevices(flags.model, flags.device, job.deviceSharers())); code != ExitCode::Good)
      return code;
    if (ExitCode code = takeForeignRun(flags, job); code != ExitCode::Good)
      return code;
    if (flags.foreign.printPlan) {
      if (job.isVoice())
        std::cout << flags.run->text;
      return ExitCode::Good;
    }
    // Process 0 compiles.
    if (ExitCode code = job.agree(job.isVoice() ? checkFed(flags) : ExitCode::Good); code != ExitCode::Good)
      return code;
    if (ExitCode code = job.agree(job.isVoice() ? findMachine(flags.model) : ExitCode::Good); code != ExitCode::Good)
      return code;
    return runIn(job, flags);
  });
}

} // namespace

Command addTrainCommand(CLI::App &driver) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App *app = driver.add_subcommand(
      "train", "train a model under a plan\n\n"
               "Example:\n"
               "  npar train gpt2 --set vocab=256 --set width=128 --set heads=4 --set depth=4 --set length=64 --set batch=8 \\\n"
               "      --data book.txt --tokens bytes --steps 50 --log log.jsonl\n");
  app->alias("run");
  flags->addTo(*app);
  return {app, [flags] { return runTrain(*flags); }};
}

} // namespace npar::driver
