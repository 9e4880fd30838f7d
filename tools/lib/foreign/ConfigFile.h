// Reads an untrusted config.json of Hugging Face, and separates the keys of one model family from those of all models.
#pragma once

#include "dsl/Families.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::foreign {

struct ConfigFile {
  std::string path, modelType;
  std::vector<std::string> architectures;
  std::vector<dsl::ConfigEntry> entries; ///< keys for the family to read; nested objects are flattened, a point in a name is "\\."
};

/// BadInput if the file is too large, is not JSON, has no model_type or lacks a key of `ignored`, which are left out with everything in
/// them.
engine::Result<ConfigFile> readConfigFile(const std::string &path, const std::vector<std::string> &ignored = {});

/// The names of the labels by number in the config.json of a folder of weights, or in a checkpoint's copy of it. Empty without such a file,
/// or if it names them LABEL_0, LABEL_1 ... as transformers does for a model without names.
std::vector<std::string> namesOfClasses(const std::string &folder);

struct ConfigText {
  std::string text;
  std::vector<std::string> unknown; ///< keys, of special tokens and names of labels, whose values the model does not say
};

/// The text of a model's config.json: its family's entries, its class and the type of its weights ("float32"; empty: left out). Other
/// values, such as special tokens and dropout, are copied from the file at `base`, which may be empty, if it is of the same family.
/// `classes`: names of the labels, if they are known.
engine::Result<ConfigText> configText(const dsl::FamilyConfig &config, const std::string &type, const std::string &base,
                                      const std::vector<std::string> &classes = {});

} // namespace npar::foreign
