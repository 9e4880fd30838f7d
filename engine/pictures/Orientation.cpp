// EXIF 2.3, section 4.6.4: tag 0x0112, a 16-bit number.
#include "engine/pictures/Orientation.h"

#include <algorithm>
#include <cstring>

namespace npar::pictures {

int orientationOf(const uint8_t *exif, size_t size) {
  if (size < 8 || (std::memcmp(exif, "II*\0", 4) != 0 && std::memcmp(exif, "MM\0*", 4) != 0))
    return 1;
  bool little = exif[0] == 'I';
  auto number = [&](size_t at, size_t bytes) {
    size_t value = 0;
    for (size_t i = 0; i < bytes; ++i)
      value |= size_t{exif[at + i]} << 8 * (little ? i : bytes - 1 - i);
    return value;
  };
  size_t directory = number(4, 4);
  if (directory > size - 2)
    return 1;
  size_t entries = number(directory, 2), first = directory + 2;
  for (size_t entry = 0; entry < entries && first + 12 * (entry + 1) <= size; ++entry) {
    size_t at = first + 12 * entry;
    if (number(at, 2) != 0x0112)
      continue;
    size_t value = number(at + 2, 2) == 3 ? number(at + 8, 2) : 0;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Picture oriented(Picture picture, int orientation) {
  if (orientation <= 1 || orientation > 8)
    return picture;
  bool turns = orientation >= 5; // rows become columns
  bool mirrorsRows = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  bool mirrorsColumns = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  Picture result(turns ? picture.width : picture.height, turns ? picture.height : picture.width, picture.channels);
  for (int64_t row = 0; row < result.height; ++row)
    for (int64_t column = 0; column < result.width; ++column) {
      int64_t y = mirrorsRows ? result.height - 1 - row : row, x = mirrorsColumns ? result.width - 1 - column : column;
      std::copy_n(turns ? picture.at(x, y) : picture.at(y, x), picture.channels, result.at(row, column));
    }
  return result;
}

} // namespace npar::pictures
