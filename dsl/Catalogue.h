// Lists the names that a text declares: models, configurations, families.
#pragma once

#include "dsl/Frontend.h"

#include <string>
#include <vector>

namespace npar::dsl {

struct Catalogue {
  struct Configuration {
    std::string name, model;
  };
  struct Family {
    std::string name, model;
    std::vector<std::string> classes; ///< of transformers, in the order of the text
  };
  std::vector<std::string> models;
  std::vector<Configuration> configurations;
  std::vector<Family> families;
};

/// What the text itself declares, without its imports. Errors are in `diagnostics`.
Catalogue catalogueOf(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics);

} // namespace npar::dsl
