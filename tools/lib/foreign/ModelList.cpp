// Elaborates the parameters of each configuration, and asks the families which config.json it has.
#include "tools/lib/foreign/ModelList.h"

#include "dsl/Families.h"
#include "dsl/Suggestions.h"
#include "tools/lib/foreign/WithText.h"
#include "tools/lib/models/ParameterProgram.h"

#include <algorithm>
#include <filesystem>

namespace npar::foreign {

using engine::Result;
using engine::Status;

namespace {

/// The names that select an entry of a text.
bool isNamed(const std::string &only, const std::string &text, const dsl::Catalogue &names, const dsl::Catalogue::Configuration &config) {
  return only.empty() || only == text || only == config.model || only == config.name ||
         std::any_of(names.families.begin(), names.families.end(),
                     [&](const dsl::Catalogue::Family &family) { return family.name == only && family.model == config.model; });
}

/// The configurations of a text; a model without any has one without a name.
std::vector<dsl::Catalogue::Configuration> configurationsOf(const dsl::Catalogue &names) {
  std::vector<dsl::Catalogue::Configuration> all = names.configurations;
  for (const std::string &model : names.models)
    if (std::none_of(all.begin(), all.end(), [&](const dsl::Catalogue::Configuration &each) { return each.model == model; }))
      all.push_back({"", model});
  return all;
}

Result<ListedConfiguration> describe(const std::string &text, const dsl::Catalogue::Configuration &config, engine::Observer &observer) {
  models::ModelOptions options;
  options.model = text;
  if (!config.name.empty())
    options.config = config.name;
  TRY(models::ElaboratedModel model, models::elaborateParameters(options, observer));
  TRY(dsl::FrontendOptions frontend, options.frontend());
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  std::optional<dsl::FamilyConfig> family = dsl::configOf(frontend, config.model, sources, diagnostics);
  return ListedConfiguration{text, config.name, family ? family->family : "", family ? family->architecture : "",
                             dsl::countParameters(model.program.model)};
}

Status unknownName(const std::string &name, const std::vector<std::string> &known) {
  const std::string meant = dsl::nearest(name, known);
  return Status::badInput("no model, family or configuration has the name '" + name + "'" +
                          (meant.empty() ? ": npar import --list prints all" : ": did you mean '" + meant + "'?"));
}

} // namespace

Result<ModelList> listModels(const std::string &only, engine::Observer &observer) {
  std::error_code unknown;
  const bool isFile = std::filesystem::exists(only, unknown) && !std::filesystem::is_directory(only, unknown);
  ModelList list;
  std::vector<std::string> known;
  for (const std::string &text : isFile ? std::vector<std::string>{only} : models::libraryTexts("models")) {
    TRY(dsl::Catalogue names, withText(text, observer, "", dsl::catalogueOf));
    std::vector<std::string> listed; // models
    known.push_back(text);
    for (const dsl::Catalogue::Configuration &config : configurationsOf(names))
      if (isNamed(only, text, names, config)) {
        TRY(ListedConfiguration found, describe(text, config, observer));
        list.configurations.push_back(std::move(found));
        listed.push_back(config.model);
      }
    for (const dsl::Catalogue::Configuration &config : names.configurations)
      known.push_back(config.name);
    for (const dsl::Catalogue::Family &family : names.families) {
      known.push_back(family.name);
      if (std::find(listed.begin(), listed.end(), family.model) != listed.end())
        list.families.push_back(family);
    }
  }
  if (list.configurations.empty())
    return unknownName(only, known);
  return list;
}

} // namespace npar::foreign
