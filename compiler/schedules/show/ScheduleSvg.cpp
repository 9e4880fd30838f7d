// Draws a SchedulePicture as SVG.
#include "compiler/schedules/show/ScheduleSvg.h"

#include "compiler/schedules/show/ScheduleText.h"
#include "engine/readable/SvgText.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::schedules {

using readable::escaped;
using readable::markEvery;

namespace {

struct Colour {
  int red, green, blue;
};

/// A phase: its colour for the first and the last chunk, and its numbers' colour. Forwards stay light and backwards dark in all chunks.
struct Style {
  const char *name;
  Colour first, last;
  const char *ink;
};

constexpr Style forward = {"forward", {0x56, 0xB4, 0xE9}, {0xCF, 0xEA, 0xFA}, "#000"},
                backward = {"backward", {0x00, 0x3F, 0x66}, {0x2F, 0x7F, 0xB8}, "#FFF"},
                weight = {"weight", {0xE6, 0x9F, 0x00}, {0xF9, 0xDF, 0xA0}, "#000"};

/// Schedules have tasks of three phases; what else a training step does is no picture of theirs.
const Style &styleOf(program::Phase phase) {
  switch (phase) {
  case program::Phase::Backward:
    return backward;
  case program::Phase::Weight:
    return weight;
  case program::Phase::Forward:
  case program::Phase::Prologue:
  case program::Phase::Count:
  case program::Phase::Update:
    break;
  }
  return forward;
}

std::string colourOf(program::Phase phase, int chunk, int chunks) {
  const Style &style = styleOf(phase);
  double share = chunks > 1 ? static_cast<double>(chunk) / (chunks - 1) : 0;
  auto mix = [&](int from, int to) { return static_cast<int>(std::lround(from + share * (to - from))); };
  return fmt::format("#{:02X}{:02X}{:02X}", mix(style.first.red, style.last.red), mix(style.first.green, style.last.green),
                     mix(style.first.blue, style.last.blue));
}

class Drawing {
public:
  explicit Drawing(const SchedulePicture &picture) : picture(picture) {
    if (picture.lanes.size() > 16)
      lane = 14, gap = 2;
    double narrowest = picture.span;
    int last = 0;
    for (const ScheduleLane &one : picture.lanes)
      for (const ScheduleBox &box : one.boxes) {
        last = std::max(last, box.micro);
        if (box.end > box.begin)
          narrowest = std::min(narrowest, box.end - box.begin);
      }
    number = 6.5 * static_cast<double>(std::to_string(last).size()) + 4;
    double wanted = narrowest > 0 ? number * picture.span / narrowest : 0;
    width = std::clamp(wanted, 800.0, 3600.0);
    scale = picture.span > 0 ? width / picture.span : 1;
  }

  std::string draw() {
    double bottom = y(picture.lanes.size());
    head(left + width + 24, bottom + 66);
    for (size_t i = 0; i < picture.lanes.size(); ++i) {
      text += fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:.1f}\" height=\"{:g}\" fill=\"#F1F1F1\"/>\n", left, y(i), width, lane);
      text += fmt::format("<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"end\" fill=\"#222\">{}</text>\n", left - 8, y(i) + lane / 2 + 4,
                          escaped(picture.lanes[i].name));
      for (const ScheduleBox &box : picture.lanes[i].boxes)
        if (box.end > box.begin)
          drawBox(box, y(i));
    }
    axis(bottom + 2);
    legend(bottom + 38);
    return text + "</svg>\n";
  }

private:
  double x(double time) const { return left + time * scale; }
  double y(size_t index) const { return top + static_cast<double>(index) * (lane + gap); }

  void head(double wide, double high) {
    text += fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                        "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"11\">\n<defs>\n",
                        wide, high);
    for (int chunk = 0; chunk < picture.chunks; ++chunk)
      text += fmt::format("<pattern id=\"w{}\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><rect width=\"5\" height=\"5\" "
                          "fill=\"{}\"/><path d=\"M-1 1L1 -1M0 5L5 0M4 6L6 4\" stroke=\"#7A4F00\" stroke-width=\"0.8\"/></pattern>\n",
                          chunk, colourOf(program::Phase::Weight, chunk, picture.chunks));
    text += fmt::format("</defs>\n<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#FFF\"/>\n", wide, high);
    text += fmt::format("<text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"bold\" fill=\"#222\">{}</text>\n", escaped(picture.title));
    text += fmt::format("<text x=\"16\" y=\"42\" font-size=\"12\" fill=\"#444\">{}</text>\n", escaped(picture.remark));
  }

  std::string fill(program::Phase phase, int chunk) const {
    return phase == program::Phase::Weight ? fmt::format("url(#w{})", chunk) : colourOf(phase, chunk, picture.chunks);
  }

  void drawBox(const ScheduleBox &box, double at) {
    double wide = (box.end - box.begin) * scale;
    text += fmt::format("<g><title>{}</title><rect x=\"{:.2f}\" y=\"{:g}\" width=\"{:.2f}\" height=\"{:g}\" fill=\"{}\"{}/>",
                        escaped(box.label), x(box.begin), at, std::max(0.3, wide), lane, fill(box.phase, box.chunk),
                        wide >= 3 ? " stroke=\"#FFF\" stroke-width=\"0.7\"" : "");
    if (wide + 0.01 >= number) {
      double middle = x(box.begin) + wide / 2, line = at + lane / 2 + 4;
      // A number on a hatched box gets a plain background.
      if (box.phase == program::Phase::Weight)
        text += fmt::format("<rect x=\"{:.2f}\" y=\"{:g}\" width=\"{:.1f}\" height=\"{:g}\" fill=\"{}\"/>", middle - number / 2 + 1.5,
                            at + lane / 2 - 5.5, number - 3, 11.0, colourOf(program::Phase::Weight, box.chunk, picture.chunks));
      text += fmt::format("<text x=\"{:.2f}\" y=\"{:g}\" text-anchor=\"middle\" fill=\"{}\">{}</text>", middle, line,
                          styleOf(box.phase).ink, box.micro);
    }
    text += "</g>\n";
  }

  void axis(double at) {
    text += fmt::format("<path d=\"M{:g} {:g}H{:.1f}\" stroke=\"#888\"/>\n", left, at, left + width);
    if (picture.span <= 0)
      return;
    double every = markEvery(picture.span, 10);
    for (int i = 0; i * every <= picture.span * 1.0001; ++i)
      text += fmt::format("<path d=\"M{0:.1f} {1:g}v5\" stroke=\"#888\"/><text x=\"{0:.1f}\" y=\"{2:g}\" text-anchor=\"middle\" "
                          "fill=\"#444\">{3:g}</text>\n",
                          x(i * every), at, at + 17, i * every);
  }

  /// Draws one sample per phase of the picture; with several chunks, a row of its shades.
  void legend(double at) {
    double across = left;
    for (program::Phase phase : {program::Phase::Forward, program::Phase::Backward, program::Phase::Weight}) {
      bool used = std::any_of(picture.lanes.begin(), picture.lanes.end(), [&](const ScheduleLane &one) {
        return std::any_of(one.boxes.begin(), one.boxes.end(), [&](const ScheduleBox &box) { return box.phase == phase; });
      });
      if (!used)
        continue;
      int shades = std::min(picture.chunks, 8);
      for (int shade = 0; shade < shades; ++shade, across += 15) {
        int chunk = shades == 1 ? 0 : shade * (picture.chunks - 1) / (shades - 1);
        text += fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"14\" height=\"14\" fill=\"{}\"/>", across, at, fill(phase, chunk));
      }
      std::string chunks = picture.chunks > 1 ? fmt::format(" (chunks 0 to {})", picture.chunks - 1) : "";
      text += fmt::format("<text x=\"{:g}\" y=\"{:g}\" fill=\"#222\">{}{}</text>\n", across + 5, at + 11.5, styleOf(phase).name, chunks);
      across += 90 + 6.2 * static_cast<double>(chunks.size());
    }
    text += fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"14\" height=\"14\" fill=\"#F1F1F1\" stroke=\"#BBB\"/>"
                        "<text x=\"{:g}\" y=\"{:g}\" fill=\"#222\">waiting</text>\n",
                        across, at, across + 20, at + 11.5);
  }

  const SchedulePicture &picture;
  double left = 84, top = 56, lane = 26, gap = 4, width = 0, scale = 1;
  double number = 0; ///< pixels that the longest number needs
  std::string text;
};

} // namespace

std::string drawSchedule(const SchedulePicture &picture) { return Drawing(picture).draw(); }

std::string scheduleSvg(const TimedSchedule &timed) {
  SchedulePicture picture;
  picture.title = scheduleTitle(timed);
  picture.remark =
      fmt::format("makespan {:.6g}, bubble rate {:.2f} %, at most {:.4g} live forward activations; F {:g}, B {:g}, W {:g}, message {:g}",
                  timed.times->timeline.makespan, 100 * timed.bubbleRate, timed.peakLive(), timed.cost.forward, timed.cost.backward,
                  timed.cost.weight, timed.transfer);
  picture.span = timed.times->timeline.makespan;
  picture.chunks = timed.schedule.chunks;
  for (size_t stage = 0; stage < timed.schedule.lists.size(); ++stage) {
    picture.lanes.push_back({"stage " + std::to_string(stage), {}});
    for (size_t i = 0; i < timed.schedule.lists[stage].size(); ++i) {
      const Task &task = timed.schedule.lists[stage][i];
      const cost::Span &span = timed.times->timeline.spans[stage][i];
      picture.lanes.back().boxes.push_back(
          {span.begin, span.end, seamOf(task.phase), task.micro, task.chunk,
           fmt::format("{} on stage {}, {:.6g} to {:.6g}", taskLabel(timed.schedule, task), stage, span.begin, span.end)});
    }
  }
  return drawSchedule(picture);
}

} // namespace npar::schedules
