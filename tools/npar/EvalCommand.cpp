// `npar eval`: computes losses, metrics and predictions of a trained model over data, each sample once.
#include "tools/npar/Command.h"

#include "dsl/UnfedMeasures.h"
#include "engine/checkpoint/CheckpointStore.h"
#include "engine/data/OncePass.h"
#include "engine/files/OutputName.h"
#include "engine/files/PendingFile.h"
#include "engine/json/Json.h"
#include "engine/text/TokenizerFiles.h"
#include "engine/training/EvaluationReport.h"
#include "engine/training/PredictionFile.h"
#include "engine/training/RunLogs.h"
#include "engine/training/TrainedClasses.h"
#include "tools/lib/models/EvaluationProgram.h"
#include "tools/lib/trained/TrainedModel.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/eval/EvaluatedData.h"
#include "tools/npar/eval/Labels.h"
#include "tools/npar/job/CheckSameFiles.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Progress.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <iostream>

namespace npar::driver {
namespace {

using engine::Result;
using engine::Status;
using models::EvaluationProgram;
using trained::NamedModel;
using trained::TrainedModel;
using training::RunLogs;

/// Outputs alone need no labels: what measures would be of inputs that nothing feeds is left out.
void leaveOut(const EvalFlags &flags, dsl::Program &program, dsl::UnfedMeasures &left) {
  std::optional<std::set<std::string>> fed = flags.hasOutputs() ? models::fedInputs(flags.data, program) : std::nullopt;
  if (fed && !program.model.predictions.empty())
    left = dsl::leaveOutUnfed(program.model, *fed);
}

/// Made by process 0 alone.
Result<ProgramPointer> makeProgram(EvalFlags &flags, const Job &job, const NamedModel &named, FileClaims &files, EvaluationProgram &made) {
  if (named.options.isCompiled()) {
    TRY(ProgramPointer loaded, trained::loadOf(named, files, terminal()));
    made.batch = {loaded->root().batch(), training::BatchReason::Program};
    return loaded;
  }
  dsl::UnfedMeasures left;
  models::EvaluationRequest request;
  request.options = named.options;
  request.edit = [&](dsl::Program &program) { leaveOut(flags, program, left); };
  request.countSamples = [&](const program::Program &program) { return countData(flags, named, program); };
  request.crew = job.crew(flags.use.threads, flags.use.device.backend);
  TRY(made, models::compileToEvaluate(request, files, terminal()));
  if (!flags.use.quiet && !left.measures.empty())
    printRemark(fmt::format("nothing feeds {}: {} {} left out", fmt::join(left.inputs, ", "), fmt::join(left.measures, ", "),
                            left.measures.size() == 1 ? "is" : "are"));
  if (!flags.use.quiet)
    printRemark("takes " + made.text());
  return made.program;
}

/// Evaluates all data, and writes outputs and labels if they are asked for.
ExitCode evaluate(const EvalFlags &flags, Job &job, engine::Session &session, const program::Program &program, const engine::OncePass &data,
                  training::Evaluation &evaluation, Labels *labels) {
  using Clock = std::chrono::steady_clock;
  const bool ofSamples = evaluation.takesWholeSamples();
  auto amount = static_cast<double>(program.batch());
  if (!ofSamples)
    amount *= static_cast<double>(training::Evaluation::elementsOfSample(*program.results()->Get(0)));
  std::optional<training::PredictionFile> predictions;
  Status opened;
  if (!flags.outputs.empty()) {
    Result<training::PredictionFile> file = training::PredictionFile::create(job.isVoice() ? flags.outputs : "", program, data.samples());
    opened = file.status();
    if (file.ok())
      predictions.emplace(std::move(*file));
  }
  if (opened = job.agree(opened); !opened.ok())
    return fail(opened);
  const bool printsLabels = labels && flags.labels.empty();
  Progress progress(data.steps(), ofSamples ? "samples" : "tokens", !flags.use.quiet && !printsLabels);
  Clock::time_point begun = Clock::now();
  int64_t done = 0;
  Status status = evaluation.run(session, data, [&](int64_t first, int64_t samples) {
    if (predictions)
      if (Status written = predictions->add(session, first, samples); !written.ok())
        return written;
    if (labels)
      if (Status read = labels->add(session, first, samples); !read.ok())
        return read;
    double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    progress.update(++done, evaluation.counted() ? std::optional(evaluation.loss()) : std::nullopt, amount / std::max(seconds, 1e-9));
    begun = Clock::now();
    return Status();
  });
  progress.finish();
  if (!status.ok()) // other processes may have ended, so do not wait for them
    return fail(status);
  if (predictions)
    status = predictions->commit();
  if (labels && status.ok())
    status = labels->finish();
  return job.agree(reported(status));
}

/// The training step of the checkpoint that the parameters come from; 0 if they come from other files.
int64_t stepOf(const NamedModel &named) {
  if (named.folder.empty() || !engine::isCheckpoint(named.folder))
    return 0;
  auto checkpoint = engine::openCheckpointStore(named.folder);
  return checkpoint.ok() ? static_cast<int64_t>((*checkpoint)->manifest().step) : 0;
}

Status writeLogs(RunLogs &logs, const EvalFlags &flags, const NamedModel &named, const training::Evaluation &evaluation, int64_t samples) {
  engine::EvaluationRecord record = training::recordOf(evaluation, flags.data.tokens, samples);
  record.step = stepOf(named);
  engine::LogShape shape;
  shape.evaluations = training::namesOf(record);
  if (Status status = logs.begin(shape, 0); !status.ok())
    return status;
  Status status = logs.append(record);
  return status.ok() ? logs.commit() : status;
}

ExitCode report(const EvalFlags &flags, const NamedModel &named, RunLogs &logs, const training::Evaluation &evaluation, int64_t samples,
                const training::EvaluationBatch &batch, Labels *labels) {
  if (evaluation.measures().empty() && !flags.hasOutputs())
    return fail(ExitCode::Usage, "the program computes only outputs: give --outputs FILE.safetensors");
  if (evaluation.hasLoss() && evaluation.counted() == 0 && !flags.hasOutputs()) // outputs need no targets
    return fail(ExitCode::BadInput, "no target of " + (flags.data.files.empty() ? "the data" : "'" + flags.data.files[0] + "'") +
                                        " counts: there is nothing to evaluate");
  if (!flags.use.quiet)
    for (const training::Measured &measure : evaluation.measures())
      if (!measure.sum.value())
        printRemark(fmt::format("'{}' has no value: {}", measure.name.empty() ? "loss" : measure.name, measure.sum.whyUndefined()));
  if (flags.use.json) {
    OrderedJson json = jsonOf(evaluation, flags.data.tokens, samples);
    json["batch"] = {{"samples", batch.samples}, {"chosen_by", batch.word()}};
    if (labels && flags.labels.empty())
      json["predictions"] = labels->take();
    printJson(std::move(json));
  } else if (!labels || !evaluation.measures().empty())
    std::cout << textOf(evaluation, flags.data.tokens, samples) << '\n';
  if (Status status = writeLogs(logs, flags, named, evaluation, samples); !status.ok())
    return fail(status);
  if (!std::isfinite(evaluation.loss()))
    return fail(ExitCode::RunFailed, "the loss is not finite");
  return ExitCode::Good;
}

/// Opens the data in every process, and checks that data and --outputs fit the program.
ExitCode lookAtData(EvalFlags &flags, const NamedModel &named, const program::Program &program, std::unique_ptr<engine::OncePass> &data) {
  if (!flags.outputs.empty() && !(program.predictions() && program.predictions()->size() > 0))
    return fail(ExitCode::BadInput,
                fmt::format("model '{}' has no outputs to write\nnpar: help: write `output NAME` in the model", program.model()->str()));
  if (!flags.outputs.empty())
    if (Status status = files::checkWritable(flags.outputs); !status.ok())
      return fail(status);
  if (!flags.stream(program).empty() && flags.data.tokens.empty())
    return fail(engine::noTokens());
  Outcome<std::unique_ptr<engine::OncePass>> opened = reported(openData(flags, named, program));
  if (!opened.ok())
    return opened.code();
  data = std::move(*opened);
  engine::ClassNames trained = training::trainedClasses(named.weights);
  const std::vector<std::string> own = namesOfClasses(named), given = data->classes();
  if (trained.names.empty() && own.size() == given.size() && std::is_permutation(own.begin(), own.end(), given.begin()))
    trained = {"'" + named.weights + "'", own};
  if (Status status = training::checkClasses(given, trained); !status.ok())
    return fail(status);
  if (!flags.use.quiet)
    for (const std::string &text : data->remarks())
      printRemark(text);
  return ExitCode::Good;
}

ExitCode evalIn(Job &job, EvalFlags &flags) {
  FileClaims files;
  models::claim(flags.data, files);
  RunLogs logs(flags.logs);
  for (const RunLogs::Output &output : logs.outputs())
    files.write(output.what, output.path, output.endings);
  files.write("--outputs", flags.outputs);
  files.write("--predict", flags.labelFile());
  if (ExitCode code = settleFolders(job, flags.use); code != ExitCode::Good)
    return code;
  Outcome<NamedModel> named = reported(
      trained::nameModel(flags.use.model, flags.use.weights, flags.use.parts, program::ProgramKind::Evaluation, files, terminal()));
  if (ExitCode code = job.agree(named.code()); code != ExitCode::Good)
    return code;
  if (ExitCode code = reported(trained::shareNames(job, *named)); code != ExitCode::Good)
    return code;
  flags.data.ownTokenizer = engine::tokenizerFolder(named->folder.empty() ? named->weights : named->folder);
  flags.data.keepsTokenizer = engine::isCheckpoint(named->folder);
  EvaluationProgram made;
  Outcome<ProgramPointer> program = reported(job.share([&] { return makeProgram(flags, job, *named, files, made); }, Job::Ranks::Shared));
  if (!program.ok())
    return program.code();
  if (!flags.stream((*program)->root()).empty()) { // process 0 may have guessed it, to count the data
    Outcome<std::string> tokens = reported(job.decide([&]() -> Result<std::string> {
      return flags.data.tokens.empty() ? guessTokens(flags, *named, (*program)->root()) : flags.data.tokens;
    }));
    if (!tokens.ok())
      return tokens.code();
    flags.data.tokens = *tokens;
  }
  std::unique_ptr<engine::OncePass> data;
  if (ExitCode code = job.agree(lookAtData(flags, *named, (*program)->root(), data)); code != ExitCode::Good)
    return code;
  std::vector<std::string> stores = named->parts;
  stores.push_back(named->weights);
  if (ExitCode code = checkSameFiles(job, data->paths(), stores, (*program)->root().seed()); code != ExitCode::Good)
    return code;
  Outcome<TrainedModel> model = reported(trained::startWith(job, *program, *named, flags.use.start(), /*guests=*/{}, terminal()));
  if (!model.ok())
    return model.code();
  data->keepRows(model->session->rows());
  if (Result<int> threads = job.threads(flags.use.threads); threads.ok()) // else the session has failed
    data->useWorkers(*threads);
  if (!job.isVoice())
    logs.leave();
  if (Status claimed = job.agree(logs.claim(terminal())); !claimed.ok())
    return fail(claimed);
  training::Evaluation evaluation((*program)->root());
  Labels labels(flags, job, *data);
  if (flags.predicts)
    if (Status opened = job.agree(labels.open((*program)->root(), *named)); !opened.ok())
      return fail(opened);
  Labels *wanted = flags.predicts ? &labels : nullptr;
  if (ExitCode code = evaluate(flags, job, *model->session, (*program)->root(), *data, evaluation, wanted); code != ExitCode::Good)
    return code;
  return job.agree(report(flags, *named, logs, evaluation, data->samples(), made.batch, wanted));
}

ExitCode checkLabels(const EvalFlags &flags) {
  if (!flags.output.empty() && !flags.predicts)
    return fail(ExitCode::Usage,
                "--output chooses the scores for --predict: give --predict, or --outputs FILE.safetensors for all outputs");
  if (flags.labels.empty())
    return ExitCode::Good;
  if (ExitCode code = reported(training::LabelFile::checkName(flags.labelFile())); code != ExitCode::Good)
    return code;
  return reported(files::checkWritable(flags.labelFile()));
}

ExitCode runEval(EvalFlags flags) {
  return inJob(flags.use.job, [&](Job &job) {
    if (ExitCode code = reported(files::checkSafetensorsName("--outputs", flags.outputs)); code != ExitCode::Good)
      return code;
    if (ExitCode code = reported(flags.data.check()); code != ExitCode::Good)
      return code;
    if (ExitCode code = checkLabels(flags); code != ExitCode::Good)
      return code;
    flags.use.quiet |= !job.isVoice();
    if (flags.use.quiet)
      Waiting::silence();
    if (ExitCode code = job.join(flags.use.timeout, flags.use.json); code != ExitCode::Good)
      return code;
    if (ExitCode code = job.agree(chooseDevices(flags.use.model, flags.use.device, job.deviceSharers())); code != ExitCode::Good)
      return code;
    return explained(evalIn(job, flags), flags.use);
  });
}

} // namespace

Command addEvalCommand(CLI::App &driver) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App *app = driver.add_subcommand(
      "eval", "evaluate a trained model on a file, or on the last part of its data block: losses, metrics, predictions\n\n"
              "Example:\n"
              "  npar eval gpt2 --set vocab=256 --set width=128 --set heads=4 --set depth=4 --set length=64 \\\n"
              "      --weights weights.safetensors --data book.txt --tokens bytes\n");
  flags->use.addModelTo(*app);
  app->option_defaults()->group("Data");
  flags->data.addFilesTo(*app);
  flags->data.addTextsTo(*app);
  app->get_option("--data")->description("data, read once: tokens, texts (.csv, .tsv, .jsonl, .txt), or a FILE.safetensors with a tensor "
                                         "per input; INPUT=FILE.safetensors feeds "
                                         "a single input (default: the model's data block)");
  app->get_option("--tokens")
      ->description(
          "content of the file: bytes (a text), u16 or i32 (little-endian token numbers); default: from the file name (.u16, .i32) or the "
          "checkpoint, else bytes if the model has 256 classes");
  app->add_option("--part", flags->part, "part of the data block's split, counted from 1 (default: the last; with --data all of it)")
      ->type_name("N")
      ->check(wholeNumber(1, 1'000'000));
  flags->use.addRunTo(*app);
  app->option_defaults()->group("Reports");
  app->add_option("--outputs", flags->outputs, "write the values of the model's `output` lines, one tensor each, in the order of the data")
      ->type_name("FILE.safetensors");
  CLI::Option *predict =
      app->add_option("--predict", flags->labels,
                      "print the most probable class of each sample and its probability, in the order of the data, or write them "
                      "to a .csv or .jsonl file; the data need no labels");
  predict->type_name("FILE")->expected(0, 1);
  app->add_option("--output", flags->output, "with --predict: the model's output that has the scores of classes (default: the only one)")
      ->type_name("NAME")
      ->check(notEmpty());
  app->add_option(
         "--log", flags->logs,
         "log the result as one row: columns in FILE.csv, TensorBoard events in FOLDER/ or a file with 'tfevents' in its name, else a JSON "
         "object; can be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->check(notEmpty());
  return {app, [flags, predict] {
            flags->predicts = predict->count() > 0;
            if (flags->labelFile().empty()) // --predict without a file is an empty text
              flags->labels.clear();
            return runEval(*flags);
          }};
}

} // namespace npar::driver
