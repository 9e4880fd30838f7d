// The safetensors file format: an 8-byte header length, a JSON header, raw little-endian tensors. Files are not trusted.
#pragma once

#include "engine/files/MappedFile.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

struct StoredTensor {
  std::string type; ///< "F32", "F64", "F16", "BF16", or another that is only listed
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0; ///< in the data part
  uint64_t elements() const;
};

/// A memory-mapped file whose header has been checked: every tensor has the bytes of its shape, and all of them lie one after the other,
/// from the first byte of the data to the end of the file.
class SafetensorsFile {
public:
  /// `what` words errors: "cannot read WHAT 'PATH': ...".
  static Result<std::shared_ptr<SafetensorsFile>> open(const std::string &path, const std::string &what = "weights");
  const std::map<std::string, StoredTensor> &tensors() const { return table; }
  /// `count` elements from `first` on, converted to float or double; the tensor must be of this file and of a floating type (`isFloating`).
  template <typename T> std::vector<T> read(const StoredTensor &tensor, uint64_t first, uint64_t count) const;
  template <typename T> std::vector<T> read(const StoredTensor &tensor) const { return read<T>(tensor, 0, tensor.elements()); }
  static bool isFloating(const std::string &type);
  /// The tensor's own bytes, at any alignment.
  const uint8_t *bytes(const StoredTensor &tensor) const { return data + tensor.begin; }

private:
  explicit SafetensorsFile(program::MappedFile file) : file(std::move(file)) {}
  program::MappedFile file;
  const uint8_t *data = nullptr;
  std::map<std::string, StoredTensor> table;
};

/// The tensors of a JSON header over `dataBytes` bytes of data, or what is wrong with it.
Result<std::map<std::string, StoredTensor>> parseSafetensorsHeader(const char *text, size_t size, uint64_t dataBytes);

/// The header part of a file (length, JSON, padding to 8 bytes) for tensors laid one after the other in the given order; fills begin and
/// end.
std::string safetensorsHeader(std::vector<std::pair<std::string, StoredTensor>> &tensors);

/// A name of a file as messages show it: in quotes, bytes that are not printable as \\x1b.
std::string quotedName(const std::string &name);

/// `[64, 192]`.
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace npar::engine
