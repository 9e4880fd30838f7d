#include "engine/pictures/Sheet.h"

#include "engine/pictures/Resize.h"

#include <algorithm>
#include <cmath>

namespace npar::pictures {

Picture sheetOf(const std::vector<Picture> &pictures) {
  constexpr int64_t gap = 4, least = 64;
  const Picture &first = pictures.front();
  auto count = static_cast<int64_t>(pictures.size());
  auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  int64_t rows = (count + columns - 1) / columns;
  int64_t factor = std::max<int64_t>(1, (least + first.width - 1) / first.width);
  int64_t height = first.height * factor, width = first.width * factor;
  Picture sheet(gap + rows * (height + gap), gap + columns * (width + gap), first.channels);
  std::fill(sheet.bytes.begin(), sheet.bytes.end(), 255);
  uint8_t brightest = 1;
  for (const Picture &picture : pictures)
    if (!picture.bytes.empty())
      brightest = std::max(brightest, *std::max_element(picture.bytes.begin(), picture.bytes.end()));
  const int light = 255 / brightest;
  for (int64_t i = 0; i < count; ++i) {
    Picture large = resize(pictures[static_cast<size_t>(i)], height, width, Interpolation::Nearest);
    int64_t top = gap + i / columns * (height + gap), left = gap + i % columns * (width + gap);
    for (int64_t row = 0; row < height; ++row)
      std::transform(large.at(row, 0), large.at(row, 0) + width * large.channels, sheet.at(top + row, left),
                     [light](uint8_t byte) { return static_cast<uint8_t>(byte * light); });
  }
  return sheet;
}

} // namespace npar::pictures
