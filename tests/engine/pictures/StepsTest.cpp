// The steps that prepare pictures: sizes, cuts, and random numbers that depend on seed, file, epoch and sample only.
#include "engine/pictures/Steps.h"

#include <gtest/gtest.h>
#include <set>

namespace npar::pictures {
namespace {

using program::PictureStepKind;

/// A picture whose pixels tell where they are.
Picture numbered(int64_t height, int64_t width) {
  Picture picture(height, width, 3);
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column)
      picture.at(row, column)[0] = static_cast<uint8_t>(row), picture.at(row, column)[1] = static_cast<uint8_t>(column);
  return picture;
}

Picture prepared(const Picture &picture, const std::vector<Step> &steps, Size size, uint64_t sample = 0, uint64_t epoch = 0) {
  engine::Result<Picture> result = prepare(picture, steps, size, Draws(1, 0, epoch, sample));
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : Picture();
}

std::string refused(const Picture &picture, const std::vector<Step> &steps, Size size) {
  engine::Result<Picture> result = prepare(picture, steps, size, Draws(1, 0, 0, 0));
  return result.ok() ? "" : result.status().message();
}

const Step centerCrop{PictureStepKind::CenterCrop, {}}, flip{PictureStepKind::Flip, {0.5}};
const Step randomCrop{PictureStepKind::RandomCrop, {4}}, part{PictureStepKind::RandomResizedCrop, {0.08, 1, 3.0 / 4, 4.0 / 3}};

TEST(Steps, ResizeTakesTheShorterSideOrBothOrTheInputs) {
  for (auto [height, width, toHeight, toWidth] : {std::tuple(20, 30, 10, 15), std::tuple(31, 20, 15, 10), std::tuple(10, 33, 10, 33)})
    EXPECT_EQ(prepared(numbered(height, width), {{PictureStepKind::Resize, {10}}}, {toHeight, toWidth}).height, toHeight);
  EXPECT_EQ(prepared(numbered(20, 30), {{PictureStepKind::Resize, {7, 9}}}, {7, 9}).width, 9);
  EXPECT_EQ(prepared(numbered(20, 30), {{PictureStepKind::Resize, {}}}, {5, 6}).width, 6);
}

// torchvision's CenterCrop rounds half to even: 5 rows to 2 begin at row 2, 7 to 4 at row 2.
TEST(Steps, CenterCropTakesTheMiddle) {
  for (auto [from, to, first] : {std::tuple(5, 2, 2), std::tuple(7, 4, 2), std::tuple(6, 2, 2), std::tuple(9, 8, 0)})
    EXPECT_EQ(prepared(numbered(from, from), {centerCrop}, {to, to}).at(0, 0)[0], first) << from << " to " << to;
}

TEST(Steps, RandomCropsReachEveryPlace) {
  std::set<std::pair<int, int>> corners;
  for (uint64_t sample = 0; sample < 2000; ++sample) {
    Picture cropped = prepared(numbered(32, 32), {randomCrop}, {32, 32}, sample);
    corners.insert({cropped.at(16, 16)[0], cropped.at(16, 16)[1]});
  }
  EXPECT_EQ(corners.size(), 81u); // 9 by 9 places
  EXPECT_EQ(corners.begin()->first, 12);
  EXPECT_EQ(corners.rbegin()->first, 20);
}

TEST(Steps, FlipsAreHalfAndHalf) {
  int flips = 0;
  for (uint64_t sample = 0; sample < 2000; ++sample)
    flips += prepared(numbered(2, 5), {flip}, {2, 5}, sample).at(0, 0)[1] == 4;
  EXPECT_NEAR(flips, 1000, 100);
  EXPECT_EQ(prepared(numbered(2, 5), {{PictureStepKind::Flip, {0}}}, {2, 5}).at(0, 0)[1], 0);
  EXPECT_EQ(prepared(numbered(2, 5), {{PictureStepKind::Flip, {1}}}, {2, 5}).at(0, 0)[1], 4);
}

// The mean share of the area is that of uniform numbers from 0.08 to 1, less what did not fit.
TEST(Steps, RandomPartsHaveTheirSizeAndAreSpread) {
  std::set<std::vector<uint8_t>> all;
  for (uint64_t sample = 0; sample < 200; ++sample) {
    Picture made = prepared(numbered(60, 80), {part}, {16, 16}, sample);
    EXPECT_EQ(made.bytes.size(), 16u * 16 * 3);
    all.insert(made.bytes);
  }
  EXPECT_EQ(all.size(), 200u);
  // Too long for any ratio: the middle.
  Picture middle = prepared(numbered(4, 200), {{PictureStepKind::RandomResizedCrop, {1, 1, 1, 1}, Interpolation::Nearest}}, {4, 4});
  EXPECT_EQ(middle.at(0, 0)[1], 98);
}

TEST(Steps, DrawsDependOnSeedFileEpochAndSample) {
  auto first = [](uint64_t seed, uint64_t file, uint64_t epoch, uint64_t sample) { return Draws(seed, file, epoch, sample).uniform(); };
  EXPECT_EQ(first(1, 2, 3, 4), first(1, 2, 3, 4));
  std::set<double> all;
  for (uint64_t i = 0; i < 4; ++i)
    all.insert({first(i, 0, 0, 0), first(0, i, 0, 0), first(0, 0, i, 0), first(0, 0, 0, i)});
  EXPECT_EQ(all.size(), 13u);
  EXPECT_NE(prepared(numbered(32, 32), {randomCrop}, {32, 32}, 5, 0).bytes, prepared(numbered(32, 32), {randomCrop}, {32, 32}, 5, 1).bytes);
}

// A small file can be a picture that takes gigabytes between its two directions.
TEST(Steps, LongPicturesAreNotWidened) {
  const Picture tall(1'000'000, 1, 3);
  const std::string said = "1000000 x 1 pixels, too long to be resized to 12 x 16384";
  EXPECT_EQ(refused(tall, {{PictureStepKind::Resize, {12, 16384}}}, {12, 16384}), said);
  EXPECT_EQ(refused(tall, {{PictureStepKind::RandomResizedCrop, {1, 1, 1e-6, 1e-6}}}, {12, 16384}), said);
  EXPECT_EQ(prepared(tall, {{PictureStepKind::Resize, {12, 16384}, Interpolation::Nearest}}, {12, 16384}).width, 16384);
}

TEST(Steps, WhatDoesNotFitIsRefusedWithBothSizes) {
  EXPECT_EQ(refused(numbered(20, 30), {}, {28, 28}),
            "20 x 30 pixels, but the input takes 28 x 28; resize or cut it: `pictures: resize(28), center_crop`");
  EXPECT_EQ(refused(numbered(20, 30), {centerCrop}, {28, 28}), "20 x 30 pixels, too small for a cut of 28 x 28; resize it first");
  EXPECT_EQ(refused(numbered(20, 20), {{PictureStepKind::RandomCrop, {2}}}, {28, 28}),
            "20 x 20 pixels and 2 of padding, too small for a cut of 28 x 28; resize it first");
  EXPECT_EQ(refused(numbered(20, 30), {{PictureStepKind::Resize, {10}}}, {28, 28}),
            "10 x 15 pixels after its steps, but the input takes 28 x 28; resize or cut it: `pictures: resize(28), center_crop`");
  EXPECT_EQ(refused(numbered(1, 9000), {{PictureStepKind::Resize, {16000}}}, {28, 28}),
            "1 x 9000 pixels, too long to be resized to 16000 x 144000000");
}

} // namespace
} // namespace npar::pictures
