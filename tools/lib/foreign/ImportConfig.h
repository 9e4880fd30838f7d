// Finds the model text and settings that compute the same as the model of a config.json.
#pragma once

#include "engine/status/Observer.h"
#include "tools/lib/models/FolderModel.h"

#include <utility>

namespace npar::foreign {

/// How to read a config.json.
struct ImportOptions {
  std::string text;                 ///< path or name of a model whose families are tried; empty: the standard library's
  std::vector<std::string> ignored; ///< keys that are left out, with everything in them
  std::string head = {};            ///< ending of the class to take instead of the file's: "ForMaskedLM"; empty: the file's
};

/// The first of a family's classes that ends with `head`, as a list; "ForCausalLM" also means "LMHeadModel", GPT-2's name for it. BadInput
/// if there is none. `what`: names the configuration.
engine::Result<std::vector<std::string>> classesWith(const std::string &head, const std::vector<std::string> &classes,
                                                     const std::string &what);

struct ImportedConfig {
  std::string model; ///< path or name, as for `npar train`
  std::string name;  ///< the model's name in its text
  std::string family;
  std::vector<std::pair<std::string, std::string>> settings; ///< constants, in the order of the family's lines
  std::vector<std::string> skipped;                          ///< keys that do not affect the computation
  std::string tied;                                          ///< the constant that ties the head to the embedding; empty: none
};

/// Reads `path` by the family of its model_type. Every key is understood, known not to affect the computation, or refused by name and
/// value. `observer` gets warnings.
engine::Result<ImportedConfig> importConfig(const std::string &path, engine::Observer &observer, const ImportOptions &options = {});

/// The same for the config.json of a folder. If the folder has weights with a head that differs from the embedding to which the file ties
/// it, the model gets a head of its own, as in transformers.
engine::Result<ImportedConfig> importFolder(const std::string &folder, engine::Observer &observer, const ImportOptions &options = {});

/// The model of a folder with weights, by its config.json or its checkpoint's manifest. An unknown family, or a setting that npar would
/// compute differently, is refused by name.
engine::Result<models::FolderModel> modelOfFolder(const std::string &folder, engine::Observer &observer);

} // namespace npar::foreign
