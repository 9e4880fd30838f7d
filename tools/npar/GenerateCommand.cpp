// `npar generate`: continues a text with a trained model.
#include "tools/npar/Command.h"

#include "engine/files/AtomicFile.h"
#include "engine/text/Tokenizer.h"
#include "engine/training/Generator.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/PrintableStreams.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/use/Pace.h"
#include "tools/npar/use/TrainedModel.h"

#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace npar::driver {
namespace {

using engine::Result;
using TokenizerPointer = std::shared_ptr<const engine::Tokenizer>;

constexpr uint64_t largestPrompt = 16 << 20; ///< bytes of --prompt-file

struct GenerateFlags {
  UseFlags use;
  std::optional<std::string> prompt;
  std::string promptFile, promptTokens, tokenizer;
  int64_t count = 100, top = 0;
  training::Sampling sampling;
  std::optional<double> temperature;
  std::optional<uint64_t> seed;
  bool window = false;

  bool samples() const { return sampling.topK > 0 || sampling.topP < 1 || seed; }
};

/// The prompt as tokens, and the tokenizer, null if unknown.
struct Prompt {
  TokenizerPointer tokenizer;
  std::vector<int32_t> tokens;
};

bool hasTokenizer(const std::string &folder) {
  std::error_code ignored;
  for (const char *name : {"tokenizer.json", "vocab.json", "tokenizer.model"})
    if (!folder.empty() && std::filesystem::exists(std::filesystem::path(folder) / name, ignored))
      return true;
  return false;
}

/// The tokenizer that --tokenizer names, else the one in the folder of the weights, else "bytes" for a model with 256 classes.
Outcome<TokenizerPointer> findTokenizer(const GenerateFlags &flags, const NamedModel &named, int64_t classes) {
  bool beside = hasTokenizer(named.folder);
  std::string path = !flags.tokenizer.empty() ? flags.tokenizer : beside ? named.folder : classes == 256 ? "bytes" : "";
  if (path.empty())
    return TokenizerPointer();
  Result<TokenizerPointer> tokenizer = engine::openTokenizer(path);
  if (tokenizer.ok())
    return *tokenizer;
  if (flags.tokenizer.empty() && !flags.promptTokens.empty()) { // token numbers need no tokenizer
    printRemark(tokenizer.status().message() + "; only token numbers are printed");
    return TokenizerPointer();
  }
  return fail(tokenizer.status());
}

/// Reads a list of token numbers such as "1,2,3".
std::optional<std::vector<int32_t>> readNumbers(const std::string &text) {
  std::vector<int32_t> numbers;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    std::string word = text.substr(at, end - at);
    if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
    numbers.push_back(std::stoi(word));
    at = end + 1;
  }
  return numbers;
}

Outcome<Prompt> readPrompt(const GenerateFlags &flags, const NamedModel &named, int64_t classes) {
  Outcome<TokenizerPointer> tokenizer = findTokenizer(flags, named, classes);
  if (!tokenizer.ok())
    return tokenizer.code();
  Prompt prompt{*tokenizer, {}};
  if (!flags.promptTokens.empty()) {
    std::optional<std::vector<int32_t>> numbers = readNumbers(flags.promptTokens);
    if (!numbers)
      return fail(ExitCode::Usage, "--prompt-tokens needs token numbers such as '15496,11,995', not '" + flags.promptTokens + "'");
    prompt.tokens = *numbers;
  } else {
    std::string text = flags.prompt.value_or("");
    if (!flags.promptFile.empty()) {
      Result<std::vector<uint8_t>> bytes = program::readFile(flags.promptFile, largestPrompt);
      if (!bytes.ok())
        return fail(bytes.status());
      text.assign(bytes->begin(), bytes->end());
    }
    if (!prompt.tokenizer)
      return fail(ExitCode::BadInput, fmt::format("no tokenizer for the model's {} classes was found: give --tokenizer FOLDER|FILE, "
                                                  "or the prompt as --prompt-tokens 1,2,3",
                                                  classes));
    Result<std::vector<int32_t>> tokens = prompt.tokenizer->encode(text);
    if (!tokens.ok())
      return fail(tokens.status());
    prompt.tokens = std::move(*tokens);
  }
  if (prompt.tokens.empty())
    return fail(ExitCode::BadInput, "the prompt is empty: give at least one token");
  for (int32_t token : prompt.tokens)
    if (token >= classes)
      return fail(ExitCode::BadInput,
                  fmt::format("the prompt has token {}, but the model has {} classes, 0 to {}", token, classes, classes - 1));
  return prompt;
}

//===- The program ----------------------------------------------------------------------------------------------------------===//

int64_t sizeOf(const dsl::Model &model, const std::string &name) {
  for (const dsl::Axis &axis : model.axes)
    if (axis.name == name)
      return axis.size;
  return 0;
}

/// The number of classes of the logits that the loss compares with targets; 0 if the loss has no logits.
int64_t classesOf(const dsl::Model &model) {
  const dsl::Node &loss = model.mainLoss();
  if (loss.operands.empty())
    return 0;
  for (const std::string &axis : model.nodes[loss.operands[0]].type.axes)
    if (std::find(loss.type.axes.begin(), loss.type.axes.end(), axis) == loss.type.axes.end())
      return sizeOf(model, axis);
  return 0;
}

/// Settings for one sample per data-parallel rank. On one rank the sequence is only as long as needed, if the model has a constant for its
/// length; other plans may need a length that they can split.
SettingsList settingsFor(const dsl::Program &program, int64_t needed) {
  SettingsList settings = {{"batch", std::to_string(program.plan.dataParallel)}, {"micro", "1"}};
  const dsl::Model &model = program.model;
  bool adjustable = std::find(model.constants.begin(), model.constants.end(), "length") != model.constants.end();
  const dsl::Node &loss = model.mainLoss();
  if (adjustable && program.plan.mesh.empty() && loss.type.axes.size() == 2 && needed < sizeOf(model, loss.type.axes[1]))
    settings.emplace_back("length", std::to_string(needed));
  return settings;
}

//===- Output ---------------------------------------------------------------------------------------------------------------===//

/// The best classes with their scores.
nlohmann::ordered_json bestOf(const std::vector<double> &scores, int64_t count) {
  std::vector<int32_t> order(scores.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int32_t>(i);
  size_t kept = std::min(order.size(), static_cast<size_t>(count));
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(),
                    [&](int32_t a, int32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  nlohmann::ordered_json best = nlohmann::ordered_json::array();
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
    json["tokens"] = nlohmann::ordered_json::array();
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
    std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
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
  nlohmann::ordered_json json;
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
  int prompts = flags.prompt.has_value() + !flags.promptFile.empty() + !flags.promptTokens.empty();
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
    Outcome<TrainedModel> model =
        models.empty() ? startWith(job, program, named, flags.use, guests) : startIn(job, models.front(), program, flags.use);
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
  files.read("--prompt-file", flags.promptFile);
  if (ExitCode code = settleFolders(job, flags.use); code != ExitCode::Good)
    return code;
  Outcome<NamedModel> named = nameModel(flags.use, program::ProgramKind::Generation, files);
  if (!named.ok())
    return named.code();
  std::optional<Prompt> prompt;
  int64_t given = 0; // tokens in the prompt
  auto choose = [&](const dsl::Program &model) -> Outcome<SettingsList> {
    Outcome<Prompt> read = readPrompt(flags, *named, classesOf(model.model));
    if (!read.ok())
      return read.code();
    prompt = std::move(*read);
    given = static_cast<int64_t>(prompt->tokens.size());
    return settingsFor(model, given + std::max<int64_t>(flags.count - 1, 0));
  };
  SettingsList probe; // under a plan: a batch divisible by all numbers of ranks up to 16
  if (flags.use.model.plan && *flags.use.model.plan != "none")
    probe = {{"batch", "720720"}, {"micro", "1"}};
  Outcome<GeneratingPrograms> programs = compileToGenerate(*named, files, probe, choose, given, flags.use.quiet);
  if (!programs.ok())
    return programs.code();
  Result<training::GeneratorShape> shape = training::GeneratorShape::of(programs->largest()->root());
  if (!shape.ok())
    return fail(shape.status());
  if (!prompt) {
    Outcome<Prompt> read = readPrompt(flags, *named, shape->classes);
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
  app->add_option("--prompt", flags->prompt, "prompt: the text to continue")->type_name("TEXT");
  app->add_option("--prompt-file", flags->promptFile, "file with the prompt")->type_name("FILE")->check(notEmpty());
  app->add_option("--prompt-tokens", flags->promptTokens, "token numbers to continue, such as 15496,11,995")
      ->type_name("1,2,3")
      ->check(notEmpty());
  app->add_option("--tokenizer", flags->tokenizer,
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
