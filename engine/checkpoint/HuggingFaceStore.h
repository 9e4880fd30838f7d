// Weights as Hugging Face keeps them: one safetensors file, or a folder with one or with shards and an index.
#pragma once

#include "engine/checkpoint/TensorStore.h"

namespace npar::engine {

/// Names in such a folder: the only file of tensors, or the index of several.
constexpr const char *singleTensorFile = "model.safetensors", *tensorIndexFile = "model.safetensors.index.json";

/// The tensors of one .safetensors file.
Result<std::shared_ptr<const TensorStore>> openSafetensorsStore(const std::string &path);

/// The tensors of a folder with model.safetensors, or with model.safetensors.index.json and the shards that it names. The index is not
/// trusted: its size, nesting and names are limited, files must be inside the folder, and it must list exactly the tensors of its shards.
Result<std::shared_ptr<const TensorStore>> openFolderStore(const std::string &folder);

/// Returns the file of each tensor, read from the text of an index. The error is a sentence without its beginning.
Result<std::map<std::string, std::string>> parseShardIndex(const std::string &text);

/// Returns true if the folder contains such weights.
bool hasWeights(const std::string &folder);

} // namespace npar::engine
