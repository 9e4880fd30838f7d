// Finds the family of a config.json among the texts that declare one.
#include "tools/lib/foreign/ImportConfig.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/HuggingFaceStore.h"
#include "engine/checkpoint/Weights.h"
#include "tools/lib/foreign/ConfigFile.h"
#include "tools/lib/models/Compilation.h"
#include "tools/lib/models/ParameterProgram.h"

#include <algorithm>
#include <sstream>

namespace npar::foreign {

using engine::Code;
using engine::Result;
using engine::Status;

namespace {

constexpr size_t mostMistakes = 100; ///< listed per configuration

/// Runs `read(options, sources, diagnostics)` on a model's text. `observer` gets warnings; errors are followed by the line `because`.
template <typename Read>
auto withText(const std::string &text, engine::Observer &observer, const std::string &because, Read read)
    -> Result<decltype(read(dsl::FrontendOptions(), std::declval<dsl::Sources &>(), std::declval<dsl::Diagnostics &>()))> {
  models::ModelOptions model;
  model.model = text;
  TRY(dsl::FrontendOptions options, model.frontend());
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  auto result = read(options, sources, diagnostics);
  std::ostringstream report;
  diagnostics.print(report);
  if (diagnostics.hasErrors())
    return Status::located(Code::BadInput, report.str() + because);
  if (!diagnostics.all().empty())
    observer.warn(report.str());
  return result;
}

/// True if the weights of the folder fit the model, and tensors that must hold the same values do.
bool holdsSame(const std::string &folder, const ImportedConfig &config) {
  models::ModelOptions options;
  options.model = config.model;
  engine::Observer quiet;
  Result<models::ElaboratedModel> model = models::elaborateParameters(options, quiet, config.settings);
  Result<std::shared_ptr<const engine::TensorStore>> store = engine::openFolderStore(folder);
  if (!model.ok() || !store.ok())
    return false;
  models::ParameterProgram parameters(model->program.model);
  Result<engine::Weights> weights = engine::Weights::match(parameters.root(), *store);
  return weights.ok() && weights->checkSame().ok();
}

} // namespace

Result<std::vector<std::string>> classesWith(const std::string &head, const std::vector<std::string> &classes, const std::string &what) {
  const std::vector<std::string> endings =
      head == "ForCausalLM" ? std::vector<std::string>{head, "LMHeadModel"} : std::vector<std::string>{head};
  for (const std::string &ending : endings)
    for (const std::string &one : classes)
      if (one.size() >= ending.size() && one.compare(one.size() - ending.size(), ending.size(), ending) == 0)
        return std::vector<std::string>{one};
  std::string known;
  for (const std::string &one : classes)
    known += (known.empty() ? "" : ", ") + one;
  return Status::badInput(what + " would be trained as a model of a class that ends with '" + head + "', and npar knows " +
                          (known.empty() ? "no class of its family" : "of its family " + known));
}

Result<ImportedConfig> importConfig(const std::string &path, engine::Observer &observer, const ImportOptions &options) {
  const std::string &text = options.text;
  TRY(ConfigFile config, readConfigFile(path, options.ignored));
  std::vector<std::string> texts = text.empty() ? models::libraryTexts("models") : std::vector<std::string>{text}, known;
  for (const std::string &candidate : texts) {
    TRY(std::vector<std::string> families, withText(candidate, observer, "", dsl::familiesOf));
    known.insert(known.end(), families.begin(), families.end());
    if (std::find(families.begin(), families.end(), config.modelType) == families.end())
      continue;
    if (!options.head.empty()) {
      TRY(std::vector<std::string> classes,
          withText(candidate, observer, "",
                   [&](const dsl::FrontendOptions &frontend, dsl::Sources &sources, dsl::Diagnostics &diagnostics) {
                     return dsl::classesOf(frontend, config.modelType, sources, diagnostics);
                   }));
      TRY(config.architectures, classesWith(options.head, classes, "configuration '" + path + "'"));
    }
    std::string because = "npar: this follows from the values of configuration '" + path + "'\n";
    auto call = withText(candidate, observer, because,
                         [&](const dsl::FrontendOptions &frontend, dsl::Sources &sources, dsl::Diagnostics &diagnostics) {
                           return dsl::callOf(frontend, config.modelType, config.architectures, config.entries, sources, diagnostics);
                         });
    if (!call.ok())
      return call.status();
    if (!*call)
      return Status::internal("internal error: family \"" + config.modelType + "\" of '" + candidate + "' was not read");
    if ((*call)->wrong.empty())
      return ImportedConfig{candidate,         (*call)->model,   config.modelType,
                            (*call)->settings, (*call)->skipped, (*call)->constants["tie_word_embeddings"]};
    std::string message = "configuration '" + path + "' describes a model that npar may compute differently:";
    const std::vector<std::string> &wrong = (*call)->wrong;
    for (size_t i = 0; i < std::min(wrong.size(), mostMistakes); ++i)
      message += "\n  " + wrong[i];
    if (wrong.size() > mostMistakes)
      message += "\n  and " + std::to_string(wrong.size() - mostMistakes) + " more";
    if (message.find("does not know") != std::string::npos)
      message += "\n  'npar import --ignore-key NAME' leaves out a key that changes nothing, with everything in it";
    return Status::badInput(message);
  }
  std::string message = "configuration '" + path + "' has the model_type \"" + config.modelType + "\", and ";
  message += (text.empty() ? "npar" : "'" + text + "'") + (known.empty() ? " knows no family" : " knows");
  for (const std::string &each : known)
    message += (&each == &known.front() ? " \"" : ", \"") + each + '"';
  return Status::badInput(message + "; declare it in a model's text" + (text.empty() ? ", which --model names" : ""));
}

Result<ImportedConfig> importFolder(const std::string &folder, engine::Observer &observer, const ImportOptions &options) {
  TRY(ImportedConfig config, importConfig(folder + "/config.json", observer, options));
  auto tied = std::find(config.settings.begin(), config.settings.end(), std::pair(config.tied, std::string("true")));
  if (tied == config.settings.end() || !engine::hasWeights(folder) || holdsSame(folder, config))
    return config;
  tied->second = "false";
  if (holdsSame(folder, config))
    observer.remark("the weights '" + folder + "' have a head that differs from the embedding: " + config.tied + "=false");
  else
    tied->second = "true"; // something else is wrong with them
  return config;
}

Result<models::FolderModel> modelOfFolder(const std::string &folder, engine::Observer &observer) {
  if (engine::isCheckpoint(folder))
    return models::modelOfCheckpoint(folder);
  TRY(ImportedConfig config, importFolder(folder, observer));
  models::FolderModel model{config.model, {}, folder};
  for (const auto &[key, value] : config.settings)
    model.settings.push_back(key + "=" + value);
  return model;
}

} // namespace npar::foreign
