// The models that npar knows by name, with their published sizes.
#pragma once

#include "dsl/Catalogue.h"
#include "dsl/ParameterCounts.h"
#include "engine/status/Observer.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::foreign {

/// A named configuration of a model; `name` is empty for a model without any, whose defaults are counted.
struct ListedConfiguration {
  std::string model;                ///< as for `npar train`: the name of a text
  std::string name;                 ///< as for `--config`
  std::string family, architecture; ///< of config.json: model_type and class; empty: the model has no family
  dsl::ParameterCounts parameters;
};

struct ModelList {
  std::vector<ListedConfiguration> configurations;
  std::vector<dsl::Catalogue::Family> families;
};

/// The models of the text `only`, or of all texts of the standard library whose text, model, family or configuration has the name `only`;
/// empty: all. BadInput if nothing has that name, and for a text with errors.
engine::Result<ModelList> listModels(const std::string &only, engine::Observer &observer);

} // namespace npar::foreign
