// PNG and JPEG files to pictures and back, by libpng and libjpeg-turbo.
#pragma once

#include "engine/pictures/Picture.h"
#include "engine/status/Status.h"

#include <cstddef>
#include <string>

namespace npar::pictures {

/// The most pixels of a picture that is read.
inline constexpr int64_t mostPixels = 100'000'000;

/// Reads a PNG or JPEG file; its first bytes tell which it is. Palettes and fewer than 8 bits become 8 bits, of 16 bits the upper 8 are
/// kept, transparency is dropped, CMYK becomes RGB, and the orientation that EXIF states is applied. The result has 1 or 3 channels, as the
/// file has. Anything that is not intact is an error that names the path.
engine::Result<Picture> readPicture(const std::string &path);

/// The same for the bytes of a file; `path` is for messages.
engine::Result<Picture> decodePicture(const uint8_t *bytes, size_t size, const std::string &path);

/// The bytes of a PNG file.
engine::Result<std::vector<uint8_t>> encodePng(const Picture &picture);

} // namespace npar::pictures
