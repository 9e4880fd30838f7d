// The safetensors file format: an 8-byte header length, a JSON header, raw little-endian tensors. Files are not trusted.
#pragma once

#include "engine/program/MappedFile.h"

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

/// A memory-mapped file whose header has been checked: every tensor lies inside the file, has the bytes of its shape, and overlaps no
/// other.
class SafetensorsFile {
public:
  static Result<std::shared_ptr<SafetensorsFile>> open(const std::string &path);
  const std::map<std::string, StoredTensor> &tensors() const { return table; }
  /// Converted to float; the tensor must be of this file and of a floating type (`isFloating`).
  std::vector<float> readFloat(const StoredTensor &tensor) const;
  std::vector<double> readDouble(const StoredTensor &tensor) const;
  static bool isFloating(const std::string &type);

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

/// `[64, 192]`.
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace npar::engine
