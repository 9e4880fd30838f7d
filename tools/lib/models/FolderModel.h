// The model whose weights a folder holds.
#pragma once

#include "engine/status/Status.h"
#include "tools/lib/models/ModelOptions.h"

#include <string>
#include <vector>

namespace npar::models {

/// How to call the text of that model.
struct FolderModel {
  std::string model;                 ///< as `npar train` takes it: a path, or the name of a model of the standard library
  std::vector<std::string> settings; ///< `key=value`
  std::string folder;                ///< with the weights and, possibly, a tokenizer's files
  std::string config = {};           ///< named configuration of the model's constants; empty: none
};

/// The model of a checkpoint, or of the newest checkpoint in a folder: the copy of its text, compared with the hash in the manifest.
engine::Result<FolderModel> modelOfCheckpoint(const std::string &folder);

} // namespace npar::models
