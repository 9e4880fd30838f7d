// Draws a Layout: the ranks in a grid, one colour per stage; below, a row for each of some ranks with the part of all parameters, gradients
// and states that it stores. The rows are as wide as the model, and a parameter is as wide as its elements. Slices along several axes are
// drawn side by side, whichever axes they are.
#include "engine/show/Layout.h"

#include "engine/program/Ranks.h"
#include "engine/readable/SvgText.h"
#include "engine/show/Legend.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>

namespace npar::show {

using readable::escaped;

namespace {

using Drawing = std::back_insert_iterator<std::string>;

constexpr double stripLeft = 150, stripWidth = 900, cellWidth = 74, cellHeight = 34;
constexpr size_t mostCells = 64, mostRows = 16;

/// Colours of stages, again from the first after the last.
const char *stageFill(uint32_t stage) {
  constexpr const char *fills[] = {"#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#0072B2", "#999999"};
  return fills[stage % std::size(fills)];
}

/// The place of a parameter in the row of the whole model, in pixels.
struct ParameterSpan {
  double begin = 0, width = 0;
  const ParameterLayout *parameter = nullptr;
};

/// All parameters once, by stage, blocks as the stages have them.
std::vector<ParameterSpan> spansOf(const Layout &layout) {
  std::vector<ParameterSpan> spans;
  double elements = 0;
  for (const StageLayout &stage : layout.stages)
    for (const ParameterLayout &parameter : stage.parameters)
      if (parameter.stages.empty() || parameter.stages.front() == stage.stage) {
        bool isKnown =
            std::any_of(spans.begin(), spans.end(), [&](const ParameterSpan &one) { return one.parameter->name == parameter.name; });
        if (isKnown)
          continue;
        spans.push_back({elements, static_cast<double>(parameter.elements()), &parameter});
        elements += spans.back().width;
      }
  for (ParameterSpan &span : spans)
    span.begin = stripLeft + span.begin / elements * stripWidth, span.width = span.width / elements * stripWidth;
  return spans;
}

/// Elements of the rectangle.
uint64_t volumeOf(const program::OwnedPiece &piece) {
  uint64_t volume = 1;
  for (int64_t size : piece.shape)
    volume *= static_cast<uint64_t>(size);
  return volume;
}

/// The part [first, second) of a unit of width 1 that a rank stores of a variable. Slices of dimensions are nested in the order of
/// dimensions.
std::pair<double, double> fractionOf(const ParameterLayout &parameter, const program::OwnedPiece &piece) {
  double begin = 0, width = 1;
  for (size_t d = 0; d < piece.shape.size(); ++d) {
    double size = static_cast<double>(parameter.dimensions[d].size);
    begin += width * static_cast<double>(piece.start[d]) / size;
    width *= static_cast<double>(piece.shape[d]) / size;
  }
  double volume = static_cast<double>(volumeOf(piece));
  if (volume == 0 || piece.elements() == 0)
    return {0, 0};
  return {begin + width * static_cast<double>(piece.begin) / volume, begin + width * static_cast<double>(piece.end) / volume};
}

/// Intervals of a strip. Those that touch, as far as the eye can see, are one.
class Strip {
public:
  void add(double begin, double end) {
    if (end <= begin)
      return;
    if (!parts.empty() && begin - parts.back().second < 0.15 && begin >= parts.back().first)
      parts.back().second = std::max(parts.back().second, end);
    else
      parts.emplace_back(begin, end);
  }
  std::string text(double y, double height, const char *fill) const {
    if (parts.empty())
      return "";
    std::string text = fmt::format("<path fill=\"{}\" d=\"", fill);
    for (const auto &[begin, end] : parts)
      fmt::format_to(Drawing(text), "M{:.1f} {:.1f}h{:.2f}v{:.1f}H{:.1f}z", begin, y, std::max(end - begin, 0.4), height, begin);
    return text + "\"/>\n";
  }

private:
  std::vector<std::pair<double, double>> parts;
};

constexpr MemoryKind stripKinds[] = {MemoryKind::Parameters, MemoryKind::Gradients, MemoryKind::Optimizer};

void drawRank(std::string &text, const Layout &layout, const std::map<std::string, ParameterSpan> &spans, int64_t rank, double y) {
  const StageLayout &stage = layout.stageOf(rank);
  std::vector<int64_t> coordinates = program::coordinatesOf(*layout.program, rank);
  Strip strips[3];
  for (const ParameterLayout &parameter : stage.parameters) {
    const ParameterSpan &span = spans.at(parameter.name);
    for (const StoredVariable &stored : parameter.stored) {
      size_t kind = stored.what == "parameters" ? 0 : stored.what == "gradients" ? 1 : 2;
      program::OwnedPiece piece = program::keptPiece(*layout.program, coordinates, *stored.piece);
      if (stored.reducedLater) // until then there is a gradient of all of it
        piece.begin = 0, piece.end = volumeOf(piece);
      auto [begin, end] = fractionOf(parameter, piece);
      strips[kind].add(span.begin + begin * span.width, span.begin + end * span.width);
    }
  }
  fmt::format_to(Drawing(text), R"(<rect x="20" y="{:.1f}" width="10" height="24" fill="{}"/>)", y, stageFill(stage.stage));
  fmt::format_to(Drawing(text), R"(<text x="36" y="{:.1f}" font-weight="bold" fill="#222222">rank {}</text>)", y + 10, rank);
  fmt::format_to(Drawing(text), R"(<text x="36" y="{:.1f}" font-size="9" fill="#555555">{}</text>)", y + 22,
                 escaped(layout.coordinatesText(rank)));
  fmt::format_to(Drawing(text),
                 R"(<rect x="{}" y="{:.1f}" width="{}" height="24" fill="#F0F0F0"/>)"
                 "\n",
                 stripLeft, y, stripWidth);
  for (size_t kind = 0; kind < 3; ++kind)
    text += strips[kind].text(y + static_cast<double>(kind) * 8, 8, lookOf(stripKinds[kind]).fill);
}

/// The ranks that have rows: all of a few; else those that share the model with rank 0, and its replicas.
std::vector<int64_t> rowsOf(const Layout &layout) {
  std::vector<int64_t> rows;
  if (layout.world <= static_cast<int64_t>(mostRows)) {
    for (int64_t rank = 0; rank < layout.world; ++rank)
      rows.push_back(rank);
    return rows;
  }
  for (const std::vector<int64_t> &group : {layout.groupOf(0, layout.modelAxes), layout.groupOf(0, layout.replicaAxes)})
    rows.insert(rows.end(), group.begin(), group.begin() + static_cast<std::ptrdiff_t>(std::min(group.size(), mostRows / 2)));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

/// Ranks as cells, a host in a frame of its own where hosts are known. Returns the y below them.
double drawGrid(std::string &text, const Layout &layout, double y) {
  std::vector<std::vector<int64_t>> hosts(1);
  for (int64_t rank = 0; rank < layout.world && layout.hostOf.empty(); ++rank)
    hosts[0].push_back(rank);
  for (size_t rank = 0; rank < layout.hostOf.size(); ++rank) {
    hosts.resize(std::max(hosts.size(), static_cast<size_t>(layout.hostOf[rank]) + 1));
    std::vector<int64_t> &own = hosts[static_cast<size_t>(layout.hostOf[rank])];
    own.resize(std::max(own.size(), static_cast<size_t>(layout.localOf[rank]) + 1));
    own[static_cast<size_t>(layout.localOf[rank])] = static_cast<int64_t>(rank);
  }
  constexpr size_t columns = 14;
  size_t drawn = 0;
  for (size_t host = 0; host < hosts.size() && drawn < mostCells; ++host) {
    if (!layout.hostOf.empty())
      fmt::format_to(Drawing(text),
                     R"(<text x="20" y="{:.1f}" fill="#222222">host {}</text>)"
                     "\n",
                     (y += 16) - 4, host);
    size_t cells = std::min(hosts[host].size(), mostCells - drawn);
    for (size_t i = 0; i < cells; ++i) {
      int64_t rank = hosts[host][i];
      double x = 20 + static_cast<double>(i % columns) * cellWidth, top = y + static_cast<double>(i / columns) * cellHeight;
      fmt::format_to(Drawing(text),
                     R"(<g><title>rank {}: {}, stage {}</title><rect x="{:.1f}" y="{:.1f}" width="{}" height="{}" fill="{}"/>)", rank,
                     escaped(layout.coordinatesText(rank)), layout.stageOf(rank).stage, x, top, cellWidth - 4, cellHeight - 4,
                     stageFill(layout.stageOf(rank).stage));
      fmt::format_to(Drawing(text), R"(<text x="{:.1f}" y="{:.1f}" fill="#000000" text-anchor="middle">{}</text>)", x + cellWidth / 2 - 2,
                     top + 13, rank);
      std::vector<int64_t> coordinates = program::coordinatesOf(*layout.program, rank);
      fmt::format_to(Drawing(text),
                     R"(<text x="{:.1f}" y="{:.1f}" font-size="8" fill="#000000" text-anchor="middle">{}</text></g>)"
                     "\n",
                     x + cellWidth / 2 - 2, top + 25, fmt::join(coordinates, ", "));
    }
    drawn += cells;
    y += static_cast<double>((cells + columns - 1) / columns) * cellHeight;
  }
  if (drawn < static_cast<size_t>(layout.world))
    fmt::format_to(Drawing(text),
                   R"(<text x="20" y="{:.1f}" fill="#555555">and {} more ranks</text>)"
                   "\n",
                   (y += 16) - 4, layout.world - static_cast<int64_t>(drawn));
  return y;
}

/// Names of blocks above the row of the model, where they fit.
void drawBlockNames(std::string &text, const Layout &layout, const std::map<std::string, ParameterSpan> &spans, double y) {
  double end = 0;
  for (const StageLayout &stage : layout.stages)
    for (uint32_t chunk = 0; chunk < stage.chunks; ++chunk)
      for (const BlockRange &block : blocksOf(stage, chunk)) {
        const ParameterSpan &first = spans.at(block.parameters.front()->name), &last = spans.at(block.parameters.back()->name);
        double width = last.begin + last.width - first.begin;
        std::string name = block.text();
        if (first.begin < end || width < 6 * static_cast<double>(name.size()))
          continue;
        end = first.begin + width;
        fmt::format_to(Drawing(text), R"(<text x="{:.1f}" y="{:.1f}" font-size="10" fill="#222222" text-anchor="middle">{}</text>)",
                       first.begin + width / 2, y - 4, escaped(name));
        fmt::format_to(Drawing(text),
                       R"(<path stroke="#888888" d="M{:.1f} {:.1f}H{:.1f}"/>)"
                       "\n",
                       first.begin + 0.5, y - 1, end - 0.5);
      }
}

/// Draws the legend of the three strips of a row.
void drawKinds(std::string &text, double x, double y) {
  for (MemoryKind kind : stripKinds) {
    fmt::format_to(Drawing(text), R"(<rect x="{:.0f}" y="{:.1f}" width="14" height="8" fill="{}"/>)", x, y - 8, lookOf(kind).fill);
    fmt::format_to(Drawing(text),
                   R"(<text x="{:.0f}" y="{:.1f}" fill="#222222">{}</text>)"
                   "\n",
                   x + 19, y, lookOf(kind).name);
    x += 100;
  }
}

} // namespace

std::string layoutSvg(const Layout &layout) {
  std::map<std::string, ParameterSpan> spans;
  for (const ParameterSpan &span : spansOf(layout))
    spans.emplace(span.parameter->name, span);
  std::string body, axes;
  for (const AxisLayout &axis : layout.axes)
    axes += (axes.empty() ? "" : ", ") + axis.name;
  fmt::format_to(Drawing(body),
                 R"(<text x="20" y="48" font-size="12" fill="#444444">ranks with their coordinates ({}); a colour for each stage</text>)"
                 "\n",
                 escaped(axes.empty() ? "no mesh axis" : axes));
  double y = drawGrid(body, layout, 58) + 22;
  fmt::format_to(Drawing(body),
                 R"(<text x="20" y="{:.1f}" font-size="12" fill="#444444">what a rank stores, of a model as wide as all parameters</text>)"
                 "\n",
                 y);
  drawKinds(body, stripLeft + stripWidth - 280, y);
  y += 24;
  drawBlockNames(body, layout, spans, y);
  for (int64_t rank : rowsOf(layout)) {
    drawRank(body, layout, spans, rank, y);
    y += 32;
  }
  double width = stripLeft + stripWidth + 20, height = y + 12;
  std::string text =
      fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" )"
                  R"(font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="11">)"
                  "\n"
                  R"(<rect width="{0:.0f}" height="{1:.0f}" fill="#FFFFFF"/>)"
                  "\n",
                  width, height);
  fmt::format_to(Drawing(text),
                 R"(<text x="20" y="28" font-size="16" font-weight="bold" fill="#222222">{}: {} ranks</text>)"
                 "\n",
                 escaped(layout.title), layout.world);
  return text + body + "</svg>\n";
}

} // namespace npar::show
