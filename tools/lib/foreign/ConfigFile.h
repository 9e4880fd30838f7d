// A config.json of Hugging Face's, read without trust: what of it speaks of one family's models, and what of any.
#pragma once

#include "dsl/Families.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::foreign {

struct ConfigFile {
  std::string path, modelType;
  std::vector<std::string> architectures;
  std::vector<dsl::ConfigEntry> entries; ///< for the family to read; objects inside are taken apart
};

/// Refuses what is no such file: too large, no JSON, without a model_type.
engine::Result<ConfigFile> readConfigFile(const std::string &path);

/// The file for a model: `entries` of its family, its class, and the type of its weights ("float32"; empty: not said). What the file at
/// `base` says besides (numbers of special tokens, dropout) is kept; empty: there is none.
engine::Result<std::string> configText(const dsl::FamilyConfig &config, const std::string &type, const std::string &base);

} // namespace npar::foreign
