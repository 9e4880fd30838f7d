// `npar generate`: continues a text with a trained model.
#include "tools/npar/Command.h"

#include "tools/lib/trained/GeneratingPrograms.h"
#include "tools/lib/trained/TrainedModel.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/generate/GenerateAll.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::driver {
namespace {

using engine::Result;
using trained::GeneratingPrograms;
using trained::NamedModel;
using trained::Prompts;
using trained::TrainedModel;

ExitCode checkFlags(const GenerateFlags &flags) {
  int prompts = flags.prompt.text.has_value() + !flags.prompt.file.empty() + !flags.prompt.tokens.empty() + flags.hasList();
  if (prompts != 1)
    return fail(ExitCode::Usage, prompts == 0 ? "no prompt: give --prompt TEXT, --prompt-file FILE, --prompt-tokens 1,2,3 or --prompts FILE"
                                              : "give only one of --prompt, --prompt-file, --prompt-tokens and --prompts");
  if (flags.top > 0 && !flags.use.json)
    return fail(ExitCode::Usage, "--top needs --json, which prints the classes and their scores");
  if (flags.batch && !flags.hasList())
    return fail(ExitCode::Usage, "--batch needs --prompts FILE, a file with several prompts");
  if (flags.temperature == 0.0 && flags.samples())
    return fail(ExitCode::Usage, "--temperature 0 always takes the most likely token: --top-k, --top-p and --seed have no effect");
  return ExitCode::Good;
}

/// Starts a session for each program, all in the memory of the largest one, and generates.
ExitCode startAndGenerate(Job &job, const GenerateFlags &flags, const GeneratingPrograms &programs, const NamedModel &named,
                          const Prompts &prompts) {
  std::vector<TrainedModel> models;
  std::vector<ProgramPointer> guests;
  if (programs.prompt)
    guests.push_back(programs.step);
  for (const ProgramPointer &program : {programs.largest(), guests.empty() ? ProgramPointer() : guests.front()}) {
    if (!program)
      continue;
    const trained::StartOptions start = flags.use.start();
    Outcome<TrainedModel> model = reported(models.empty() ? trained::startWith(job, program, named, start, guests, terminal())
                                                          : trained::startIn(job, models.front(), program, start));
    if (!model.ok())
      return model.code();
    models.push_back(std::move(*model));
  }
  GeneratingSessions sessions{{}, !programs.whole, programs.length};
  for (const TrainedModel &model : models) {
    Result<training::GeneratorShape> shape = training::GeneratorShape::of(model.program->root());
    if (!shape.ok())
      return fail(shape.status());
    sessions.parts.push_back({model.session.get(), *shape});
  }
  return generateAll(flags, sessions, prompts);
}

/// Fails if a prompt and its continuation are longer than the model's sequence.
ExitCode checkLengths(const GenerateFlags &flags, const Prompts &prompts, int64_t length) {
  for (const trained::Prompt &prompt : prompts.list) {
    const int64_t given = static_cast<int64_t>(prompt.tokens.size()), needed = given + flags.count - 1; // the last token is only printed
    if (needed > length && !flags.window)
      return fail(ExitCode::BadInput,
                  fmt::format("{}{} tokens after a prompt of {} need a sequence of {}, but the model's length is {}\nnpar: help: "
                              "--window uses only the last {} tokens as context",
                              prompt.where(), flags.count, given, needed, length, length));
  }
  return ExitCode::Good;
}

ExitCode generateIn(Job &job, GenerateFlags &flags) {
  if (ExitCode code = checkFlags(flags); code != ExitCode::Good)
    return code;
  if (ExitCode code = job.refuseOthers("npar generate"); code != ExitCode::Good)
    return code;
  if (ExitCode code = chooseDevices(flags.use.model, flags.use.device, {}); code != ExitCode::Good)
    return code;
  flags.sampling.seed = flags.seed.value_or(0);
  flags.sampling.temperature = flags.temperature.value_or(flags.samples() ? 1 : 0);
  if (flags.use.quiet)
    Waiting::silence();
  FileClaims files;
  files.read("--prompt-file", flags.prompt.file);
  files.read("--prompts", flags.prompt.list);
  if (ExitCode code = settleFolders(job, flags.use); code != ExitCode::Good)
    return code;
  Outcome<NamedModel> named = reported(
      trained::nameModel(flags.use.model, flags.use.weights, flags.use.parts, program::ProgramKind::Generation, files, terminal()));
  if (!named.ok())
    return named.code();
  std::optional<Prompts> prompts;
  int64_t longest = 0; // tokens in the longest prompt
  auto choose = [&](const dsl::Program &model) -> Result<SettingsList> {
    TRY(prompts, trained::readPrompts(flags.prompt, *named, trained::classesOf(model.model), terminal()));
    longest = static_cast<int64_t>(prompts->longest().tokens.size());
    const int64_t together = std::min(flags.together(), static_cast<int64_t>(prompts->list.size()));
    return trained::settingsFor(model, together, longest + std::max<int64_t>(flags.count - 1, 0));
  };
  SettingsList probe; // under a plan: a batch divisible by all numbers of ranks up to 16
  if (flags.use.model.plan && *flags.use.model.plan != "none")
    probe = {{"batch", "720720"}, {"micro", "1"}};
  Outcome<GeneratingPrograms> programs =
      reported(trained::compileToGenerate(*named, files, probe, choose, longest, flags.use.quiet, terminal()));
  if (!programs.ok())
    return programs.code();
  Result<training::GeneratorShape> shape = training::GeneratorShape::of(programs->largest()->root());
  if (!shape.ok())
    return fail(shape.status());
  if (!prompts) {
    Outcome<Prompts> read = reported(trained::readPrompts(flags.prompt, *named, shape->classes, terminal()));
    if (!read.ok())
      return read.code();
    prompts = std::move(*read);
  }
  if (ExitCode code = checkLengths(flags, *prompts, programs->whole ? shape->positions : programs->length); code != ExitCode::Good)
    return code;
  if (named->options.isCompiled() && !flags.use.quiet)
    printRemark("a compiled program recomputes the whole sequence for each token; with a model file, keys and values are cached");
  return startAndGenerate(job, flags, *programs, *named, *prompts);
}

ExitCode runGenerate(GenerateFlags flags) {
  return inJob(flags.use.job, [&](Job &job) { return explained(generateIn(job, flags), flags.use); });
}

} // namespace

Command addGenerateCommand(CLI::App &driver) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App *app =
      driver.add_subcommand("generate", "continue a text with a trained model\n\n"
                                        "Example:\n"
                                        "  npar generate gpt2 --set vocab=256 --set width=128 --set heads=4 --set depth=4 \\\n"
                                        "      --weights weights.safetensors --prompt \"This program is\" --count 40 --temperature 0.8\n");
  flags->use.addModelTo(*app);
  app->option_defaults()->group("Prompt");
  app->add_option("--prompt", flags->prompt.text, "prompt: the text to continue")->type_name("TEXT");
  app->add_option("--prompt-file", flags->prompt.file, "file with the prompt")->type_name("FILE")->check(notEmpty());
  app->add_option("--prompt-tokens", flags->prompt.tokens, "token numbers to continue, such as 15496,11,995")
      ->type_name("1,2,3")
      ->check(notEmpty());
  app->add_option("--prompts", flags->prompt.list,
                  "file with several prompts: a text per line; in a .jsonl file {\"prompt\": \"TEXT\"} or {\"tokens\": [1, 2, 3]} per line")
      ->type_name("FILE")
      ->check(notEmpty());
  app->add_option("--batch", flags->batch, "with --prompts: maximum number of prompts to generate at once (default: 16)")
      ->type_name("N")
      ->check(wholeNumber(1, 1 << 16));
  app->add_option("--tokenizer", flags->prompt.tokenizer,
                  "tokenizer: a folder or file, or bytes (default: the files next to the weights; bytes for a model with 256 classes)")
      ->type_name("FOLDER|FILE|bytes")
      ->check(notEmpty());
  app->option_defaults()->group("Generation");
  app->add_option("--count", flags->count, "maximum number of tokens to generate")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 31))
      ->capture_default_str();
  app->add_option("--temperature", flags->temperature,
                  "sampling temperature; 0 always takes the most likely token (default: 1 with --top-k, --top-p or --seed, else 0)")
      ->type_name("T")
      ->check(number(0.0, 1000.0));
  app->add_option("--top-k", flags->sampling.topK, "sample from the K most likely tokens")
      ->type_name("K")
      ->check(wholeNumber(1, int64_t{1} << 31));
  app->add_option("--top-p", flags->sampling.topP, "sample from the smallest set of most likely tokens whose probabilities sum to P")
      ->type_name("P")
      ->check(number(0.0, 1.0));
  app->add_option("--seed", flags->seed, "seed for sampling: the same seed gives the same text")->type_name("N")->check(wholeNumber());
  app->add_flag("--window", flags->window, "continue beyond the model's length, with the last tokens as context");
  app->add_option("--top", flags->top, "with --json: print the N most likely tokens of each step with their logits")
      ->type_name("N")
      ->check(wholeNumber(1, int64_t{1} << 31));
  flags->use.addRunTo(*app);
  for (const char *flag : {"--mpi", "--nccl", "--place", "--flight", "--check"}) // hidden: flags of jobs, refused by name
    app->get_option(flag)->group("");
  return {app, [flags] { return runGenerate(*flags); }};
}

} // namespace npar::driver
