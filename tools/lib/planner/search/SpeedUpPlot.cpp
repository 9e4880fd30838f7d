// Draws the points on axes with equal steps, marked at the numbers of ranks that occur.
#include "tools/lib/planner/search/SpeedUpPlot.h"

#include "engine/readable/SvgText.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <set>

namespace npar::planner {

namespace {

using Out = std::back_insert_iterator<std::string>;

} // namespace

bool SpeedUpPlot::isShown() const {
  return std::any_of(points.begin(), points.end(), [&](const SpeedUpPoint &point) { return point.ranks != points.front().ranks; });
}

std::string plotBelow(const std::string &above, const SpeedUpPlot &plot) {
  // As wide as the picture above (TimeMemoryPlot.cpp).
  constexpr double outer = 770, outerAbove = 526, left = 90, top = 40, width = 640, height = 260, bottom = 60;
  std::set<int64_t> ranks;
  double fastest = 1;
  for (const SpeedUpPoint &point : plot.points)
    ranks.insert(point.ranks), fastest = std::max(fastest, point.speedUp);
  const auto least = static_cast<double>(*ranks.begin()), most = static_cast<double>(*ranks.rbegin()), all = 1.08 * most;
  const double span = 1.08 * std::max(fastest, most / least);
  auto x = [&](double count) { return left + width * count / all; };
  auto y = [&](double speed) { return top + height * (1 - speed / span); };
  std::string body;
  double last = -100;
  for (int64_t count : ranks) {
    const double at = x(static_cast<double>(count));
    fmt::format_to(Out(body), R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" stroke="#E0E0E0"/>)", at, top, top + height);
    if (at - last >= 28) // room for a number
      fmt::format_to(Out(body), R"(<text x="{:.1f}" y="{:.1f}" fill="#333333" text-anchor="middle">{}</text>)", last = at,
                     top + height + 16, count);
    body += '\n';
  }
  const double every = readable::markEvery(span, 5);
  for (int i = 0; i * every <= span; ++i)
    fmt::format_to(
        Out(body),
        R"(<line x1="{0:.1f}" y1="{2:.1f}" x2="{1:.1f}" y2="{2:.1f}" stroke="#E0E0E0"/><text x="{3:.1f}" y="{4:.1f}" fill="#333333" text-anchor="end">{5:g}</text>)"
        "\n",
        left, left + width, y(i * every), left - 8, y(i * every) + 4, i * every);
  fmt::format_to(
      Out(body),
      R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#009E73" stroke-dasharray="6 4"/><text x="{:.1f}" y="{:.1f}" fill="#009E73" text-anchor="end">efficiency 100 %</text>)"
      "\n",
      x(least), y(1), x(most), y(most / least), x(most) - 8, y(most / least) + 4);
  for (const SpeedUpPoint &point : plot.points)
    fmt::format_to(
        Out(body),
        R"(<g><title>{}: {} ranks, speed-up {:.2f}, efficiency {:.1f} %</title><rect class="speed-up" x="{:.1f}" y="{:.1f}" width="9" height="9" fill="#0072B2"/></g>)"
        "\n",
        readable::escaped(point.name), point.ranks, point.speedUp, 100 * point.efficiency, x(static_cast<double>(point.ranks)) - 4.5,
        y(point.speedUp) - 4.5);
  fmt::format_to(Out(body),
                 R"(<text x="20" y="20" font-size="12" fill="#444444">speed-up by samples per second against the number of ranks</text>)"
                 R"(<text x="{:.1f}" y="{:.1f}" fill="#222222" text-anchor="middle">ranks</text>)"
                 "\n",
                 left + width / 2, top + height + 42);
  const double below = top + height + bottom;
  return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" )"
                     R"(font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="11">)"
                     "\n{2}"
                     R"(<svg y="{3:.0f}" width="{0:.0f}" height="{4:.0f}"><rect width="{0:.0f}" height="{4:.0f}" fill="#FFFFFF"/>)"
                     "\n{5}</svg>\n</svg>\n",
                     outer, outerAbove + below, above, outerAbove, below, body);
}

} // namespace npar::planner
