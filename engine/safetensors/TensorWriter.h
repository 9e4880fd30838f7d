// A file of tensors that is written in pieces, whatever its format.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

/// A tensor of the file: its name, type and shape.
struct TensorToWrite {
  std::string name;
  std::string type; ///< the word of safetensors, "F32"
  std::vector<int64_t> shape;
};

/// A file that appears under its name, synced, when everything is in it (OutputFile). Each byte is written once.
class TensorWriter {
public:
  virtual ~TensorWriter() = default;
  /// `size` bytes of the tensor of this index, little-endian, from its byte `offset` on.
  virtual Status write(size_t tensor, uint64_t offset, const void *bytes, size_t size) = 0;
  /// Refuses a file in which bytes of a tensor are missing.
  virtual Status commit() = 0;
  /// True if pieces must come in the order of the tensors, from one thread. Otherwise any order and several threads are allowed.
  virtual bool isInOrder() const = 0;
};

} // namespace npar::engine
