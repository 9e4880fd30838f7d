// A picture in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace npar::pictures {

/// Bytes [height, width, channels]; 1 channel is grey, 3 are red, green and blue.
struct Picture {
  int64_t height = 0, width = 0, channels = 1;
  std::vector<uint8_t> bytes;

  Picture() = default;
  /// All zeros.
  Picture(int64_t height, int64_t width, int64_t channels)
      : height(height), width(width), channels(channels), bytes(static_cast<size_t>(height * width * channels)) {}
  uint8_t *at(int64_t row, int64_t column) { return bytes.data() + (row * width + column) * channels; }
  const uint8_t *at(int64_t row, int64_t column) const { return bytes.data() + (row * width + column) * channels; }
};

/// The picture with this number of channels, 1 or 3. Grey is 0.299 red + 0.587 green + 0.114 blue, in the fixed point of Pillow's mode L.
Picture withChannels(Picture picture, int64_t channels);

} // namespace npar::pictures
