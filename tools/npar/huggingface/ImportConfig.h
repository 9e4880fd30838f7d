// From a config.json to the model text and settings that compute the same.
#pragma once

#include "tools/npar/model/FolderModel.h"

#include <utility>

namespace npar::driver {

struct ImportedConfig {
  std::string model; ///< as `npar train` takes it
  std::string name;  ///< of the model in its text
  std::string family;
  std::vector<std::pair<std::string, std::string>> settings; ///< constants, in the order of the family's lines
  std::vector<std::string> skipped;                          ///< keys that say nothing of what is computed
};

/// By the family that `text` (a path or a model of the standard library) declares or imports; of the standard library's models when it is
/// empty. Every key is understood, known to say nothing of the computation, or refused by name and value.
Outcome<ImportedConfig> importConfig(const std::string &path, const std::string &text = "");

} // namespace npar::driver
