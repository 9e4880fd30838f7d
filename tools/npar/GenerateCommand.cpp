// `npar generate`: continues a text with a trained model.
#include "tools/npar/Command.h"

#include "engine/json/Json.h"
#include "engine/training/Generator.h"
#include "engine/training/Sampling.h"
#include "tools/lib/trained/GeneratingPrograms.h"
#include "tools/lib/trained/Prompt.h"
#include "tools/lib/trained/TrainedModel.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/PrintableStreams.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/use/Pace.h"
#include "tools/npar/use/UseFlags.h"

#include <fmt/format.h>
#include <iostream>

namespace npar::driver {
namespace {

using engine::Result;
using trained::GeneratingPrograms;
using trained::NamedModel;
using trained::Prompt;
using trained::TrainedModel;

struct GenerateFlags {
  UseFlags use;
  trained::PromptSource prompt;
  int64_t count = 100, top = 0;
  training::Sampling sampling;
  std::optional<double> temperature;
  std::optional<uint64_t> seed;
  bool window = false;

  bool samples() const { return sampling.topK > 0 || sampling.topP < 1 || seed; }
};

//===- Output ---------------------------------------------------------------------------------------------------------------===//

/// The best classes with their scores.
OrderedJson bestOf(const std::vector<double> &scores, int64_t count) {
  std::vector<int32_t> order(scores.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int32_t>(i);
  size_t kept = std::min(order.size(), static_cast<size_t>(count));
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(),
                    [&](int32_t a, int32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  OrderedJson best = OrderedJson::array();
  for (size_t i = 0; i < kept; ++i)
    best.push_back({{"token", order[i]}, {"logit", scores[order[i]]}});
  return best;
}

/// Prints tokens as they are generated: as text if a tokenizer is known, else as numbers. With --json prints everything at the end.
class Output {
public:
  Output(const GenerateFlags &flags, const Prompt &prompt) : flags(flags), prompt(prompt) {
    if (prompt.tokenizer)
      decoder.emplace(*prompt.tokenizer);
    json["prompt_tokens"] = prompt.tokens;
    json["tokens"] = OrderedJson::array();
    for (int32_t token : prompt.tokens)
      show(token, "");
    text.clear();
  }

  /// False if standard output is closed or full.
  bool add(int32_t token, const std::vector<double> &scores) {
    json["tokens"].push_back(token);
    if (flags.top > 0)
      json["best"].push_back(bestOf(scores, flags.top));
    show(token, " ");
    return flags.use.json || bool(productOutput().flush());
  }

  void finish() {
    if (decoder)
      put(decoder->finish());
    if (!flags.use.json) {
      productOutput() << '\n';
      return;
    }
    if (prompt.tokenizer)
      json["text"] = text;
    printJson(std::move(json));
  }

private:
  void show(int32_t token, const char *before) {
    if (!decoder)
      return put((started ? " " : before) + std::to_string(token));
    if (Result<std::string> shown = decoder->push(token); shown.ok()) // ids that the tokenizer does not have print nothing
      put(*shown);
  }
  void put(const std::string &more) {
    started = true;
    text += more;
    if (!flags.use.json)
      productOutput() << more;
  }

  const GenerateFlags &flags;
  const Prompt &prompt;
  std::optional<engine::TextDecoder> decoder;
  OrderedJson json;
  std::string text; ///< the generated text
  bool started = false;
};

//===- The command ----------------------------------------------------------------------------------------------------------===//

ExitCode generate(const GenerateFlags &flags, training::Generator generator, const Prompt &prompt) {
  Output output(flags, prompt);
  std::optional<int32_t> end = prompt.tokenizer ? prompt.tokenizer->endOfText() : std::nullopt;
  stopWhenAsked("after this token", flags.use.quiet);
  Pace pace;
  for (int64_t i = 0; i < flags.count && !stopSignal(); ++i) {
    Result<std::vector<double>> scores = generator.scores();
    if (!scores.ok())
      return fail(scores.status());
    std::optional<int32_t> token = training::nextToken(*scores, flags.sampling, generator.tokens().size());
    if (!token)
      return fail(ExitCode::RunFailed, fmt::format("the scores after {} tokens are not finite", generator.tokens().size()));
    generator.append(*token);
    pace.count();
    if (!output.add(*token, *scores) || token == end)
      break;
  }
  output.finish();
  if (!flags.use.quiet)
    pace.say();
  if (const char *signal = stopSignal())
    return fail(ExitCode::RunFailed,
                fmt::format("stopped by {} after {} of {} tokens", signal, generator.tokens().size() - prompt.tokens.size(), flags.count));
  return ExitCode::Good;
}

ExitCode checkFlags(const GenerateFlags &flags) {
  int prompts = flags.prompt.text.has_value() + !flags.prompt.file.empty() + !flags.prompt.tokens.empty();
  if (prompts != 1)
    return fail(ExitCode::Usage, prompts == 0 ? "no prompt: give --prompt TEXT, --prompt-file FILE or --prompt-tokens 1,2,3"
                                              : "give only one of --prompt, --prompt-file and --prompt-tokens");
  if (flags.top > 0 && !flags.use.json)
    return fail(ExitCode::Usage, "--top needs --json, which prints the classes and their scores");
  if (flags.temperature == 0.0 && flags.samples())
    return fail(ExitCode::Usage, "--temperature 0 always takes the most likely token: --top-k, --top-p and --seed have no effect");
  return ExitCode::Good;
}

/// Starts a session for each program, all in the memory of the largest one, and generates.
ExitCode startAndGenerate(Job &job, const GenerateFlags &flags, const GeneratingPrograms &programs, const NamedModel &named,
                          const Prompt &prompt) {
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
  std::vector<training::GeneratorPart> parts;
  for (const TrainedModel &model : models) {
    Result<training::GeneratorShape> shape = training::GeneratorShape::of(model.program->root());
    if (!shape.ok())
      return fail(shape.status());
    parts.push_back({model.session.get(), *shape});
  }
  return generate(flags,
                  programs.whole ? training::Generator(parts.front(), prompt.tokens)
                                 : training::Generator(parts, programs.length, prompt.tokens),
                  prompt);
}

ExitCode generateIn(Job &job, GenerateFlags &flags) {
  if (ExitCode code = checkFlags(flags); code != ExitCode::Good)
    return code;
  if (ExitCode code = job.refuseOthers("npar generate"); code != ExitCode::Good)
    return code;
  if (ExitCode code = chooseTargets(flags.use.model, flags.use.device); code != ExitCode::Good)
    return code;
  flags.sampling.seed = flags.seed.value_or(0);
  flags.sampling.temperature = flags.temperature.value_or(flags.samples() ? 1 : 0);
  if (flags.use.quiet)
    Waiting::silence();
  FileClaims files;
  files.read("--prompt-file", flags.prompt.file);
  if (ExitCode code = settleFolders(job, flags.use); code != ExitCode::Good)
    return code;
  Outcome<NamedModel> named =
      reported(trained::nameModel(flags.use.model, flags.use.weights, program::ProgramKind::Generation, files, terminal()));
  if (!named.ok())
    return named.code();
  std::optional<Prompt> prompt;
  int64_t given = 0; // tokens in the prompt
  auto choose = [&](const dsl::Program &model) -> Result<SettingsList> {
    TRY(prompt, trained::readPrompt(flags.prompt, *named, trained::classesOf(model.model), terminal()));
    given = static_cast<int64_t>(prompt->tokens.size());
    return trained::settingsFor(model, given + std::max<int64_t>(flags.count - 1, 0));
  };
  SettingsList probe; // under a plan: a batch divisible by all numbers of ranks up to 16
  if (flags.use.model.plan && *flags.use.model.plan != "none")
    probe = {{"batch", "720720"}, {"micro", "1"}};
  Outcome<GeneratingPrograms> programs =
      reported(trained::compileToGenerate(*named, files, probe, choose, given, flags.use.quiet, terminal()));
  if (!programs.ok())
    return programs.code();
  Result<training::GeneratorShape> shape = training::GeneratorShape::of(programs->largest()->root());
  if (!shape.ok())
    return fail(shape.status());
  if (!prompt) {
    Outcome<Prompt> read = reported(trained::readPrompt(flags.prompt, *named, shape->classes, terminal()));
    if (!read.ok())
      return read.code();
    prompt = std::move(*read);
  }
  // The last token is only printed: the model never reads it.
  given = static_cast<int64_t>(prompt->tokens.size());
  int64_t needed = given + flags.count - 1, length = programs->whole ? shape->positions : programs->length;
  if (needed > length && !flags.window)
    return fail(ExitCode::BadInput,
                fmt::format("{} tokens after a prompt of {} need a sequence of {}, but the model's length is {}\nnpar: help: "
                            "--window uses only the last {} tokens as context",
                            flags.count, given, needed, length, length));
  if (named->options.isCompiled() && !flags.use.quiet)
    printRemark("a compiled program recomputes the whole sequence for each token; with a model file, keys and values are cached");
  return startAndGenerate(job, flags, *programs, *named, *prompt);
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
