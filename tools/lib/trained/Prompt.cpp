// Reads the prompt with the tokenizer that fits the weights.
#include "tools/lib/trained/Prompt.h"

#include "dsl/AxisSize.h"
#include "engine/files/AtomicFile.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace npar::trained {

using engine::Result;
using engine::Status;
using TokenizerPointer = std::shared_ptr<const engine::Tokenizer>;

namespace {

constexpr uint64_t largestPrompt = 16 << 20; ///< bytes of a file

bool hasTokenizer(const std::string &folder) {
  std::error_code ignored;
  for (const char *name : {"tokenizer.json", "vocab.json", "tokenizer.model"})
    if (!folder.empty() && std::filesystem::exists(std::filesystem::path(folder) / name, ignored))
      return true;
  return false;
}

/// The tokenizer that --tokenizer names, else the one in the folder of the weights, else "bytes" for a model with 256 classes.
Result<TokenizerPointer> findTokenizer(const PromptSource &source, const NamedModel &named, int64_t classes, engine::Observer &observer) {
  bool beside = hasTokenizer(named.folder);
  std::string path = !source.tokenizer.empty() ? source.tokenizer : beside ? named.folder : classes == 256 ? "bytes" : "";
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

} // namespace

Result<Prompt> readPrompt(const PromptSource &source, const NamedModel &named, int64_t classes, engine::Observer &observer) {
  TRY(TokenizerPointer tokenizer, findTokenizer(source, named, classes, observer));
  Prompt prompt{tokenizer, {}};
  if (!source.tokens.empty()) {
    std::optional<std::vector<int32_t>> numbers = readNumbers(source.tokens);
    if (!numbers)
      return Status::usage("--prompt-tokens needs token numbers such as '15496,11,995', not '" + source.tokens + "'");
    prompt.tokens = *numbers;
  } else {
    std::string text = source.text.value_or("");
    if (!source.file.empty()) {
      TRY(std::vector<uint8_t> bytes, files::readFile(source.file, largestPrompt));
      text.assign(bytes.begin(), bytes.end());
    }
    if (!prompt.tokenizer)
      return Status::badInput(fmt::format("no tokenizer for the model's {} classes was found: give --tokenizer FOLDER|FILE, "
                                          "or the prompt as --prompt-tokens 1,2,3",
                                          classes));
    TRY(prompt.tokens, prompt.tokenizer->encode(text));
  }
  if (prompt.tokens.empty())
    return Status::badInput("the prompt is empty: give at least one token");
  for (int32_t token : prompt.tokens)
    if (token >= classes)
      return Status::badInput(fmt::format("the prompt has token {}, but the model has {} classes, 0 to {}", token, classes, classes - 1));
  return prompt;
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

models::SettingsList settingsFor(const dsl::Program &program, int64_t needed) {
  models::SettingsList settings = {{"batch", std::to_string(program.plan.dataParallel)}, {"micro", "1"}};
  const dsl::Model &model = program.model;
  bool adjustable = std::find(model.constants.begin(), model.constants.end(), "length") != model.constants.end();
  const dsl::Node &loss = model.mainLoss();
  if (adjustable && program.plan.mesh.empty() && loss.type.axes.size() == 2 && needed < dsl::axisSize(model, loss.type.axes[1]))
    settings.emplace_back("length", std::to_string(needed));
  return settings;
}

} // namespace npar::trained
