// Identifies the model whose weights a folder contains.
#pragma once

#include "engine/status/Status.h"
#include "tools/lib/models/ModelOptions.h"

#include <string>
#include <vector>

namespace npar::models {

/// The arguments that select the folder's model, and the folder itself.
struct FolderModel {
  std::string model;                 ///< as for `npar train`: a path, or the name of a model of the standard library
  std::vector<std::string> settings; ///< `key=value`
  std::string folder;                ///< contains the weights and possibly a tokenizer's files
  std::string config = {};           ///< named configuration of the model's constants; empty: none
  std::string train = {};            ///< train block of a checkpoint, if one was chosen; else empty

  /// Selects the model in `options`. What is given there takes precedence: settings that come later, a configuration, a train block.
  void select(ModelOptions &options) const;
};

/// The model of a checkpoint, or of the newest checkpoint in a folder: the copy of its text, compared with the hash in the manifest.
engine::Result<FolderModel> modelOfCheckpoint(const std::string &folder);

} // namespace npar::models
