// Stored tensors, read by ranges from one safetensors file, a folder of several with an index, or a checkpoint.
#pragma once

#include "engine/safetensors/Safetensors.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

/// A tensor as its file describes it: `type` is the file's word ("F32", "BF16", ...), `shape` the stored one, row-major.
struct StoreEntry {
  std::string type;
  std::vector<int64_t> shape;
  uint64_t elements() const {
    uint64_t count = 1;
    for (int64_t size : shape)
      count *= static_cast<uint64_t>(size);
    return count;
  }
};

/// Named tensors that are read piece by piece, so that nothing needs to be whole in memory. What is stored is not trusted: names, types,
/// shapes and the places of the bytes have been checked when the store is opened. Reads may come from several threads.
class TensorStore {
public:
  virtual ~TensorStore() = default;
  /// As messages call it: "weights 'model.safetensors'", "checkpoint 'run/step-100'".
  virtual const std::string &description() const = 0;
  virtual const std::map<std::string, StoreEntry> &tensors() const = 0;
  /// Paths of all files that it reads: shards, and the index or manifest that names them.
  virtual std::vector<std::string> paths() const = 0;
  /// Bytes of `count` elements from the row-major element `first` on, in the stored type (little-endian). Fails when the file has shrunk
  /// or cannot be read; the message names file and tensor.
  virtual Status read(const std::string &name, uint64_t first, uint64_t count, uint8_t *bytes) const = 0;
  /// Compares what is stored of these tensors with the hashes that were kept of it: to be asked before anything is made of them. Good where
  /// the store keeps none. The error names file and tensor.
  virtual Status compareHashes(const std::vector<std::string> &names) const {
    (void)names;
    return {};
  }
};

/// Opens what `path` is: a .safetensors file, a folder with model.safetensors or model.safetensors.index.json, or a checkpoint (a folder
/// with a manifest, or one of checkpoints, whose newest is taken).
Result<std::shared_ptr<const TensorStore>> openTensorStore(const std::string &path);

} // namespace npar::engine
