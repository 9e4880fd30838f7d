// Weights as Hugging Face keeps them: one safetensors file, or a folder with one or with shards and an index.
#pragma once

#include "engine/checkpoint/TensorStore.h"

namespace npar::engine {

/// Names in such a folder: the only file of tensors, or the index of several.
constexpr const char *singleTensorFile = "model.safetensors", *tensorIndexFile = "model.safetensors.index.json";

/// The tensors of one .safetensors file.
Result<std::shared_ptr<const TensorStore>> openSafetensorsStore(const std::string &path);

/// The tensors of a folder with model.safetensors, or with model.safetensors.index.json and the shards that it names. The index is not
/// trusted: its size, nesting and names are bounded, files lie inside of the folder, and it must say of every tensor of its shards where it
/// is, and of no other one.
Result<std::shared_ptr<const TensorStore>> openFolderStore(const std::string &folder);

/// The file of each tensor, as the text of an index says it. The error begins in the middle of a sentence.
Result<std::map<std::string, std::string>> parseShardIndex(const std::string &text);

/// Whether the folder holds such weights.
bool hasWeights(const std::string &folder);

} // namespace npar::engine
