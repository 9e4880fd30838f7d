// The steps that prepare a picture for an input: sizes, cuts, and random changes that depend on seed, epoch and sample only.
#pragma once

#include "engine/numbers/Philox.h"
#include "engine/pictures/Resize.h"
#include "engine/status/Status.h"

#include <string>

namespace npar::pictures {

/// The fields of program::PictureStep.
struct Step {
  program::PictureStepKind kind = program::PictureStepKind::Resize;
  std::vector<double> numbers;
  Interpolation interpolation = Interpolation::Antialiased;
};

/// Random numbers of one sample in one epoch. The n-th number is the same whatever was drawn for other samples.
class Draws {
public:
  /// `file`: number of the data file; `sample`: number in the file, before any split and order.
  Draws(uint64_t seed, uint64_t file, uint64_t epoch, uint64_t sample);
  /// Uniform in (0, 1].
  double uniform();
  /// Uniform in 0 to n - 1.
  int64_t below(int64_t n);

private:
  std::array<uint32_t, 4> next() { return engine::philox(key, drawn++, sample); }
  uint64_t key, sample, drawn = 0;
};

/// Size that an input takes.
struct Size {
  int64_t height = 0, width = 0;
};

/// Runs the steps in order. A picture that is too small for a cut, or that does not have `size` in the end, is bad input; the message
/// begins with its size: "200 x 100 pixels ...".
engine::Result<Picture> prepare(Picture picture, const std::vector<Step> &steps, Size size, Draws draws);

} // namespace npar::pictures
