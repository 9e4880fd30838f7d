// Resizing and cutting pictures.
#pragma once

#include "engine/pictures/Picture.h"
#include "engine/program/Enums_generated.h"

namespace npar::pictures {

using program::Interpolation;

/// Antialiased: the bytes of Pillow's resize with BILINEAR, a triangle that is widened when the picture shrinks, in Pillow's fixed point.
/// Bilinear: the four nearest pixels, as torch.nn.functional.interpolate with align_corners=False, rounded. Nearest: as Pillow's NEAREST.
Picture resize(const Picture &picture, int64_t height, int64_t width, Interpolation by);

/// The pixels from `top` and `left` on; those outside of the picture are zeros.
Picture cut(const Picture &picture, int64_t top, int64_t left, int64_t height, int64_t width);

/// Left and right exchanged.
Picture flipped(const Picture &picture);

} // namespace npar::pictures
