// A picture that is accepted has all its bytes, can be prepared, and is written back unchanged. An IDX file has each of its samples.
#include "tests/fuzz/FuzzTargets.h"
#include "tests/fuzz/MemoryFile.h"

#include "engine/data/IdxFile.h"
#include "engine/pictures/Codecs.h"
#include "engine/pictures/Steps.h"

namespace npar::fuzz {

using namespace engine;
using program::PictureStepKind;

namespace {

void readArray(const uint8_t *bytes, size_t size) {
  MemoryFile memory(bytes, size);
  auto file = IdxFile::open(memory.path());
  if (!file.ok())
    return check(!file.status().message().empty());
  std::vector<uint8_t> sample((*file)->sampleSize());
  for (int64_t i = 0; i < (*file)->samples(); i += 1 + (*file)->samples() / 8)
    check((*file)->read(i, sample.data()).ok());
}

} // namespace

void fuzzPicture(const uint8_t *bytes, size_t size) {
  readArray(bytes, size);
  Result<pictures::Picture> picture = pictures::decodePicture(bytes, size, "fuzzed");
  if (!picture.ok())
    return check(!picture.status().message().empty());
  check(picture->bytes.size() == static_cast<size_t>(picture->height * picture->width * picture->channels));
  if (picture->bytes.size() > 1 << 20)
    return;
  const std::vector<pictures::Step> steps = {{PictureStepKind::RandomResizedCrop, {0.08, 1, 0.75, 1.5}}, {PictureStepKind::Flip, {0.5}}};
  check(pictures::prepare(*picture, steps, {5, 7}, pictures::Draws(1, 0, 0, size)).ok());
  Result<std::vector<uint8_t>> written = pictures::encodePng(*picture);
  check(written.ok() && pictures::decodePicture(written->data(), written->size(), "again")->bytes == picture->bytes);
}

} // namespace npar::fuzz
