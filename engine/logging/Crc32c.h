// The checksum of TFRecord files: CRC-32C (Castagnoli), masked as TensorFlow masks it.
#pragma once

#include <cstdint>
#include <string_view>

namespace npar::engine {

/// Polynomial 0x1EDC6F41, reflected.
uint32_t crc32c(std::string_view bytes);
/// Rotated right by 15 bits, plus a constant: so that a checksum of bytes that hold checksums is no trouble.
inline uint32_t maskedCrc32c(std::string_view bytes) {
  uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

} // namespace npar::engine
