// The model that a folder with weights is of: what its config.json (Hugging Face) or its manifest (a checkpoint) says.
#pragma once

#include "tools/npar/model/ModelOptions.h"
#include "tools/npar/terminal/Outcome.h"

#include <string>
#include <vector>

namespace npar::driver {

/// How to call the model text that a folder's weights are for.
struct FolderModel {
  std::string model;                 ///< as `npar train` takes it: a path, or the name of a model of the standard library
  std::vector<std::string> settings; ///< `key=value`
  /// The folder itself, for its weights and the tokenizer's files beside them.
  std::string folder;
  std::string config = {}; ///< named configuration of the model's constants; empty: none
};

/// Reads config.json or the manifest. An unknown family, or a setting that npar would compute differently, is refused by name.
Outcome<FolderModel> modelOfFolder(const std::string &folder);

/// Of a checkpoint, or of the newest in a folder of them: the model text that it keeps a copy of, after comparing it with its hash.
Outcome<FolderModel> modelOfCheckpoint(const std::string &folder);

} // namespace npar::driver
