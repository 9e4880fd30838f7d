#include "engine/pictures/Picture.h"

namespace npar::pictures {

Picture withChannels(Picture picture, int64_t channels) {
  if (picture.channels == channels)
    return picture;
  Picture result(picture.height, picture.width, channels);
  const uint8_t *from = picture.bytes.data();
  uint8_t *to = result.bytes.data();
  for (int64_t pixel = 0; pixel < picture.height * picture.width; ++pixel, from += picture.channels, to += channels)
    if (channels == 1)
      to[0] = static_cast<uint8_t>((from[0] * 19595 + from[1] * 38470 + from[2] * 7471 + 0x8000) >> 16);
    else
      to[0] = to[1] = to[2] = from[0];
  return result;
}

} // namespace npar::pictures
