// The orientation that EXIF data state: how the camera was held.
#pragma once

#include "engine/pictures/Picture.h"

#include <cstddef>

namespace npar::pictures {

/// The orientation, 1 to 8, in the first directory of EXIF data, which begin with a TIFF header. Damaged data and data without an
/// orientation are upright: 1.
int orientationOf(const uint8_t *exif, size_t size);

/// The picture as it was seen: mirrored or turned by its orientation.
Picture oriented(Picture picture, int orientation);

} // namespace npar::pictures
