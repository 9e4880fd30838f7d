// Compares files, sizes and orientations with Pillow and torch (tests/reference/pictures_reference.py), and damages files.
#include "engine/pictures/Codecs.h"
#include "engine/pictures/Orientation.h"
#include "engine/pictures/Resize.h"
#include "engine/pictures/Sheet.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sstream>
#include <zlib.h>

namespace npar::pictures {
namespace {

const std::string folder = NPAR_PICTURES;

struct Expected {
  std::string what, name;
  Picture picture;
};

std::vector<Expected> expected() {
  std::ifstream file(folder + "/expected.txt");
  std::vector<Expected> all;
  std::string what, name, hex;
  int64_t height, width, channels;
  while (file >> what >> name >> height >> width >> channels >> hex) {
    Picture picture(height, width, channels);
    for (size_t i = 0; i < picture.bytes.size(); ++i)
      picture.bytes[i] = static_cast<uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
    all.push_back({what, name, picture});
  }
  return all;
}

Picture read(const std::string &name) {
  engine::Result<Picture> picture = readPicture(folder + "/" + name);
  EXPECT_TRUE(picture.ok()) << picture.status().message();
  return picture.ok() ? *picture : Picture();
}

std::vector<uint8_t> bytesOf(const std::string &name) {
  std::ifstream file(folder + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int largestDifference(const Picture &one, const Picture &other) {
  int largest = 0;
  for (size_t i = 0; i < one.bytes.size(); ++i)
    largest = std::max(largest, std::abs(one.bytes[i] - other.bytes[i]));
  return largest;
}

size_t differences(const Picture &one, const Picture &other) {
  size_t count = 0;
  for (size_t i = 0; i < one.bytes.size(); ++i)
    count += one.bytes[i] != other.bytes[i];
  return count;
}

// PNG has the bytes of the file; decoders of JPEG may differ by a few units.
TEST(Pictures, AreReadAsPillowReadsThem) {
  int seen = 0;
  for (const Expected &each : expected()) {
    if (each.what != "read")
      continue;
    SCOPED_TRACE(each.name);
    Picture found = read(each.name);
    ASSERT_EQ(std::tie(found.height, found.width, found.channels),
              std::tie(each.picture.height, each.picture.width, each.picture.channels));
    bool isJpeg = each.name.find(".jpg") != std::string::npos;
    EXPECT_LE(largestDifference(found, each.picture), isJpeg ? 4 : 0);
    ++seen;
  }
  EXPECT_EQ(seen, 22);
}

TEST(Pictures, AreResizedAsByPillowAndTorch) {
  int seen = 0;
  for (const Expected &each : expected())
    if (auto by = program::valueOf<Interpolation>(each.what)) {
      SCOPED_TRACE(each.what + " to " + std::to_string(each.picture.height) + " x " + std::to_string(each.picture.width));
      Picture found = resize(read(each.name), each.picture.height, each.picture.width, *by);
      if (*by == Interpolation::Bilinear) { // torch and npar add in another order: means that end in one half may be rounded to either side
        EXPECT_LE(largestDifference(found, each.picture), 1);
        EXPECT_LE(differences(found, each.picture), each.picture.bytes.size() / 50);
      } else {
        EXPECT_EQ(found.bytes, each.picture.bytes);
      }
      ++seen;
    } else if (each.what == "grey") {
      EXPECT_EQ(withChannels(read(each.name), 1).bytes, each.picture.bytes);
    }
  EXPECT_EQ(seen, 21);
}

TEST(Pictures, GreyBecomesColour) {
  Picture grey = read("grey.png"), colour = withChannels(grey, 3);
  EXPECT_EQ(colour.channels, 3);
  EXPECT_EQ(std::vector<uint8_t>(colour.at(2, 3), colour.at(2, 3) + 3), std::vector<uint8_t>(3, *grey.at(2, 3)));
}

TEST(Pictures, AreWrittenAndReadBack) {
  for (const char *name : {"rgb.png", "grey.png"}) {
    Picture picture = read(name);
    engine::Result<std::vector<uint8_t>> bytes = encodePng(picture);
    ASSERT_TRUE(bytes.ok());
    engine::Result<Picture> again = decodePicture(bytes->data(), bytes->size(), "again");
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->bytes, picture.bytes);
    EXPECT_EQ(again->channels, picture.channels);
  }
}

TEST(Pictures, CutsOutsideOfThePictureAreZeros) {
  Picture picture(2, 2, 1);
  picture.bytes = {1, 2, 3, 4};
  EXPECT_EQ(cut(picture, -1, -1, 3, 3).bytes, (std::vector<uint8_t>{0, 0, 0, 0, 1, 2, 0, 3, 4}));
  EXPECT_EQ(cut(picture, 1, 1, 2, 2).bytes, (std::vector<uint8_t>{4, 0, 0, 0}));
  EXPECT_EQ(cut(picture, 5, 5, 1, 1).bytes, (std::vector<uint8_t>{0}));
  EXPECT_EQ(flipped(picture).bytes, (std::vector<uint8_t>{2, 1, 4, 3}));
}

// A file cut anywhere is an error with its path, never a picture with missing pixels and never a crash.
TEST(Pictures, FilesThatEndTooEarlyAreRefused) {
  for (const char *name : {"rgb.png", "interlaced.png", "rgb.jpg", "progressive.jpg", "cmyk.jpg"}) {
    std::vector<uint8_t> bytes = bytesOf(name);
    ASSERT_GT(bytes.size(), 100u);
    size_t end = bytes.size() - (name[std::string(name).size() - 3] == 'p' ? 13 : 3); // of a PNG the checksum of its last chunk, and it
    for (size_t size = 0; size < end; size += 1 + size / 40) {
      engine::Result<Picture> picture = decodePicture(bytes.data(), size, "cut.file");
      ASSERT_FALSE(picture.ok()) << name << " of " << size << " bytes";
      EXPECT_EQ(picture.status().code(), engine::Code::BadInput);
      EXPECT_NE(picture.status().message().find("'cut.file'"), std::string::npos);
    }
  }
}

TEST(Pictures, ChangedBytesAreRefusedOrHarmless) {
  std::vector<uint8_t> png = bytesOf("rgb.png");
  for (size_t i = 0; i < png.size(); ++i) { // each chunk has a checksum
    std::vector<uint8_t> changed = png;
    changed[i] ^= 0x10;
    engine::Result<Picture> picture = decodePicture(changed.data(), changed.size(), "x");
    EXPECT_TRUE(!picture.ok() || picture->bytes == read("rgb.png").bytes) << "byte " << i;
  }
  std::vector<uint8_t> jpeg = bytesOf("rgb.jpg");
  for (size_t i = 0; i < jpeg.size(); ++i) { // JPEG has no checksums: only that it ends
    std::vector<uint8_t> changed = jpeg;
    changed[i] ^= 0x55;
    (void)decodePicture(changed.data(), changed.size(), "x");
  }
}

TEST(Pictures, HugeSizesAreRefusedBeforeMemoryIsTaken) {
  std::vector<uint8_t> jpeg = bytesOf("rgb.jpg");
  const std::vector<uint8_t> frame = {0xFF, 0xC0};
  auto start = std::search(jpeg.begin(), jpeg.end(), frame.begin(), frame.end());
  ASSERT_NE(start, jpeg.end());
  for (int i = 5; i < 9; ++i) // height and width
    start[i] = 0xFE;
  engine::Result<Picture> picture = decodePicture(jpeg.data(), jpeg.size(), "huge.jpg");
  ASSERT_FALSE(picture.ok());
  EXPECT_NE(picture.status().message().find("65278 x 65278 pixels, more than the 100000000"), std::string::npos)
      << picture.status().message();
}

// libpng takes black for an index without a colour.
TEST(Pictures, ColoursBeyondThePaletteAreRefused) {
  std::vector<uint8_t> png = bytesOf("palette.png"); // of seven colours
  const std::string kind = "PLTE";
  auto chunk = std::search(png.begin(), png.end(), kind.begin(), kind.end());
  ASSERT_NE(chunk, png.end());
  ASSERT_EQ(chunk[-1], 3 * 7);
  chunk[-1] = 3 * 6;
  png.erase(chunk + 4 + 3 * 6, chunk + 4 + 3 * 7);
  uint32_t sum = static_cast<uint32_t>(crc32(0, &*chunk, 4 + 3 * 6));
  for (int i = 0; i < 4; ++i)
    chunk[4 + 3 * 6 + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
  EXPECT_EQ(decodePicture(png.data(), png.size(), "x").status().message(),
            "cannot read picture 'x': its PNG data are damaged: a pixel has colour 6 of a palette of 6");
}

TEST(Pictures, ChecksumsOfAllChunksCount) {
  std::vector<uint8_t> png = bytesOf("turned3.png");
  const std::string kind = "eXIf";
  auto chunk = std::search(png.begin(), png.end(), kind.begin(), kind.end());
  ASSERT_NE(chunk, png.end());
  chunk[10] ^= 1;
  engine::Result<Picture> picture = decodePicture(png.data(), png.size(), "x");
  ASSERT_FALSE(picture.ok()) << "its orientation is not known";
  EXPECT_NE(picture.status().message().find("CRC"), std::string::npos) << picture.status().message();
}

// Each scan takes the time of the whole picture.
TEST(Pictures, JpegFilesOfManyScansAreRefused) {
  std::vector<uint8_t> jpeg = bytesOf("progressive.jpg");
  const std::vector<uint8_t> begin = {0xFF, 0xDA};
  auto scan = std::search(jpeg.begin(), jpeg.end(), begin.begin(), begin.end());
  auto end = std::adjacent_find(scan + 2, jpeg.end(), [](uint8_t one, uint8_t next) { return one == 0xFF && next != 0; });
  ASSERT_NE(end, jpeg.end());
  const std::vector<uint8_t> first(scan, end);
  auto at = end - jpeg.begin();
  for (int i = 0; i < 600; ++i)
    jpeg.insert(jpeg.begin() + at, first.begin(), first.end());
  EXPECT_EQ(decodePicture(jpeg.data(), jpeg.size(), "x").status().message(),
            "cannot read picture 'x': its JPEG data are damaged: it has more than the 500 scans that are read");
}

TEST(Pictures, DarkOnesAreBrightenedOnASheet) {
  for (auto [value, drawn] : {std::pair(16, 240), std::pair(127, 254), std::pair(128, 128), std::pair(0, 0)}) {
    Picture picture(1, 64, 1);
    picture.bytes[5] = static_cast<uint8_t>(value);
    Picture sheet = sheetOf({picture, picture});
    EXPECT_EQ(*sheet.at(0, 0), 255);
    EXPECT_EQ(*sheet.at(4, 4), 0);
    EXPECT_EQ(*sheet.at(4, 4 + 5), drawn);
    EXPECT_EQ(*sheet.at(4, 2 * 4 + 64 + 5), drawn);
  }
}

TEST(Pictures, OtherFilesAreNamed) {
  const char text[] = "GIF89a";
  EXPECT_EQ(decodePicture(reinterpret_cast<const uint8_t *>(text), 6, "a.png").status().message(),
            "cannot read picture 'a.png': it is neither a PNG nor a JPEG file");
  EXPECT_EQ(decodePicture(nullptr, 0, "b.png").status().message(), "cannot read picture 'b.png': it is empty");
  EXPECT_FALSE(readPicture(folder + "/none.png").ok());
}

TEST(Pictures, DamagedExifIsUpright) {
  std::vector<uint8_t> exif = {'M', 'M', 0, '*', 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0};
  EXPECT_EQ(orientationOf(exif.data(), exif.size()), 6);
  for (size_t size = 0; size < exif.size(); ++size)
    EXPECT_EQ(orientationOf(std::vector<uint8_t>(exif.begin(), exif.begin() + static_cast<std::ptrdiff_t>(size)).data(), size), 1) << size;
  exif[19] = 9;
  EXPECT_EQ(orientationOf(exif.data(), exif.size()), 1);
  exif[4] = 0xFF; // the directory is beyond the end
  EXPECT_EQ(orientationOf(exif.data(), exif.size()), 1);
}

} // namespace
} // namespace npar::pictures
