// Draws seconds against memory: what fits in full, what does not hollow, a line at what a device has.
#include "tools/lib/planner/search/TimeMemoryPlot.h"

#include "engine/readable/HumanUnits.h"
#include "engine/readable/SvgText.h"
#include "engine/show/View.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace npar::planner {

using readable::escaped;
using readable::humanBytes;
using readable::humanTime;
using readable::markEvery;

namespace {

constexpr double left = 90, top = 66, width = 640, height = 400, right = 40, bottom = 60;

using Out = std::back_insert_iterator<std::string>;

/// An axis that starts at the left margin or at the lower edge of the drawing's area.
struct Axis {
  double span = 1;  ///< its end
  double begin = 0; ///< of times; memory begins at 0
  double x(double value) const { return left + width * (value - begin) / (span - begin); }
  double y(double value) const { return top + height * (1 - value / span); }
};

void drawMarks(std::string &text, const Axis &time, const Axis &memory) {
  double every = markEvery(time.span - time.begin, 8);
  for (int i = static_cast<int>(std::ceil(time.begin / every)); i * every <= time.span; ++i)
    fmt::format_to(
        Out(text),
        R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" stroke="#E0E0E0"/><text x="{0:.1f}" y="{3:.1f}" fill="#333333" text-anchor="middle">{4}</text>)"
        "\n",
        time.x(i * every), top, top + height, top + height + 16, i == 0 ? "0" : humanTime(i * every));
  every = markEvery(memory.span, 6);
  for (int i = 0; i * every <= memory.span; ++i)
    fmt::format_to(
        Out(text),
        R"(<line x1="{0:.1f}" y1="{2:.1f}" x2="{1:.1f}" y2="{2:.1f}" stroke="#E0E0E0"/><text x="{3:.1f}" y="{4:.1f}" fill="#333333" text-anchor="end">{5}</text>)"
        "\n",
        left, left + width, memory.y(i * every), left - 8, memory.y(i * every) + 4, i == 0 ? "0" : humanBytes(i * every));
  fmt::format_to(Out(text),
                 R"(<text x="{:.1f}" y="{:.1f}" fill="#222222" text-anchor="middle">seconds of a training step</text>)"
                 "\n",
                 left + width / 2, top + height + 42);
}

/// Those that fit and of which no other one is faster and smaller, the fastest first.
std::vector<PlotPoint> frontierOf(std::vector<PlotPoint> points) {
  std::stable_sort(points.begin(), points.end(), [](const PlotPoint &a, const PlotPoint &b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.memory < b.memory;
  });
  std::vector<PlotPoint> found;
  for (const PlotPoint &point : points)
    if (point.fits && (found.empty() || point.memory < found.back().memory))
      found.push_back(point);
  return found;
}

} // namespace

std::string plotSvg(const TimeMemoryPlot &plot) {
  Axis time{0}, memory{0};
  std::vector<PlotPoint> frontier = plot.frontier ? frontierOf(plot.points) : std::vector<PlotPoint>();
  double slowest = frontier.empty() ? INFINITY : std::max(3 * frontier.front().seconds, 1.2 * frontier.back().seconds);
  if (!frontier.empty()) // nothing is to the left of it
    time.begin = 0.9 * frontier.front().seconds;
  double largest = plot.frontier && plot.room ? 2 * *plot.room : INFINITY;
  for (const PlotPoint &point : plot.points) {
    time.span = std::max(time.span, 1.08 * std::min(slowest, point.seconds));
    memory.span = std::max(memory.span, 1.08 * std::min(largest, point.memory));
  }
  bool shown = !plot.points.empty();
  if (plot.room)
    memory.span = std::max(memory.span, 1.08 * *plot.room);
  std::string body;
  if (shown)
    drawMarks(body, time, memory);
  if (plot.room && shown)
    fmt::format_to(
        Out(body),
        R"(<line x1="{0:.1f}" y1="{2:.1f}" x2="{1:.1f}" y2="{2:.1f}" stroke="#D55E00" stroke-dasharray="6 4"/><text x="{1:.1f}" y="{3:.1f}" fill="#D55E00" text-anchor="end">a device has {4}</text>)"
        "\n",
        left, left + width, memory.y(*plot.room), memory.y(*plot.room) - 5, humanBytes(*plot.room));
  if (!frontier.empty()) {
    std::string corners;
    for (const PlotPoint &point : frontier)
      corners += fmt::format("{}{:.1f},{:.1f}", corners.empty() ? "" : " ", time.x(point.seconds), memory.y(point.memory));
    fmt::format_to(Out(body),
                   R"(<polyline class="frontier" points="{}" fill="none" stroke="#009E73" stroke-width="2"/>)"
                   "\n",
                   corners);
  }
  for (size_t i = 0; i < plot.points.size(); ++i) {
    const PlotPoint &point = plot.points[i];
    fmt::format_to(
        Out(body),
        R"(<g><title>{}: {}, {}{}</title><circle data-point="{}" cx="{:.1f}" cy="{:.1f}" r="5" fill="{}" stroke="{}" stroke-width="1.5"/></g>)"
        "\n",
        escaped(point.name), humanTime(point.seconds), humanBytes(point.memory), point.fits ? "" : ", does not fit", i,
        time.x(std::clamp(point.seconds, time.begin, time.span)), memory.y(std::min(point.memory, memory.span)),
        point.fits ? "#0072B2" : "#FFFFFF", point.fits ? "#0072B2" : "#D55E00");
  }
  double w = left + width + right, h = top + height + bottom;
  std::string text =
      fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" )"
                  R"(font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="11">)"
                  "\n"
                  R"(<rect width="{0:.0f}" height="{1:.0f}" fill="#FFFFFF"/>)"
                  "\n",
                  w, h);
  fmt::format_to(
      Out(text),
      R"(<text x="20" y="28" font-size="16" font-weight="bold" fill="#222222">{}</text><text x="20" y="48" font-size="12" fill="#444444">{}</text>)"
      "\n",
      escaped(plot.title), escaped(plot.subtitle));
  return text + body + "</svg>\n";
}

} // namespace npar::planner
