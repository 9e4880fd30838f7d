// Draws seconds against memory: what fits in full, what does not hollow, a line at what a device has.
#include "tools/npar/plan/Sweep.h"

#include "tools/npar/view/SvgText.h"
#include "tools/npar/view/View.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace npar::driver {
namespace {

constexpr double left = 90, top = 66, width = 640, height = 400, right = 40, bottom = 60;

using Out = std::back_insert_iterator<std::string>;

/// From the left margin or the lower edge of the drawing's area.
struct Axis {
  double span = 1;
  double x(double value) const { return left + width * value / span; }
  double y(double value) const { return top + height * (1 - value / span); }
};

void drawMarks(std::string &text, const Axis &time, const Axis &memory) {
  double every = markEvery(time.span, 8);
  for (int i = 0; i * every <= time.span; ++i)
    fmt::format_to(Out(text),
                   R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" stroke="#E0E0E0"/><text x="{0:.1f}" y="{3:.1f}" fill="#333333" text-anchor="middle">{4}</text>)"
                   "\n",
                   time.x(i * every), top, top + height, top + height + 16, i == 0 ? "0" : humanTime(i * every));
  every = markEvery(memory.span, 6);
  for (int i = 0; i * every <= memory.span; ++i)
    fmt::format_to(Out(text),
                   R"(<line x1="{0:.1f}" y1="{2:.1f}" x2="{1:.1f}" y2="{2:.1f}" stroke="#E0E0E0"/><text x="{3:.1f}" y="{4:.1f}" fill="#333333" text-anchor="end">{5}</text>)"
                   "\n",
                   left, left + width, memory.y(i * every), left - 8, memory.y(i * every) + 4, i == 0 ? "0" : humanBytes(i * every));
  fmt::format_to(Out(text),
                 R"(<text x="{:.1f}" y="{:.1f}" fill="#222222" text-anchor="middle">seconds of a training step</text>)"
                 "\n",
                 left + width / 2, top + height + 42);
}

} // namespace

std::string sweepSvg(const Sweep &sweep) {
  Axis time{0}, memory{0};
  std::optional<double> room;
  size_t shown = 0;
  for (const Attempt &row : sweep.rows)
    if (row.figures) {
      ++shown;
      time.span = std::max(time.span, 1.08 * row.figures->seconds);
      memory.span = std::max(memory.span, 1.08 * static_cast<double>(row.figures->memory));
      room = row.figures->room;
    }
  if (room)
    memory.span = std::max(memory.span, 1.08 * *room);
  std::string body;
  if (shown > 0)
    drawMarks(body, time, memory);
  if (room && shown > 0)
    fmt::format_to(Out(body),
                   R"(<line x1="{0:.1f}" y1="{2:.1f}" x2="{1:.1f}" y2="{2:.1f}" stroke="#D55E00" stroke-dasharray="6 4"/><text x="{1:.1f}" y="{3:.1f}" fill="#D55E00" text-anchor="end">a device has {4}</text>)"
                   "\n",
                   left, left + width, memory.y(*room), memory.y(*room) - 5, humanBytes(*room));
  for (size_t row = 0; row < sweep.rows.size(); ++row) {
    const std::optional<StepFigures> &figures = sweep.rows[row].figures;
    if (!figures)
      continue;
    std::vector<std::string> values = sweep.valuesOf(row);
    std::string name;
    for (size_t i = 0; i < values.size(); ++i)
      name += fmt::format("{}{} = {}", i ? ", " : "", sweep.over[i].key, values[i]);
    bool fits = figures->fits.value_or(true);
    fmt::format_to(Out(body),
                   R"(<g><title>{}: {}, {}{}</title><circle cx="{:.1f}" cy="{:.1f}" r="5" fill="{}" stroke="{}" stroke-width="1.5"/></g>)"
                   "\n",
                   escaped(name), humanTime(figures->seconds), humanBytes(static_cast<double>(figures->memory)),
                   fits ? "" : ", does not fit", time.x(figures->seconds), memory.y(static_cast<double>(figures->memory)),
                   fits ? "#0072B2" : "#FFFFFF", fits ? "#0072B2" : "#D55E00");
  }
  double w = left + width + right, h = top + height + bottom;
  std::string text = fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" )"
                                 R"(font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="11">)"
                                 "\n"
                                 R"(<rect width="{0:.0f}" height="{1:.0f}" fill="#FFFFFF"/>)"
                                 "\n",
                                 w, h);
  fmt::format_to(Out(text),
                 R"(<text x="20" y="28" font-size="16" font-weight="bold" fill="#222222">{}</text><text x="20" y="48" font-size="12" fill="#444444">{}</text>)"
                 "\n",
                 escaped(sweep.model + " on " + sweep.machine),
                 fmt::format("memory of the largest rank against time; {} of {} combinations, the others are refused", shown,
                             sweep.rows.size()));
  return text + body + "</svg>\n";
}

} // namespace npar::driver
