// Defines the flags of a model.
#include "tools/npar/model/ModelFlags.h"

#include "tools/npar/model/FlagChecks.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstring>
#include <fmt/format.h>
#include <map>

namespace npar::driver {

void addModelFlags(CLI::App &app, ModelOptions &options) {
  app.add_option("MODEL", options.model, "model file (.npar), name of a model in the standard library, or compiled program (.npx)")
      ->required();
  app.add_option("--plan", options.plan, "plan to use; 'none' runs one rank (default: the file's only plan)")
      ->type_name("NAME")
      ->check(notEmpty());
  app.add_option("--train", options.train, "train block to use (default: the only one of the model)")->type_name("NAME")->check(notEmpty());
  app.add_option("--config", options.config,
                 "named configuration of the model's constants, such as Llama-3-8B (default: the values in the model file)")
      ->type_name("NAME")
      ->check(notEmpty());
  app.add_option("--set", options.settings,
                 "override a constant of the model, train block or plan, such as depth=4, batch=16, mesh.tp=4, compute=f64")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// A flag that is short for a setting. It is defined after --set, whose list it extends.
static void addSettingFlag(CLI::App &app, ModelOptions &options, const std::string &key, const std::string &does, int64_t most) {
  app.add_option_function<std::string>(
         "--" + key, [&options, key](const std::string &value) { options.settings.push_back(key + "=" + value); }, does)
      ->type_name("N")
      ->check(wholeNumber(1, most));
}

void addWorldFlag(CLI::App &app, ModelOptions &options) {
  addSettingFlag(app, options, "world",
                 "number of ranks: sizes the mesh axis that the plan gives as `rest` (default: the number of processes or GPUs)",
                 int64_t{1} << 20);
}

void addAccumulateFlag(CLI::App &app, ModelOptions &options) {
  addSettingFlag(
      app, options, "accumulate",
      "micro-batches of a rank per training step: the batch is data-parallel ranks x micro x N, and whichever of batch, micro and N "
      "is not given follows",
      INT32_MAX);
}

void addKindFlag(CLI::App &app, ModelOptions &options) {
  static const std::map<std::string, program::ProgramKind> commands = {{"train", program::ProgramKind::Training},
                                                                       {"eval", program::ProgramKind::Evaluation},
                                                                       {"generate", program::ProgramKind::Generation},
                                                                       {"outputs", program::ProgramKind::Evaluation}};
  app.add_option_function<std::string>(
         "--for",
         [&options](const std::string &command) {
           options.kind = commands.at(command);
           options.outputsAlone = command == "outputs";
         },
         "command that the program is for: train (the default), eval or generate; outputs: eval --outputs without losses and metrics, "
         "hence without labels")
      ->type_name("COMMAND")
      ->check(CLI::IsMember({"train", "eval", "generate", "outputs"}))
      ->transform(CLI::Validator(
          [](std::string &word) { // the command's old name
            word = word == "run" ? "train" : word;
            return std::string();
          },
          ""));
}

std::string shellQuoted(const std::string &word) {
  bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || (c != '\0' && std::strchr("_-+=,./:@%", c));
  });
  if (plain)
    return word;
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string modelFlags(const ModelOptions &options) {
  std::string flags;
  for (auto [flag, value] : {std::pair("--train", &options.train), std::pair("--config", &options.config)})
    if (*value)
      flags += fmt::format(" {} {}", flag, shellQuoted(**value));
  for (const std::string &setting : options.settings)
    flags += " --set " + shellQuoted(setting);
  return flags;
}

} // namespace npar::driver
