// Sizes and random cuts are those of torchvision's transforms of these names; the random numbers are npar's own.
#include "engine/pictures/Steps.h"

#include "engine/pictures/Codecs.h"

#include <algorithm>
#include <cmath>

namespace npar::pictures {
namespace {

using engine::Result;
using engine::Status;
using program::PictureStepKind;

constexpr uint64_t streamOfPictures = 0x706963747572; // "pictur"

int64_t rounded(double value) { return static_cast<int64_t>(std::nearbyint(value)); }

std::string sizeText(int64_t height, int64_t width) { return std::to_string(height) + " x " + std::to_string(width); }

/// The size that a resize makes, of a picture for an input of `size`.
Size resizedTo(const Picture &picture, const Step &step, Size size) {
  if (step.numbers.size() == 2)
    size = {static_cast<int64_t>(step.numbers[0]), static_cast<int64_t>(step.numbers[1])};
  if (step.numbers.size() == 1) { // the shorter side
    auto side = static_cast<int64_t>(step.numbers[0]);
    bool isHigh = picture.height > picture.width;
    int64_t longer = std::max<int64_t>(1, side * std::max(picture.height, picture.width) / std::min(picture.height, picture.width));
    size = {isHigh ? longer : side, isHigh ? side : longer};
  }
  return size;
}

/// Refuses too many pixels of the result, and of the picture between: antialiased resizing changes the width first.
Result<Picture> resized(const Picture &picture, Size to, Interpolation by) {
  int64_t between = by == Interpolation::Antialiased ? picture.height * to.width : 0;
  if (std::max(to.height * to.width, between) > mostPixels)
    return Status::badInput(sizeText(picture.height, picture.width) + " pixels, too long to be resized to " +
                            sizeText(to.height, to.width));
  return resize(picture, to.height, to.width, by);
}

/// A random part of random area and shape: ten attempts, then the centre.
Picture randomPart(const Picture &picture, const Step &step, Draws &draws) {
  double leastArea = step.numbers[0], mostArea = step.numbers[1], leastRatio = step.numbers[2], mostRatio = step.numbers[3];
  auto area = static_cast<double>(picture.height * picture.width);
  for (int attempt = 0; attempt < 10; ++attempt) {
    double share = area * (leastArea + (mostArea - leastArea) * draws.uniform());
    double ratio = std::exp(std::log(leastRatio) + (std::log(mostRatio) - std::log(leastRatio)) * draws.uniform());
    int64_t width = rounded(std::sqrt(share * ratio)), height = rounded(std::sqrt(share / ratio));
    if (width < 1 || width > picture.width || height < 1 || height > picture.height)
      continue;
    int64_t top = draws.below(picture.height - height + 1), left = draws.below(picture.width - width + 1);
    return cut(picture, top, left, height, width);
  }
  double ratio = static_cast<double>(picture.width) / static_cast<double>(picture.height);
  int64_t height = picture.height, width = picture.width;
  if (ratio < leastRatio)
    height = std::clamp<int64_t>(rounded(static_cast<double>(width) / leastRatio), 1, height);
  else if (ratio > mostRatio)
    width = std::clamp<int64_t>(rounded(static_cast<double>(height) * mostRatio), 1, width);
  return cut(picture, (picture.height - height) / 2, (picture.width - width) / 2, height, width);
}

} // namespace

Draws::Draws(uint64_t seed, uint64_t file, uint64_t epoch, uint64_t sample) : sample(sample) {
  auto bits = engine::philox(seed, streamOfPictures + (file << 48), epoch);
  key = uint64_t{bits[0]} << 32 | bits[1];
}

double Draws::uniform() {
  auto bits = next();
  return engine::uniform(bits[0], bits[1]);
}

int64_t Draws::below(int64_t n) { return static_cast<int64_t>(uint64_t{next()[0]} * static_cast<uint64_t>(n) >> 32); }

Result<Picture> prepare(Picture picture, const std::vector<Step> &steps, Size size, Draws draws) {
  for (const Step &step : steps) {
    int64_t pad = step.kind == PictureStepKind::RandomCrop ? static_cast<int64_t>(step.numbers[0]) : 0;
    int64_t down = picture.height + 2 * pad - size.height, across = picture.width + 2 * pad - size.width;
    bool crops = step.kind == PictureStepKind::CenterCrop || step.kind == PictureStepKind::RandomCrop;
    if (crops && (down < 0 || across < 0))
      return Status::badInput(sizeText(picture.height, picture.width) + " pixels" +
                              (pad ? " and " + std::to_string(pad) + " of padding" : "") + ", too small for a cut of " +
                              sizeText(size.height, size.width) + "; resize it first");
    switch (step.kind) {
    case PictureStepKind::Resize: {
      Size to = resizedTo(picture, step, size);
      TRY(picture, resized(picture, to, step.interpolation));
      break;
    }
    case PictureStepKind::CenterCrop:
      picture = cut(picture, rounded(static_cast<double>(down) / 2), rounded(static_cast<double>(across) / 2), size.height, size.width);
      break;
    case PictureStepKind::RandomCrop: {
      int64_t top = draws.below(down + 1), left = draws.below(across + 1);
      picture = cut(picture, top - pad, left - pad, size.height, size.width);
      break;
    }
    case PictureStepKind::RandomResizedCrop: {
      TRY(picture, resized(randomPart(picture, step, draws), size, step.interpolation));
      break;
    }
    case PictureStepKind::Flip:
      if (draws.uniform() <= step.numbers[0])
        picture = flipped(picture);
      break;
    }
  }
  if (picture.height != size.height || picture.width != size.width)
    return Status::badInput(sizeText(picture.height, picture.width) + " pixels" + (steps.empty() ? "" : " after its steps") +
                            ", but the input takes " + sizeText(size.height, size.width) + "; resize or cut it: `pictures: resize(" +
                            std::to_string(std::min(size.height, size.width)) + "), center_crop`");
  return picture;
}

} // namespace npar::pictures
