// Finds the family of a config.json among the texts that declare one.
#include "tools/npar/huggingface/ImportConfig.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "tools/npar/huggingface/ConfigFile.h"
#include "tools/npar/terminal/Talk.h"

#include <algorithm>
#include <iostream>

namespace npar::driver {
namespace {

constexpr size_t mostMistakes = 100; ///< of a configuration that are listed

/// Runs `read(options, sources, diagnostics)` on a model's text and prints what it reports.
template <typename Read>
auto withText(const std::string &text, Read read)
    -> Outcome<decltype(read(dsl::FrontendOptions(), std::declval<dsl::Sources &>(), std::declval<dsl::Diagnostics &>()))> {
  ModelOptions model;
  model.model = text;
  Outcome<dsl::FrontendOptions> options = model.frontend();
  if (!options.ok())
    return options.code();
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  auto result = read(*options, sources, diagnostics);
  diagnostics.print(std::cerr);
  if (diagnostics.hasErrors())
    return ExitCode::BadInput;
  return result;
}

} // namespace

Outcome<ImportedConfig> importConfig(const std::string &path, const std::string &text) {
  engine::Result<ConfigFile> config = readConfigFile(path);
  if (!config.ok())
    return fail(config.status());
  std::vector<std::string> texts = text.empty() ? libraryModels() : std::vector<std::string>{text}, known;
  for (const std::string &candidate : texts) {
    auto families = withText(candidate, dsl::familiesOf);
    if (!families.ok())
      return families.code();
    known.insert(known.end(), families->begin(), families->end());
    if (std::find(families->begin(), families->end(), config->modelType) == families->end())
      continue;
    auto call = withText(candidate, [&](const dsl::FrontendOptions &options, dsl::Sources &sources, dsl::Diagnostics &diagnostics) {
      return dsl::callOf(options, config->modelType, config->architectures, config->entries, sources, diagnostics);
    });
    if (!call.ok()) {
      printRemark("this follows from the values of configuration '" + path + "'");
      return call.code();
    }
    if (!*call)
      return fail(ExitCode::Internal, "internal error: family \"" + config->modelType + "\" of '" + candidate + "' was not read");
    if ((*call)->wrong.empty())
      return ImportedConfig{candidate, (*call)->model, config->modelType, (*call)->settings, (*call)->skipped};
    std::string message = "configuration '" + path + "' describes a model that npar would compute differently:";
    const std::vector<std::string> &wrong = (*call)->wrong;
    for (size_t i = 0; i < std::min(wrong.size(), mostMistakes); ++i)
      message += "\n  " + wrong[i];
    if (wrong.size() > mostMistakes)
      message += "\n  and " + std::to_string(wrong.size() - mostMistakes) + " more";
    return fail(ExitCode::BadInput, message);
  }
  std::string message = "configuration '" + path + "' has the model_type \"" + config->modelType + "\", and ";
  message += (text.empty() ? "npar" : "'" + text + "'") + (known.empty() ? " knows no family" : " knows");
  for (const std::string &each : known)
    message += (&each == &known.front() ? " \"" : ", \"") + each + '"';
  return fail(ExitCode::BadInput, message + "; declare it in a model's text" + (text.empty() ? ", which --model names" : ""));
}

Outcome<FolderModel> modelOfFolder(const std::string &folder) {
  if (engine::isCheckpoint(folder))
    return modelOfCheckpoint(folder);
  Outcome<ImportedConfig> config = importConfig(folder + "/config.json");
  if (!config.ok())
    return config.code();
  FolderModel model{config->model, {}, folder};
  for (const auto &[key, value] : config->settings)
    model.settings.push_back(key + "=" + value);
  return model;
}

} // namespace npar::driver
