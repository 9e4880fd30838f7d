// The safetensors file format: an 8-byte header length, a JSON header, raw little-endian tensors. Files are not trusted.
#pragma once

#include "engine/files/InsideFolder.h"
#include "engine/files/RangeFile.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

using files::quotedName;

struct StoredTensor {
  std::string type; ///< a word of StoredType.h
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0; ///< in the data part
  uint64_t elements() const;
};

/// An open file whose header has been checked: each tensor has the bytes of its shape, and the tensors fill the data from its first byte to
/// the end of the file without gaps. Bytes are read on request, by ranges and not through a mapping. If the file has been truncated or the
/// disk fails, that read returns an error that names the tensor. Several threads can read at once.
class SafetensorsFile {
public:
  /// `what` words errors: "cannot read WHAT 'PATH': ...".
  static Result<std::shared_ptr<SafetensorsFile>> open(const std::string &path, const std::string &what = "weights");
  const std::map<std::string, StoredTensor> &tensors() const { return table; }
  /// The header's own words, "format" say.
  const std::map<std::string, std::string> &metadata() const { return words; }
  /// `size` of the tensor's own bytes from its byte `offset` on; the tensor must be of this file and have them.
  Status readBytes(const StoredTensor &tensor, uint64_t offset, uint64_t size, void *bytes) const;
  /// `count` elements from `first` on, converted to float or double; the tensor's type must be floating (`isFloating`).
  template <typename T> Result<std::vector<T>> read(const StoredTensor &tensor, uint64_t first, uint64_t count) const;
  template <typename T> Result<std::vector<T>> read(const StoredTensor &tensor) const { return read<T>(tensor, 0, tensor.elements()); }
  static bool isFloating(const std::string &type);
  /// Returns true if every byte of the header equals the header that SafetensorsWriter writes for these tensors with its own metadata.
  /// This notices every changed bit of the header, which reading it does not.
  Result<bool> hasOwnHeader() const;
  /// "WHAT 'PATH'".
  const std::string &description() const { return file.description(); }

private:
  explicit SafetensorsFile(files::RangeFile file) : file(std::move(file)) {}
  files::RangeFile file;
  uint64_t data = 0; ///< where the data part begins
  std::map<std::string, StoredTensor> table;
  std::map<std::string, std::string> words;
};

/// Stored little-endian values of a floating type as floats (F64 rounded) or doubles.
template <typename T> void widen(const std::string &type, const uint8_t *bytes, uint64_t count, T *values);

/// The format's own limit, in bytes.
constexpr uint64_t largestSafetensorsHeader = 100'000'000;

struct SafetensorsHeader {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Parses the JSON header of a file with `dataBytes` bytes of data. An error has the reason and the byte, counted from the file's first.
/// The limits are a million tensors, 64 dimensions and 100,000 words of metadata.
Result<SafetensorsHeader> parseSafetensorsHeader(const char *text, size_t size, uint64_t dataBytes);

/// The bytes that a tensor needs. An error, which follows the tensor's name, for an unknown type and for a shape that no file can hold.
Result<uint64_t> bytesOfTensor(const std::string &type, const std::vector<int64_t> &shape);

/// The header part of a file (length, JSON, padding to 8 bytes) for tensors laid one after the other in the given order; fills begin and
/// end. SafetensorsWriter checks what it is given; this takes it as it is.
std::string safetensorsHeader(std::vector<std::pair<std::string, StoredTensor>> &tensors,
                              const std::map<std::string, std::string> &metadata = {{"format", "pt"}});

/// `[64, 192]`.
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace npar::engine
