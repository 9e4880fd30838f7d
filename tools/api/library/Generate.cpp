// Continues a prompt with the present parameters of a trainer.
#include "tools/api/Texts.h"
#include "tools/api/library/Arguments.h"
#include "tools/api/library/CompilerLibrary.h"
#include "tools/api/library/ForwardPrograms.h"
#include "tools/api/library/Trainer.h"

#include "engine/json/Document.h"
#include "engine/program/Words.h"
#include "engine/text/Tokenizer.h"
#include "engine/training/CopyParameters.h"
#include "engine/training/Generator.h"
#include "engine/training/Sampling.h"

#include <charconv>
#include <optional>

using namespace npar;
using npar::api::withTrainer;
using npar::engine::Result;
using npar::engine::Status;

namespace npar::api {
namespace {

struct Programs {
  program::ProgramPointer whole, step, prompt;
  int64_t length = 0;
  const program::ProgramPointer &largest() const { return whole ? whole : prompt ? prompt : step; }
};

Result<Programs> programsFor(npar_trainer &trainer, const npar_generate_options &given, int64_t prompt) {
  Programs programs;
  if (given.program) {
    TRY_STATUS(
        checkForward(trainer.root(), given.program->program->root(), program::ProgramKind::Generation, "npar_generate_options.program"));
    programs.whole = given.program->program;
    return programs;
  }
  if (!trainer.request)
    return Status::usage(
        "the trainer's program was opened, not compiled: compile its text for generation and give it as npar_generate_options.program");
  TRY(const CompilerTable *compiler, compilerLibrary());
  CompilerAnswer answer;
  compiler->generate(trainer.request->replaying(NPAR_GENERATION, given.observer, &trainer.stop), prompt, given.count, answer.receiver());
  TRY_STATUS(answer.status);
  TRY(programs.whole, answer.program("whole"));
  TRY(programs.step, answer.program("step"));
  TRY(programs.prompt, answer.program("prompt"));
  const std::string &length = answer.parts["length"];
  std::from_chars(length.data(), length.data() + length.size(), programs.length);
  return programs;
}

/// The sessions of the programs, in the memory of the largest one, with the trainer's parameters.
struct Sessions {
  std::vector<std::unique_ptr<engine::Session>> all;
  std::vector<training::GeneratorPart> parts;

  Status add(const program::ProgramPointer &program, const engine::SessionOptions &options) {
    TRY(std::unique_ptr<engine::Session> session, engine::Session::create(program, options));
    TRY(training::GeneratorShape shape, training::GeneratorShape::of(program->root()));
    parts.push_back({session.get(), shape});
    all.push_back(std::move(session));
    return {};
  }
};

Status start(npar_trainer &trainer, const Programs &programs, Sessions &sessions) {
  engine::SessionOptions options = trainer.options;
  options.initialise = false, options.onRemark = nullptr;
  if (programs.prompt)
    options.guests = {programs.step};
  TRY_STATUS(sessions.add(programs.largest(), options));
  TRY_STATUS(training::copyParameters(trainer.session(), trainer.root(), *sessions.all.front()));
  if (!programs.prompt)
    return {};
  options.guests.clear();
  options.host = sessions.all.front().get();
  return sessions.add(programs.step, options);
}

/// The classes of the model's only table of tokens; 0: unknown.
int64_t classesOf(const npar_trainer &trainer) {
  const engine::InputShape *stream = trainer.shape.find(program::InputRole::Stream);
  return stream ? stream->range.classes : 0;
}

Status check(const npar_generate_options &given) {
  return Arguments("npar_generate_options")
      .whole(given.count, "count", 0, INT32_MAX)
      .array(given.prompt, given.prompt_count, "prompt")
      .content(given.prompt_text, "prompt_text")
      .text(given.tokenizer, "tokenizer")
      .number(given.temperature, "temperature")
      .whole(given.top_k, "top_k", 0, INT32_MAX)
      .number(given.top_p, "top_p", 0, 1)
      .status();
}

Status generate(npar_trainer &trainer, const npar_generate_options &options, npar_buffer **result) {
  TRY_STATUS(check(options));
  npar_generate_options given = options;
  if (given.count == 0)
    given.count = 100;
  if (given.prompt_count > 0 && given.prompt_text.len > 0)
    return Status::usage("npar_generate_options has both prompt (token numbers) and prompt_text: give only one");
  if (given.prompt_count == 0 && given.prompt_text.len == 0)
    return Status::usage("npar_generate_options: give prompt (token numbers) or prompt_text");
  std::string source = given.tokenizer.len ? textOf(given.tokenizer) : classesOf(trainer) == 256 ? "bytes" : "";
  std::shared_ptr<const engine::Tokenizer> tokenizer;
  if (!source.empty()) {
    TRY(tokenizer, engine::openTokenizer(source));
  }
  std::vector<int32_t> prompt(given.prompt, given.prompt + given.prompt_count);
  if (given.prompt_text.len > 0) {
    if (!tokenizer)
      return Status::usage("npar_generate_options.prompt_text needs tokenizer: a folder, a file or \"bytes\"");
    TRY(prompt, tokenizer->encode(textOf(given.prompt_text)));
  }
  TRY(Programs programs, programsFor(trainer, given, static_cast<int64_t>(prompt.size())));
  Sessions sessions;
  TRY_STATUS(start(trainer, programs, sessions));
  const training::GeneratorShape &shape = sessions.parts.front().shape;
  for (int32_t token : prompt)
    if (token < 0 || token >= shape.classes)
      return Status::badInput("token " + std::to_string(token) + " of the prompt is not one of the model's " +
                              std::to_string(shape.classes));
  int64_t length = programs.whole ? shape.positions : programs.length, needed = static_cast<int64_t>(prompt.size()) + given.count - 1;
  if (needed > length) {
    const int64_t most = length - static_cast<int64_t>(prompt.size()) + 1;
    return Status::badInput(std::to_string(given.count) + " tokens after a prompt of " + std::to_string(prompt.size()) +
                            " need a sequence of " + std::to_string(needed) + ", but the model's length is " + std::to_string(length) +
                            ": shorten the prompt" + (most > 0 ? ", or set count to at most " + std::to_string(most) : ""));
  }

  training::Generator generator = programs.whole ? training::Generator(sessions.parts.front(), {prompt})
                                                 : training::Generator(sessions.parts, programs.length, {prompt});
  training::Sampling sampling;
  sampling.temperature = given.temperature, sampling.topK = given.top_k, sampling.seed = given.seed;
  sampling.topP = given.top_p > 0 ? given.top_p : 1;
  std::optional<engine::TextDecoder> decoder;
  std::optional<int32_t> end;
  std::string text;
  if (tokenizer) {
    decoder.emplace(*tokenizer);
    end = tokenizer->endOfText();
    for (int32_t token : prompt)
      TRY_STATUS(decoder->push(token).status());
  }
  HostObserver host(given.observer);
  OrderedJson tokens = OrderedJson::array();
  for (int64_t i = 0; i < given.count; ++i) {
    if (trainer.takesStop() || host.wantsToStop())
      return Status::stopped("the generation");
    TRY_STATUS(generator.advance());
    TRY(std::vector<double> scores, generator.scores(0));
    std::optional<int32_t> token = training::nextToken(scores, sampling, generator.tokens(0).size());
    if (!token)
      return Status::runFailed("the scores after " + std::to_string(generator.tokens(0).size()) + " tokens are not finite");
    generator.append(0, *token);
    tokens.push_back(*token);
    std::string shown;
    if (decoder)
      if (Result<std::string> more = decoder->push(*token); more.ok()) // numbers that the tokenizer does not have show nothing
        shown = *more;
    text += shown;
    npar_event event = {sizeof event, NPAR_EVENT_TOKEN, strOf(shown), *token, given.count, nullptr, nullptr};
    host.tell(event);
    if (token == end)
      break;
  }
  if (decoder)
    text += decoder->finish();
  OrderedJson json = {{"prompt_tokens", prompt}, {"tokens", tokens}};
  if (tokenizer)
    json["text"] = text;
  if (std::optional<program::ProductOrder> order = sessions.all.back()->productOrder())
    json["products"] = program::wordOf(*order);
  give(result, json::documentText(std::move(json)));
  return {};
}

} // namespace
} // namespace npar::api

extern "C" npar_code npar_trainer_generate(npar_trainer *trainer, const npar_generate_options *options, npar_buffer **json,
                                           npar_error **error) {
  return withTrainer(trainer, "npar_trainer_generate", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(own.checkAlone("npar_trainer_generate", "save its weights, and generate with a trainer that has all ranks"));
    TRY(npar_generate_options given, api::optionsOf(options, "npar_generate_options"));
    TRY_STATUS(api::needs(json, "npar_trainer_generate", "json"));
    return api::generate(own, given, json);
  });
}
