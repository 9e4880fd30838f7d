// Draws a Timeline: stages as lanes, tasks as boxes with micro-batch numbers. Colours by Okabe and Ito, told apart by colour-blind people;
// backward boxes are also darker, so that the picture survives a black-and-white print.
#include "tools/npar/Timeline.h"

#include "engine/program/Mesh.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::driver {

using program::Phase;

namespace {

struct Style {
  Phase phase;
  const char *name, *fill, *ink;
};

constexpr Style styles[] = {
    {Phase::Prologue, "prologue", "#CC79A7", "#000000"}, {Phase::Forward, "forward", "#56B4E9", "#000000"},
    {Phase::Backward, "backward", "#0072B2", "#FFFFFF"}, {Phase::Weight, "weight gradient", "#009E73", "#000000"},
    {Phase::Update, "update", "#E69F00", "#000000"},
};

const Style &styleOf(Phase phase) {
  for (const Style &style : styles)
    if (style.phase == phase)
      return style;
  return styles[1];
}

std::string escaped(const std::string &text) {
  std::string result;
  for (char letter : text)
    switch (letter) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += letter;
    }
  return result;
}

std::string humanTime(double seconds) {
  if (seconds >= 1)
    return fmt::format("{:.3g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

/// A round step that gives about eight marks on the axis.
double markEvery(double span) {
  double raw = span / 8, power = std::pow(10, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power)
      return factor * power;
  return 10 * power;
}

/// Pixels of one picture: narrow boxes widen it until numbers fit, up to a limit where they are left out.
struct Frame {
  double left = 150, top = 64, lane = 30, gap = 6, scale = 1, width = 0;
  double number = 0; ///< pixels that the longest number needs: all boxes of a width show theirs, or none
  explicit Frame(const Timeline &timeline) {
    if (timeline.lanes.size() > 16)
      lane = 18, gap = 3;
    double narrowest = timeline.span;
    uint32_t last = 0;
    for (const TimelineLane &one : timeline.lanes)
      for (const TimelineBox &box : one.boxes)
        if (program::runsPerMicro(box.phase) && box.end > box.begin)
          narrowest = std::min(narrowest, box.end - box.begin), last = std::max(last, box.micro);
    number = 7.0 * static_cast<double>(std::to_string(last).size()) + 3;
    double wanted = narrowest > 0 ? number * timeline.span / narrowest : 0;
    width = std::clamp(wanted, 900.0, 4000.0);
    scale = timeline.span > 0 ? width / timeline.span : 1;
  }
  double x(double seconds) const { return left + seconds * scale; }
  double y(size_t index) const { return top + static_cast<double>(index) * (lane + gap); }
};

std::string drawBox(const Frame &frame, const Timeline &timeline, const TimelineBox &box, size_t index) {
  const Style &style = styleOf(box.phase);
  double x = frame.x(box.begin), width = std::max(0.5, (box.end - box.begin) * frame.scale), y = frame.y(index);
  bool numbered = program::runsPerMicro(box.phase);
  std::string name = numbered ? fmt::format("{} of micro-batch {}", style.name, box.micro) : style.name;
  std::string when = timeline.planned ? fmt::format(", {} to {}", humanTime(box.begin), humanTime(box.end)) : "";
  std::string text = fmt::format(R"(<g><title>stage {}: {}{}</title><rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.0f}" fill="{}")",
                                 timeline.lanes[index].stage, name, when, x, y, width, frame.lane, style.fill);
  text += width >= 4 ? R"( stroke="#FFFFFF" stroke-width="1"/>)" : "/>";
  std::string label = numbered ? fmt::format("{}", box.micro) : "U";
  if (box.phase != Phase::Prologue && width >= (numbered ? frame.number : 11))
    text += fmt::format(R"(<text x="{:.2f}" y="{:.1f}" fill="{}" text-anchor="middle">{}</text>)", x + width / 2, y + frame.lane / 2 + 4,
                        style.ink, label);
  return text + "</g>\n";
}

std::string drawAxis(const Frame &frame, const Timeline &timeline, double y) {
  std::string text = fmt::format(R"(<line x1="{0}" y1="{2:.1f}" x2="{1:.1f}" y2="{2:.1f}" stroke="#999999"/>)"
                                 "\n",
                                 frame.left, frame.left + frame.width, y);
  if (timeline.span <= 0)
    return text;
  double every = markEvery(timeline.span);
  for (int i = 0; i * every <= timeline.span * 1.0001; ++i) {
    std::string label = timeline.planned ? humanTime(i * every) : fmt::format("{:g}", i * every);
    text += fmt::format(R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" stroke="#999999"/>)", frame.x(i * every), y, y + 5);
    text += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" fill="#444444" text-anchor="middle">{}</text>)"
                        "\n",
                        frame.x(i * every), y + 18, i == 0 ? "0" : label);
  }
  return text;
}

std::string drawLegend(double x, double y) {
  std::string text;
  for (const Style &style : styles) {
    text += fmt::format(R"(<rect x="{:.0f}" y="{:.1f}" width="14" height="14" fill="{}"/>)", x, y, style.fill);
    text += fmt::format(R"(<text x="{:.0f}" y="{:.1f}" fill="#222222">{}</text>)"
                        "\n",
                        x + 20, y + 11.5, style.name);
    x += 100;
  }
  return text;
}

} // namespace

std::string timelineSvg(const Timeline &timeline) {
  Frame frame(timeline);
  double bottom = frame.y(timeline.lanes.size());
  double width = frame.left + frame.width + 30, height = bottom + 74;
  std::string text =
      fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" )"
                  R"(font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="11">)"
                  "\n",
                  width, height);
  text += fmt::format(R"(<rect width="{:.0f}" height="{:.0f}" fill="#FFFFFF"/>)"
                      "\n",
                      width, height);
  text += fmt::format(R"(<text x="20" y="28" font-size="16" font-weight="bold" fill="#222222">{}</text>)"
                      "\n",
                      escaped(timeline.title));
  std::string remark = timeline.planned
                           ? fmt::format("one training step, planned {}; bubble {:.1f} %: waiting time of all stages from the first "
                                         "forward to the last backward",
                                         humanTime(timeline.span), 100 * timeline.bubble)
                           : std::string("one training step in program order; the program holds no planned times");
  text += fmt::format(R"(<text x="20" y="48" font-size="12" fill="#444444">{}</text>)"
                      "\n",
                      escaped(remark));
  for (size_t i = 0; i < timeline.lanes.size(); ++i) {
    double y = frame.y(i);
    text += fmt::format(R"(<rect x="{}" y="{:.1f}" width="{:.1f}" height="{:.0f}" fill="#F0F0F0"/>)"
                        "\n",
                        frame.left, y, frame.width, frame.lane);
    std::string name = fmt::format("stage {}", timeline.lanes[i].stage);
    if (frame.lane >= 28) {
      text += fmt::format(R"(<text x="20" y="{:.1f}" font-weight="bold" fill="#222222">{}</text>)", y + 13, name);
      text += fmt::format(R"(<text x="20" y="{:.1f}" font-size="10" fill="#666666">{}</text>)"
                          "\n",
                          y + 26, escaped(timeline.lanes[i].ranks));
    } else {
      text += fmt::format(R"(<text x="20" y="{:.1f}" fill="#222222"><tspan font-weight="bold">{}</tspan></text>)"
                          "\n",
                          y + 13, name);
    }
    for (const TimelineBox &box : timeline.lanes[i].boxes)
      if (box.end > box.begin)
        text += drawBox(frame, timeline, box, i);
  }
  text += drawAxis(frame, timeline, bottom + 4);
  text += drawLegend(frame.left, bottom + 40);
  return text + "</svg>\n";
}

} // namespace npar::driver
