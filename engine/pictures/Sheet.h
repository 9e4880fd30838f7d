// Draws pictures side by side.
#pragma once

#include "engine/pictures/Picture.h"

namespace npar::pictures {

/// A sheet of pictures of one size, in rows from left to right, nearly square, with white gaps. Small pictures are enlarged by a whole
/// number. If no value of any picture is above 127, such as in digits from 0 to 16, all are brightened by a whole number.
Picture sheetOf(const std::vector<Picture> &pictures);

} // namespace npar::pictures
