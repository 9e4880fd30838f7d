// Reads the prompts with the tokenizer that fits the weights.
#include "tools/lib/trained/Prompt.h"

#include "dsl/AxisSize.h"
#include "engine/files/AtomicFile.h"
#include "engine/text/TokenizerFiles.h"
#include "tools/lib/trained/PromptFile.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace npar::trained {

using engine::Result;
using engine::Status;
using TokenizerPointer = std::shared_ptr<const engine::Tokenizer>;

namespace {

constexpr uint64_t largestPrompt = 16 << 20; ///< bytes of a file

/// The tokenizer that --tokenizer names, else the one in the folder of the weights, else "bytes" for a model with 256 classes.
Result<TokenizerPointer> findTokenizer(const PromptSource &source, const NamedModel &named, int64_t classes, engine::Observer &observer) {
  const std::string beside = engine::tokenizerFolder(named.folder);
  std::string path = !source.tokenizer.empty() ? source.tokenizer : !beside.empty() ? beside : classes == 256 ? "bytes" : "";
  if (path.empty())
    return TokenizerPointer();
  Result<TokenizerPointer> tokenizer = engine::openTokenizer(path);
  if (tokenizer.ok())
    return *tokenizer;
  if (source.tokenizer.empty() && !source.tokens.empty()) { // token numbers need no tokenizer
    observer.remark(tokenizer.status().message() + "; only token numbers are printed");
    return TokenizerPointer();
  }
  return tokenizer.status();
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

/// The prompts as their source gives them.
Result<std::vector<PromptLine>> readLines(const PromptSource &source) {
  if (!source.list.empty())
    return readPromptFile(source.list);
  std::vector<PromptLine> lines(1);
  if (!source.tokens.empty()) {
    std::optional<std::vector<int32_t>> numbers = readNumbers(source.tokens);
    if (!numbers)
      return Status::usage("--prompt-tokens needs token numbers such as '15496,11,995', not '" + source.tokens + "'");
    lines[0].tokens = *numbers;
    return lines;
  }
  lines[0].text = source.text.value_or("");
  if (!source.file.empty()) {
    TRY(std::vector<uint8_t> bytes, files::readFile(source.file, largestPrompt));
    lines[0].text->assign(bytes.begin(), bytes.end());
  }
  return lines;
}

/// The tokens of a prompt, each one of `classes`.
Result<Prompt> promptOf(PromptLine line, const TokenizerPointer &tokenizer, int64_t classes) {
  Prompt prompt{line.place, std::move(line.tokens)};
  auto wrong = [&](const std::string &what) { return Status::badInput(prompt.where() + what); };
  if (line.text && !tokenizer)
    return wrong(fmt::format("no tokenizer for the model's {} classes was found: give --tokenizer FOLDER|FILE, or the prompt as {}",
                             classes,
                             line.place.empty() ? "--prompt-tokens 1,2,3" : "{\"tokens\": [1, 2, 3]} in a file with the ending .jsonl"));
  if (line.text) {
    Result<std::vector<int32_t>> tokens = tokenizer->encode(*line.text);
    if (!tokens.ok())
      return Status(tokens.status().code(), prompt.where() + tokens.status().message());
    prompt.tokens = std::move(*tokens);
  }
  if (prompt.tokens.empty())
    return wrong("the prompt is empty: give at least one token");
  for (int32_t token : prompt.tokens)
    if (token >= classes)
      return wrong(fmt::format("the prompt has token {}, but the model has {} classes, 0 to {}", token, classes, classes - 1));
  return prompt;
}

} // namespace

const Prompt &Prompts::longest() const {
  return *std::max_element(list.begin(), list.end(), [](const Prompt &a, const Prompt &b) { return a.tokens.size() < b.tokens.size(); });
}

Result<Prompts> readPrompts(const PromptSource &source, const NamedModel &named, int64_t classes, engine::Observer &observer) {
  Prompts prompts;
  TRY(prompts.tokenizer, findTokenizer(source, named, classes, observer));
  TRY(std::vector<PromptLine> lines, readLines(source));
  for (PromptLine &line : lines) {
    TRY(Prompt prompt, promptOf(std::move(line), prompts.tokenizer, classes));
    prompts.list.push_back(std::move(prompt));
  }
  return prompts;
}

int64_t classesOf(const dsl::Model &model) {
  const dsl::Node &loss = model.mainLoss();
  if (loss.operands.empty())
    return 0;
  for (const std::string &axis : model.nodes[loss.operands[0]].type.axes)
    if (std::find(loss.type.axes.begin(), loss.type.axes.end(), axis) == loss.type.axes.end())
      return dsl::axisSize(model, axis);
  return 0;
}

models::SettingsList settingsFor(const dsl::Program &program, int64_t samples, int64_t needed) {
  const int64_t ranks = program.plan.dataParallel, each = (samples + ranks - 1) / ranks;
  models::SettingsList settings = {{"batch", std::to_string(each * ranks)}, {"micro", std::to_string(each)}};
  const dsl::Model &model = program.model;
  bool adjustable = std::find(model.constants.begin(), model.constants.end(), "length") != model.constants.end();
  const dsl::Node &loss = model.mainLoss();
  if (adjustable && program.plan.mesh.empty() && loss.type.axes.size() == 2 && needed < dsl::axisSize(model, loss.type.axes[1]))
    settings.emplace_back("length", std::to_string(needed));
  return settings;
}

} // namespace npar::trained
