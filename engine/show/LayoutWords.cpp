// Words for rectangles, shares and ranges.
#include "engine/show/LayoutWords.h"

#include "engine/program/Ranks.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::show {

std::string partText(const ParameterLayout &parameter) {
  std::string text;
  for (const DimensionLayout &one : parameter.dimensions) {
    text += text.empty() ? "" : ", ";
    text += one.over.empty() ? fmt::format("{} {}", one.axis, one.size)
                             : fmt::format("{} {} of {} {{{}}}", one.axis, one.local, one.size, fmt::join(one.over, ", "));
  }
  return text.empty() ? "one number" : text;
}

std::string axesNames(const Layout &layout, const std::vector<uint32_t> &axes) {
  std::vector<std::string> names;
  for (uint32_t axis : axes)
    names.push_back(layout.axes[axis].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string shareText(const Layout &layout, const ParameterLayout &parameter, const std::string &what) {
  std::vector<std::string> texts;
  for (const StoredVariable &stored : parameter.stored) {
    if (!stored.isPartOf(what))
      continue;
    int64_t ranks = 1;
    for (uint32_t axis : stored.shares)
      ranks *= layout.axes[axis].size;
    std::string text = stored.shares.empty() ? "all" : fmt::format("1/{} {{{}}}", ranks, axesNames(layout, stored.shares));
    if (stored.reducedLater)
      text = stored.shares.empty() ? "larger, then all" : "all, then " + text;
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(text);
  }
  return texts.empty() ? "-" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string rangeText(const Layout &layout, int64_t rank, const StoredVariable &stored) {
  program::OwnedPiece piece = program::keptPiece(*layout.program, program::coordinatesOf(*layout.program, rank), *stored.piece);
  return piece.elements() == 0 ? "-" : fmt::format("[{}, {})", piece.begin, piece.end);
}

std::string rectangleText(const program::OwnedPiece &piece, const ParameterLayout &parameter) {
  std::string text;
  for (size_t d = 0; d < piece.shape.size(); ++d) {
    text += (text.empty() ? "" : ", ") + parameter.dimensions[d].axis + " ";
    text += piece.shape[d] == 0 ? "none" : fmt::format("{}-{}", piece.start[d], piece.start[d] + piece.shape[d] - 1);
  }
  return text.empty() ? "one number" : text;
}

std::vector<int64_t> someOf(const std::vector<int64_t> &ranks, size_t most) {
  if (ranks.size() <= most)
    return ranks;
  std::vector<int64_t> some(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(most) - 1);
  some.push_back(-1);
  some.push_back(ranks.back());
  return some;
}

} // namespace npar::show
