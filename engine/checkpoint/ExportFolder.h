// Weights to a folder as Hugging Face keeps them: safetensors files of at most some size, an index when there are several, texts beside
// them.
#pragma once

#include "engine/checkpoint/TensorStore.h"

#include <functional>
#include <utility>
#include <vector>

namespace npar::engine {

struct ExportedTensor {
  std::string name;   ///< in the folder
  std::string source; ///< in the store
  std::string type;   ///< in the folder: a floating one, or that of the store
};

struct ExportOptions {
  std::string folder;                                     ///< must not be there, or be empty
  uint64_t shardBytes = UINT64_MAX;                       ///< of tensors in one file, where one tensor alone has no more
  std::vector<std::pair<std::string, std::string>> texts; ///< other files of the folder: name and content
  std::function<bool(uint64_t done)> goOn;                ///< told the bytes written, from any thread; false ends it. Null: goes on
};

struct Exported {
  size_t files = 0;   ///< with tensors
  uint64_t bytes = 0; ///< of tensors
};

/// Streams the tensors, by name, into a folder that appears whole or not at all. Bytes of one type are kept as they are; a value that the
/// narrower type cannot hold is an error that names the tensor.
Result<Exported> exportFolder(const TensorStore &store, std::vector<ExportedTensor> tensors, const ExportOptions &options);

} // namespace npar::engine
