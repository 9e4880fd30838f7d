// `npar train`: compiles a text in memory or loads a compiled program, and trains it.
#include "tools/npar/Command.h"

#include "engine/data/SampleCount.h"
#include "engine/files/OutputName.h"
#include "engine/job/AgreedCheckpoint.h"
#include "engine/program/Words.h"
#include "engine/training/RunCheckpoints.h"
#include "tools/lib/models/EvaluationProgram.h"
#include "tools/lib/models/ModelTexts.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/train/RunFlags.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
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
ExitCode checkFlags(const RunFlags &flags) {
  if (!flags.fresh.empty() && flags.weights.empty())
    return fail(ExitCode::Usage, "--fresh needs --weights PATH");
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
  if (flags.checkpoint.empty() && (flags.every > 0 || flags.keep > 0 || flags.resume))
    return fail(ExitCode::Usage, std::string(flags.every > 0  ? "--checkpoint-every"
                                             : flags.keep > 0 ? "--checkpoint-keep"
                                                              : "--resume") +
                                     " needs --checkpoint DIR");
  if (flags.evalEvery == 0 && (flags.stopAfter > 0 || !flags.evalData.empty() || !flags.stopOn.empty()))
    return fail(ExitCode::Usage, std::string(flags.stopAfter > 0       ? "--eval-stop-after"
                                             : !flags.evalData.empty() ? "--eval-data"
                                                                       : "--eval-stop-on") +
                                     " needs --eval-every N");
  if (flags.evalEvery > 0 && flags.device.backend == "null")
    return fail(ExitCode::Usage, "--eval-every cannot be used with --backend null, which computes nothing to evaluate");
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
  files.read("the model", flags.model.file());
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

/// The data to evaluate on: those of --eval-data, else the last part of the data block's split.
Result<engine::DataPlan> evaluationData(const RunFlags &flags, const program::Program &root) {
  engine::GivenData given;
  given.files = flags.evalData;
  if (!given.files.empty()) {
    given.tokens = flags.data.tokens;
  } else if (!root.data() || root.data()->shares()->size() <= 1 || !flags.data.files.empty() || flags.data.random) {
    return Status::badInput("no data are reserved for evaluation\nnpar: help: give --eval-data FILE, or a data block with `split 0.9, 0.1 "
                            "seed 42`");
  }
  TRY(engine::DataPlan plan, engine::planOf(given, root, engine::BatchShape::of(root)));
  if (given.files.empty())
    plan.split.part = plan.split.shares.size() - 1;
  else
    plan.split = {};
  return plan;
}

/// Compiles the program of the evaluations and opens their data.
ExitCode prepareEvaluations(const RunFlags &flags, Job &job, const program::Program &training, FileClaims &files,
                            RunEvaluations &evaluations) {
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
      TRY(engine::DataPlan plan, evaluationData(flags, root));
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
    Result<engine::DataPlan> plan = evaluationData(flags, (*program)->root());
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

/// When resuming without --tune: the size of buckets that an earlier run of this training has chosen.
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

ExitCode runIn(Job &job, RunFlags &flags) {
  FileClaims files;
  RunLogs logs(flags.logs);
  RunCheckpoints checkpoints(
      {flags.checkpoint, flags.every, flags.keep, flags.resume, flags.seed, flags.steps, flags.model.given(), flags.quiet}, terminal());
  if (ExitCode code = job.agree(takeFiles(flags, job, files, logs, checkpoints)); code != ExitCode::Good)
    return code;
  if (ExitCode code = reported(checkpoints.choose(job)); code != ExitCode::Good)
    return code;
  if (!checkpoints.resumes()) { // a resumed training reads its checkpoint instead
    Outcome<std::string> weights = reported(job::settleCheckpoint(job, flags.weights));
    if (!weights.ok())
      return weights.code();
    flags.weights = *weights;
    files.read("--weights", flags.weights);
  }
  const ModelOptions model = withTuned(flags, checkpoints);
  auto load = [&] {
    ModelOrigin origin;
    Result<ProgramPointer> made = models::loadModel(model, files, terminal(), /*withoutKernels=*/false, &origin);
    if (origin.texts)
      checkpoints.keepModel(models::keptModel(flags.model, *origin.texts, std::move(origin.constants)), flags.weights);
    return made;
  };
  Outcome<ProgramPointer> program = reported(job.share(load, Job::Ranks::Shared));
  if (!program.ok())
    return program.code();
  if (program::ProgramKind kind = (*program)->root().kind(); kind != program::ProgramKind::Training)
    return job.agree(fail(ExitCode::BadInput, "'" + flags.model.model + "' was compiled for " + program::wordOf(kind) +
                                                  " and cannot train: compile it without --for"));
  Outcome<engine::DataPlan> data = ExitCode::Good;
  if (!flags.data.random) {
    const program::Program &root = (*program)->root();
    data = reported(planOf(flags.data, root, engine::BatchShape::of(root)));
    ExitCode code = data.code();
    if (data.ok()) {
      claim(*data, files);
      code = reported(files.check());
    }
    if (code = job.agree(code); code != ExitCode::Good)
      return code;
  }
  RunTuning tuning;
  if (ExitCode code = prepareTuning(flags, job, *program, tuning); code != ExitCode::Good)
    return code;
  RunEvaluations evaluations({flags.evalEvery, flags.steps, flags.stopAfter, flags.stopOn});
  if (ExitCode code = prepareEvaluations(flags, job, (*program)->root(), files, evaluations); code != ExitCode::Good)
    return code;
  if (data.ok() && !flags.quiet)
    if (std::string text = engine::unusedParts(*data, evaluations.wanted() && flags.evalData.empty(), !flags.evalData.empty());
        !text.empty())
      printRemark(text);
  return train(flags, job, *program, data.ok() ? &*data : nullptr, logs, checkpoints, evaluations, tuning);
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
    // Process 0 compiles.
    if (ExitCode code = job.agree(job.isVoice() ? checkFed(flags) : ExitCode::Good); code != ExitCode::Good)
      return code;
    if (ExitCode code = job.agree(job.isVoice() ? findMachine(flags.model) : ExitCode::Good); code != ExitCode::Good)
      return code;
    if (ExitCode code = job.agree(chooseTargets(flags.model, flags.device)); code != ExitCode::Good)
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
  auto group = [app](const char *name) { app->option_defaults()->group(name); };
  group("Model and plan");
  addModelFlags(*app, flags->model);
  addMachineTo(*app, flags->model);

  group("Training");
  app->add_option("--steps", flags->steps, "total number of training steps, including those before a checkpoint")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 40))
      ->capture_default_str();
  app->add_option("--seed", flags->seed, "seed for initialization, dropout and data order (default: the train block's)")
      ->type_name("N")
      ->check(wholeNumber());
  app->add_option("--weights", flags->weights, "initial weights: a .safetensors file, a Hugging Face folder, or a checkpoint")
      ->type_name("PATH")
      ->check(notEmpty());
  app->add_option("--fresh", flags->fresh,
                  "with --weights: parameters that get their initial values instead, such as a head for other classes; * matches any text; "
                  "can be repeated")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->check(notEmpty());
  app->add_option("-o,--output", flags->saveWeights, "write the final weights to this file")
      ->type_name("FILE.safetensors")
      ->check(notEmpty());
  app->add_option("--nonfinite", flags->nonfinite,
                  "what to do after a step whose loss or gradient is not finite: stop, or continue; no parameter changes in that step")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"stop", "continue"}))
      ->capture_default_str();

  app->add_option(
         "--tune", flags->tune,
         "try something in the first steps, which count as all others, and keep the fastest: buckets, the sizes of buckets of gradients")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"buckets"}));

  group("Data");
  flags->data.addFilesTo(*app);
  flags->data.addOrderTo(*app);

  group("Checkpoints");
  app->add_option("--checkpoint", flags->checkpoint, "folder of checkpoints; one is written when the run ends, also after Ctrl-C")
      ->type_name("DIR")
      ->check(notEmpty());
  app->add_option("--checkpoint-every", flags->every, "steps between two checkpoints, which are written while training continues")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 40));
  app->add_option("--checkpoint-keep", flags->keep, "keep the N newest checkpoints (default: all)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 40));
  app->add_flag("--resume", flags->resume,
                "continue from the newest whole checkpoint, under this plan or another; start at step 0 if the folder has none");

  group("Evaluation");
  app->add_option("--eval-every", flags->evalEvery,
                  "steps between two evaluations on the last part of the data block's split, or on --eval-data")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 40));
  app->add_option("--eval-data", flags->evalData,
                  "file to evaluate on, read once per evaluation; INPUT=FILE.safetensors feeds a single input")
      ->type_name("[INPUT=]FILE")
      ->check(notEmpty());
  app->add_option("--eval-stop-after", flags->stopAfter, "stop after K evaluations in a row without an improvement on the best one")
      ->type_name("K")
      ->check(wholeNumber(1, int64_t{1} << 40));
  app->add_option("--eval-stop-on", flags->stopOn, "loss or metric that must improve (default: the loss)")
      ->type_name("NAME")
      ->check(notEmpty());

  group("Reports");
  app->add_option(
         "--log", flags->logs,
         "write a row per step: columns to FILE.csv, TensorBoard events to FOLDER/ or to a file with 'tfevents' in its name, JSON objects "
         "to any other file; may be repeated; the file is called FILE.partial until the run ends")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->check(notEmpty());
  app->add_option("--trace", flags->trace, "write the measured timeline for Perfetto or chrome://tracing")
      ->type_name("FILE.json")
      ->check(notEmpty());
  app->add_option("--trace-steps", flags->traceSteps, "training steps in the timeline, from the first (default: 5)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 40));
  app->add_flag("--quiet", flags->quiet, "print errors only");
  app->add_flag("--json", flags->json, "print a summary as one JSON object");

  group("Devices");
  app->add_option("--threads", flags->threads, "worker threads (default: the machine's cores, shared by the processes of a job on it)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
  app->add_option("--backend", flags->device.backend, "cpu; cuda: the GPUs that `npar devices` lists; null: no arithmetic, planned times")
      ->check(CLI::IsMember({"cpu", "cuda", "null"}))
      ->capture_default_str();
  flags->device.addOrderTo(*app);
  flags->device.addGpuFlagsTo(*app);

  group("Processes");
  flags->job.addTo(*app);
  app->add_option("--timeout", flags->timeout, "give up after this many seconds without progress")
      ->type_name("SECONDS")
      ->check(seconds())
      ->capture_default_str();
  app->add_option("--check-replicas", flags->checkReplicas,
                  "steps between two comparisons of parameters and optimizer state that several ranks hold; the run ends with exit code 3 "
                  "if they differ, as after an error in a machine's memory or processor (default: never)")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 40));
  return {app, [flags] { return runTrain(*flags); }};
}

} // namespace npar::driver
