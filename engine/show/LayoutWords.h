// Short texts for parts of tensors, shared by the tables and the picture of a Layout.
#pragma once

#include "engine/show/Layout.h"

namespace npar::show {

/// "embed 768, head 6 of 12 {tp}": the rectangle that a rank has of a parameter.
std::string partText(const ParameterLayout &parameter);

/// "all", "1/4 {dp}" or "-": the share of that rectangle that a rank stores of "parameters", "gradients" or "optimizer". Two shares are
/// joined.
std::string shareText(const Layout &layout, const ParameterLayout &parameter, const std::string &what);

/// "dp, ep".
std::string axesNames(const Layout &layout, const std::vector<uint32_t> &axes);

/// "[0, 1024)" of the rank's rectangle; "-" if it has no element, only padding.
std::string rangeText(const Layout &layout, int64_t rank, const StoredVariable &stored);

/// "vocab 0-25128, embed 0-767": the first and the last entry along each axis.
std::string rectangleText(const program::OwnedPiece &piece, const ParameterLayout &parameter);

/// All of at most `most` ranks; else the first ones, -1 for those left out, and the last.
std::vector<int64_t> someOf(const std::vector<int64_t> &ranks, size_t most);

} // namespace npar::show
