// Arrays of bytes in IDX files, the format of MNIST and Fashion-MNIST, also compressed by gzip.
#pragma once

#include "engine/files/RangeFile.h"
#include "engine/status/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace npar::engine {

/// The file: two bytes of zeros, the type of the elements (8: unsigned bytes), the number of dimensions, the dimensions as big-endian
/// 32-bit numbers, then the elements. The first dimension counts the samples. A compressed file is unpacked into memory when it is opened;
/// of another file each sample is read when it is asked for. Thread-safe to read.
class IdxFile {
public:
  /// Refuses another magic, another type, no or more than four dimensions, and a file whose elements are fewer or more than its dimensions.
  static Result<std::shared_ptr<IdxFile>> open(const std::string &path);
  const std::vector<int64_t> &shape() const { return dimensions; }
  int64_t samples() const { return dimensions[0]; }
  /// Bytes of a sample.
  size_t sampleSize() const { return each; }
  Status read(int64_t sample, uint8_t *bytes) const;

private:
  IdxFile() = default;
  Status readHeader(const std::string &path, const std::vector<uint8_t> &bytes, uint64_t most);
  std::vector<int64_t> dimensions;
  size_t each = 1;
  std::vector<uint8_t> unpacked;          ///< the elements of a compressed file
  std::unique_ptr<files::RangeFile> file; ///< null for a compressed file
};

} // namespace npar::engine
