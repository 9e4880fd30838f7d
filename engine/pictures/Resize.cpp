// Antialiased resizing follows Pillow's src/libImaging/Resample.c: across first, then down, each rounded to bytes.
#include "engine/pictures/Resize.h"

#include <algorithm>
#include <cmath>

namespace npar::pictures {
namespace {

constexpr int fractionBits = 32 - 8 - 2;

/// The input positions that one output position is made of, with their weights.
struct Taps {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<Taps> triangles(int64_t from, int64_t to) {
  double scale = static_cast<double>(from) / static_cast<double>(to), support = std::max(1.0, scale);
  std::vector<Taps> result(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    double center = (static_cast<double>(i) + 0.5) * scale, sum = 0;
    auto first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    auto end = std::min<int64_t>(from, static_cast<int64_t>(center + support + 0.5));
    std::vector<double> weights;
    for (int64_t x = first; x < end; ++x) {
      double distance = std::abs((static_cast<double>(x) - center + 0.5) * (1.0 / support));
      weights.push_back(distance < 1 ? 1 - distance : 0);
      sum += weights.back();
    }
    Taps &taps = result[static_cast<size_t>(i)];
    taps.first = first;
    for (double weight : weights)
      taps.weights.push_back(static_cast<int32_t>(0.5 + (sum != 0 ? weight / sum : weight) * (1 << fractionBits)));
  }
  return result;
}

constexpr int32_t rounding = 1 << (fractionBits - 1);
uint8_t toByte(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> fractionBits, 0, 255)); }

/// Sums `taps.weights.size()` bytes that are `stride` apart.
uint8_t weighted(const uint8_t *from, int64_t stride, const Taps &taps) {
  int32_t sum = rounding;
  for (int32_t weight : taps.weights) {
    sum += *from * weight;
    from += stride;
  }
  return toByte(sum);
}

Picture antialiased(const Picture &picture, int64_t height, int64_t width) {
  const Picture *from = &picture;
  Picture across;
  if (width != picture.width) {
    across = Picture(picture.height, width, picture.channels);
    std::vector<Taps> taps = triangles(picture.width, width);
    for (int64_t row = 0; row < picture.height; ++row)
      for (int64_t column = 0; column < width; ++column) {
        const Taps &each = taps[static_cast<size_t>(column)];
        for (int64_t channel = 0; channel < picture.channels; ++channel)
          across.at(row, column)[channel] = weighted(picture.at(row, each.first) + channel, picture.channels, each);
      }
    from = &across;
  }
  if (height == picture.height)
    return *from;
  Picture result(height, width, picture.channels);
  std::vector<Taps> taps = triangles(picture.height, height);
  int64_t stride = width * picture.channels;
  std::vector<int32_t> sums(static_cast<size_t>(stride));
  for (int64_t row = 0; row < height; ++row) {
    const Taps &each = taps[static_cast<size_t>(row)];
    std::fill(sums.begin(), sums.end(), rounding);
    for (size_t tap = 0; tap < each.weights.size(); ++tap) {
      const uint8_t *line = from->at(each.first + static_cast<int64_t>(tap), 0);
      for (int64_t i = 0; i < stride; ++i)
        sums[static_cast<size_t>(i)] += line[i] * each.weights[tap];
    }
    std::transform(sums.begin(), sums.end(), result.at(row, 0), toByte);
  }
  return result;
}

/// The input positions before and after an output position, and the share of the latter.
struct Between {
  int64_t before, after;
  double share;
};

std::vector<Between> neighbours(int64_t from, int64_t to) {
  std::vector<Between> result;
  double scale = static_cast<double>(from) / static_cast<double>(to);
  for (int64_t i = 0; i < to; ++i) {
    double place = std::max(0.0, (static_cast<double>(i) + 0.5) * scale - 0.5);
    auto before = std::min(from - 1, static_cast<int64_t>(place));
    result.push_back({before, std::min(from - 1, before + 1), place - static_cast<double>(before)});
  }
  return result;
}

Picture bilinear(const Picture &picture, int64_t height, int64_t width) {
  Picture result(height, width, picture.channels);
  std::vector<Between> down = neighbours(picture.height, height), across = neighbours(picture.width, width);
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column) {
      const Between &y = down[static_cast<size_t>(row)], &x = across[static_cast<size_t>(column)];
      for (int64_t channel = 0; channel < picture.channels; ++channel) {
        auto along = [&](int64_t line) {
          return picture.at(line, x.before)[channel] * (1 - x.share) + picture.at(line, x.after)[channel] * x.share;
        };
        result.at(row, column)[channel] = static_cast<uint8_t>(std::nearbyint(along(y.before) * (1 - y.share) + along(y.after) * y.share));
      }
    }
  return result;
}

Picture nearest(const Picture &picture, int64_t height, int64_t width) {
  Picture result(height, width, picture.channels);
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column)
      std::copy_n(picture.at((2 * row + 1) * picture.height / (2 * height), (2 * column + 1) * picture.width / (2 * width)),
                  picture.channels, result.at(row, column));
  return result;
}

} // namespace

Picture resize(const Picture &picture, int64_t height, int64_t width, Interpolation by) {
  if (height == picture.height && width == picture.width)
    return picture;
  switch (by) {
  case Interpolation::Antialiased:
    return antialiased(picture, height, width);
  case Interpolation::Bilinear:
    return bilinear(picture, height, width);
  case Interpolation::Nearest:
    break;
  }
  return nearest(picture, height, width);
}

Picture cut(const Picture &picture, int64_t top, int64_t left, int64_t height, int64_t width) {
  Picture result(height, width, picture.channels);
  int64_t begin = std::max<int64_t>(0, -left), end = std::min(width, picture.width - left);
  for (int64_t row = std::max<int64_t>(0, -top); row < std::min(height, picture.height - top) && begin < end; ++row)
    std::copy_n(picture.at(top + row, left + begin), (end - begin) * picture.channels, result.at(row, begin));
  return result;
}

Picture flipped(const Picture &picture) {
  Picture result(picture.height, picture.width, picture.channels);
  for (int64_t row = 0; row < picture.height; ++row)
    for (int64_t column = 0; column < picture.width; ++column)
      std::copy_n(picture.at(row, column), picture.channels, result.at(row, picture.width - 1 - column));
  return result;
}

} // namespace npar::pictures
