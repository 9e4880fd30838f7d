// Draws a Timeline: stages as lanes, tasks as boxes with micro-batch numbers, communication and memory below. Legend.h has the colours.
#include "engine/show/Timeline.h"

#include "engine/readable/HumanUnits.h"
#include "engine/readable/SvgText.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <map>

namespace npar::show {

using readable::escaped;
using readable::humanBytes;
using readable::humanTime;
using readable::markEvery;

namespace {

using Out = std::back_insert_iterator<std::string>;

/// The paint of a look: a colour, or a hatched pattern of it.
std::string paintOf(const Look &look) { return look.hatch == Hatch::None ? look.fill : fmt::format("url(#{})", look.name); }

std::string patternsText() {
  std::string text = "<defs>";
  std::vector<Look> looks = phaseLooks();
  looks.push_back(transferLook());
  for (const Look &look : looks)
    if (look.hatch != Hatch::None)
      fmt::format_to(Out(text),
                     R"-(<pattern id="{}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate({})">)-"
                     R"(<rect width="6" height="6" fill="{}"/><rect width="1.3" height="6" fill="#000000" fill-opacity="0.45"/></pattern>)",
                     look.name, look.hatch == Hatch::Rising ? 45 : -45, look.fill);
  return text + "</defs>\n";
}

/// Pixels of one picture: narrow boxes widen it until numbers fit, up to a limit where they are left out.
struct Frame {
  double left = 150, right = 150, top = 64, lane = 30, strip = 7, gap = 6, scale = 1, width = 0;
  double number = 0; ///< pixels that the longest number needs: all boxes of a width show theirs, or none
  size_t lanes = 0;
  explicit Frame(const Timeline &timeline) : lanes(timeline.lanes.size()) {
    if (lanes > 16)
      left = 90, right = 170, lane = 14, strip = 3, gap = 2;
    double narrowest = timeline.span;
    uint32_t last = 0;
    for (const TimelineLane &one : timeline.lanes)
      for (const TimelineBox &box : one.boxes)
        if (lookOf(box.phase).isWork && box.end > box.begin)
          narrowest = std::min(narrowest, box.end - box.begin), last = std::max(last, box.micro);
    number = fontSize() * 0.64 * static_cast<double>(std::to_string(last).size()) + 3;
    double wanted = narrowest > 0 ? number * timeline.span / narrowest : 0;
    // Numbers that fit in a wide picture are worth its width; where they cannot fit, a page is.
    width = wanted <= 2600 ? std::max(wanted, 900.0) : 1500;
    scale = timeline.span > 0 ? width / timeline.span : 1;
  }
  double fontSize() const { return lane >= 28 ? 11 : 9; }
  double x(double seconds) const { return left + seconds * scale; }
  double y(size_t index) const { return top + static_cast<double>(index) * (lane + strip + gap); }
};

/// Rectangles of one paint as one path.
class Path {
public:
  void add(double x, double y, double width, double height) {
    // A rectangle that begins within a third of a pixel after the last one is drawn as part of it; the eye sees no difference.
    if (open && y == lastY && x - lastEnd < 0.33) {
      lastEnd = std::max(lastEnd, x + width);
      return;
    }
    close();
    open = true, lastX = x, lastEnd = x + width, lastY = y, lastHeight = height;
  }
  std::string text(const std::string &fill) {
    close();
    return data.empty() ? "" : fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", fill, data);
  }

private:
  std::string data;
  bool open = false;
  double lastX = 0, lastEnd = 0, lastY = 0, lastHeight = 0;
  void close() {
    if (open)
      fmt::format_to(Out(data), "M{:.1f} {:.1f}h{:.2f}v{:.1f}H{:.1f}z", lastX, lastY, std::max(lastEnd - lastX, 0.4), lastHeight, lastX);
    open = false;
  }
};

void drawBox(std::string &text, const Frame &frame, const Timeline &timeline, const TimelineBox &box, size_t index) {
  const Look &look = lookOf(box.phase);
  double x = frame.x(box.begin), width = (box.end - box.begin) * frame.scale, y = frame.y(index);
  std::string name = look.perMicro ? fmt::format("{} of micro-batch {}", look.word, box.micro) : look.word;
  if (box.chunk)
    name += fmt::format(", chunk {}", box.chunk);
  std::string when = timeline.planned ? fmt::format(", {} to {}", humanTime(box.begin), humanTime(box.end)) : "";
  std::string size = fmt::format(R"(x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.0f}")", x, y, width, frame.lane);
  fmt::format_to(Out(text), R"(<g><title>stage {}: {}{}</title><rect {} fill="{}" stroke="#FFFFFF" stroke-width="{}"/>)",
                 timeline.lanes[index].stage, name, when, size, paintOf(look), width >= 6 ? 1 : 0.5);
  if (box.chunk)
    fmt::format_to(Out(text), R"(<rect {} fill="#FFFFFF" fill-opacity="{}"/>)", size, box.chunk == 1 ? 0.3 : 0.5);
  std::string label = look.perMicro ? fmt::format("{}", box.micro) : std::string(1, look.letter);
  double needs = look.perMicro ? frame.number : 11;
  if (width >= needs) {
    double middle = x + width / 2;
    if (look.hatch != Hatch::None)
      fmt::format_to(Out(text), R"(<rect x="{:.2f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"/>)", middle - needs / 2,
                     y + frame.lane / 2 - frame.fontSize() / 2 - 0.5, needs, frame.fontSize() + 1, look.fill);
    fmt::format_to(Out(text), R"(<text x="{:.2f}" y="{:.1f}" fill="{}" text-anchor="middle">{}</text>)", middle,
                   y + frame.lane / 2 + frame.fontSize() * 0.36, box.chunk ? "#000000" : look.ink, label);
  }
  text += "</g>\n";
}

void drawLane(std::string &text, const Frame &frame, const Timeline &timeline, size_t index) {
  const TimelineLane &lane = timeline.lanes[index];
  double y = frame.y(index);
  fmt::format_to(Out(text), R"(<rect x="{}" y="{:.1f}" width="{:.1f}" height="{:.0f}" fill="#F0F0F0"/>)", frame.left, y, frame.width,
                 frame.lane);
  fmt::format_to(Out(text), R"(<text x="20" y="{:.1f}" font-weight="bold" fill="#222222">stage {}</text>)",
                 y + (frame.lane >= 28 ? 13 : frame.lane / 2 + 3.5), lane.stage);
  if (frame.lane >= 28)
    fmt::format_to(Out(text), R"(<text x="20" y="{:.1f}" font-size="10" fill="#555555">{}</text>)", y + 26, escaped(lane.ranks));
  fmt::format_to(Out(text),
                 R"(<text x="{:.1f}" y="{:.1f}" font-size="{}" fill="#555555">{}</text>)"
                 "\n",
                 frame.left + frame.width + 8, y + frame.lane / 2 + 3.5, frame.lane >= 28 ? 10 : 8.5, escaped(lane.remark));
  std::map<std::string, Path> narrow;
  for (const TimelineBox &box : lane.boxes) {
    if (box.end <= box.begin)
      continue;
    if (double width = (box.end - box.begin) * frame.scale; width >= 2.5)
      drawBox(text, frame, timeline, box, index);
    else
      narrow[lookOf(box.phase).fill].add(frame.x(box.begin), y, width, frame.lane);
  }
  for (auto &[fill, path] : narrow)
    text += path.text(fill);
  Path collectives, transfers;
  for (const TimelineMessage &message : lane.messages) {
    double x = std::max(frame.x(message.begin), frame.left), width = frame.x(message.end) - x;
    if (message.collective)
      collectives.add(x, y + frame.lane, width, frame.strip);
    else
      transfers.add(x, y + frame.lane + frame.strip / 3, width, frame.strip * 2 / 3);
  }
  text += collectives.text(collectiveLook().fill) + transfers.text(frame.lane >= 28 ? paintOf(transferLook()) : "#8C8000");
}

/// The stages whose memory is worth the room: all of a few, else the first, the highest and the last.
std::vector<size_t> lanesWithMemory(const Timeline &timeline) {
  auto most = [](const TimelineLane &lane) {
    uint64_t bytes = 0;
    for (const TimelineMemory &point : lane.memory)
      bytes = std::max(bytes, point.bytes);
    return bytes;
  };
  std::vector<size_t> chosen;
  for (size_t i = 0; i < timeline.lanes.size(); ++i)
    if (!timeline.lanes[i].memory.empty())
      chosen.push_back(i);
  if (chosen.size() <= 8)
    return chosen;
  size_t highest = *std::max_element(chosen.begin(), chosen.end(),
                                     [&](size_t a, size_t b) { return most(timeline.lanes[a]) < most(timeline.lanes[b]); });
  std::vector<size_t> few = {chosen.front(), highest, chosen.back()};
  std::sort(few.begin(), few.end());
  few.erase(std::unique(few.begin(), few.end()), few.end());
  return few;
}

double drawMemory(std::string &text, const Frame &frame, const Timeline &timeline, double y) {
  std::vector<size_t> chosen = lanesWithMemory(timeline);
  if (chosen.empty())
    return y;
  uint64_t arena = 1;
  for (size_t index : chosen)
    arena = std::max(arena, timeline.lanes[index].arenaBytes);
  constexpr double height = 34, pitch = 42;
  fmt::format_to(Out(text),
                 R"(<text x="{}" y="{:.1f}" fill="#222222"><tspan font-weight="bold">live memory</tspan>, dashed: the arena; one scale, )"
                 "{} high</text>\n",
                 frame.left, y + 10, humanBytes(static_cast<double>(arena)));
  y += 18;
  for (size_t index : chosen) {
    const TimelineLane &lane = timeline.lanes[index];
    double bottom = y + height;
    auto top = [&](uint64_t bytes) { return bottom - height * static_cast<double>(bytes) / static_cast<double>(arena); };
    fmt::format_to(Out(text), R"(<text x="20" y="{:.1f}" font-weight="bold" fill="#222222">stage {}</text>)", y + height / 2 + 4,
                   lane.stage);
    fmt::format_to(Out(text), R"(<path fill="#9CC9E8" stroke="#0072B2" stroke-width="0.8" d="M{:.1f} {:.1f})", frame.left, bottom);
    for (const TimelineMemory &point : lane.memory)
      fmt::format_to(Out(text), "H{:.1f}V{:.1f}", frame.x(point.at), top(point.bytes));
    fmt::format_to(Out(text), R"(H{:.1f}V{:.1f}z"/>)", frame.left + frame.width, bottom);
    fmt::format_to(Out(text),
                   R"(<line x1="{0}" y1="{2:.1f}" x2="{1:.1f}" y2="{2:.1f}" stroke="#555555" stroke-dasharray="4 3"/>)"
                   "\n",
                   frame.left, frame.left + frame.width, top(lane.arenaBytes));
    y += pitch;
  }
  return y;
}

void drawAxis(std::string &text, const Frame &frame, const Timeline &timeline, double y) {
  fmt::format_to(Out(text),
                 R"(<line x1="{0}" y1="{2:.1f}" x2="{1:.1f}" y2="{2:.1f}" stroke="#888888"/>)"
                 "\n",
                 frame.left, frame.left + frame.width, y);
  if (timeline.span <= 0)
    return;
  double every = markEvery(timeline.span, 8);
  for (int i = 0; i * every <= timeline.span * 1.0001; ++i) {
    // One unit for all marks: milliseconds, as far as they are readable.
    std::string label = !timeline.planned ? fmt::format("{:g}", i * every) : fmt::format("{:g} ms", std::round(i * every * 1e9) * 1e-6);
    fmt::format_to(Out(text), R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" stroke="#888888"/>)", frame.x(i * every), y,
                   y + 5);
    fmt::format_to(Out(text),
                   R"(<text x="{:.1f}" y="{:.1f}" font-size="11" fill="#333333" text-anchor="middle">{}</text>)"
                   "\n",
                   frame.x(i * every), y + 18, i == 0 ? "0" : label);
  }
}

void drawLegend(std::string &text, const Timeline &timeline, double x, double y) {
  auto entry = [&](const std::string &paint, const char *word) {
    fmt::format_to(Out(text), R"(<rect x="{:.0f}" y="{:.1f}" width="16" height="14" fill="{}"/>)", x, y, paint);
    fmt::format_to(Out(text),
                   R"(<text x="{:.0f}" y="{:.1f}" font-size="11" fill="#222222">{}</text>)"
                   "\n",
                   x + 22, y + 11.5, word);
    x += 36 + 7 * static_cast<double>(std::string(word).size());
  };
  auto used = [&](const Look &look) {
    for (const TimelineLane &lane : timeline.lanes)
      for (const TimelineBox &box : lane.boxes)
        if (lookOf(box.phase).name == look.name)
          return true;
    return false;
  };
  for (const Look &look : phaseLooks())
    if (used(look))
      entry(paintOf(look), look.word);
  bool collective = false, transfer = false, chunks = false;
  for (const TimelineLane &lane : timeline.lanes) {
    for (const TimelineMessage &message : lane.messages)
      (message.collective ? collective : transfer) = true;
    for (const TimelineBox &box : lane.boxes)
      chunks |= box.chunk > 0;
  }
  if (collective)
    entry(paintOf(collectiveLook()), collectiveLook().word);
  if (transfer)
    entry(paintOf(transferLook()), transferLook().word);
  if (chunks)
    fmt::format_to(Out(text), R"(<text x="{:.0f}" y="{:.1f}" font-size="11" fill="#222222">lighter: later chunks</text>)", x, y + 11.5);
}

} // namespace

std::string timelineSvg(const Timeline &timeline) {
  Frame frame(timeline);
  std::string body;
  for (size_t i = 0; i < timeline.lanes.size(); ++i)
    drawLane(body, frame, timeline, i);
  double axis = frame.y(timeline.lanes.size()) + 2;
  drawAxis(body, frame, timeline, axis);
  double bottom = drawMemory(body, frame, timeline, axis + 34);
  drawLegend(body, timeline, frame.left, bottom + 6);

  double width = frame.left + frame.width + frame.right, height = bottom + 36;
  std::string text =
      fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" )"
                  R"(font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="{2}">)"
                  "\n",
                  width, height, frame.fontSize());
  text += patternsText();
  fmt::format_to(Out(text),
                 R"(<rect width="{:.0f}" height="{:.0f}" fill="#FFFFFF"/>)"
                 "\n",
                 width, height);
  fmt::format_to(Out(text),
                 R"(<text x="20" y="28" font-size="16" font-weight="bold" fill="#222222">{}</text>)"
                 "\n",
                 escaped(timeline.title));
  std::string remark = timeline.planned
                           ? fmt::format("one training step, {} {}; bubble {:.1f} %: waiting time of all stages from the first "
                                         "forward to the last backward",
                                         timeline.origin, humanTime(timeline.span), 100 * timeline.bubble)
                           : std::string("one training step in program order; the program holds no planned times");
  fmt::format_to(Out(text),
                 R"(<text x="20" y="48" font-size="12" fill="#444444">{}</text>)"
                 "\n",
                 escaped(remark));
  return text + body + "</svg>\n";
}

} // namespace npar::show
