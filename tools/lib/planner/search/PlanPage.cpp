// Writes the page of a search: the picture, and the data that its script shows of the plan that is pointed at.
#include "tools/lib/planner/search/PlanPage.h"

#include "engine/json/Json.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/SvgText.h"
#include "engine/show/Legend.h"
#include "engine/show/View.h"
#include "engine/show/page/PageFiles.h"
#include "tools/lib/planner/search/CompactTimeline.h"
#include "tools/lib/planner/search/TimeMemoryPlot.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::planner {

using readable::escaped;
using readable::humanBytes;
using readable::humanTime;
using show::Look;
using show::phaseLooks;
using show::searchHtml;
using show::searchScript;
using show::searchStyle;

namespace {

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// The data of a plan on the page, with all words.
OrderedJson dataOf(const PlanTask &task, const Tried &tried) {
  const StepFigures &figures = *tried.attempt.figures;
  std::string memory = humanBytes(static_cast<double>(figures.memory));
  if (figures.room)
    memory += fmt::format(" of {}{}", humanBytes(*figures.room), tried.fits() ? "" : ", does not fit");
  OrderedJson rows = OrderedJson::array({{"a training step", humanTime(figures.seconds)}, {"largest rank", memory}});
  if (figures.mfu)
    rows.push_back({"MFU", percent(*figures.mfu)});
  if (figures.worst)
    rows.push_back({"at the worst load of experts", humanTime(*figures.worst)});
  rows.push_back({"bubble", percent(figures.bubble)});
  rows.push_back({"exposed communication", percent(figures.exposed)});
  if (figures.dollars)
    rows.push_back({"dollars of a step", fmt::format("{:.4g}", *figures.dollars)});
  return OrderedJson{
      {"name", nameOf(tried)},    {"figures", rows},
      {"fits", tried.fits()},     {"seconds", figures.seconds},
      {"memory", figures.memory}, {"shares", {std::max(0.0, 1 - figures.bubble - figures.exposed), figures.exposed, figures.bubble}},
      {"lanes", figures.lanes},   {"text", textOf(task, tried)}};
}

} // namespace

std::string planPage(const PlanTask &task, const SearchResult &result) {
  TimeMemoryPlot plot;
  plot.frontier = true;
  OrderedJson plans = OrderedJson::array(), refused = OrderedJson::array();
  int best = -1;
  for (size_t i = 0; i < result.tried.size(); ++i) {
    const Tried &tried = result.tried[i];
    if (!tried.attempt.figures) {
      refused.push_back({nameOf(tried), tried.attempt.reason});
      continue;
    }
    if (static_cast<int>(i) == result.best)
      best = static_cast<int>(plans.size());
    const StepFigures &figures = *tried.attempt.figures;
    plot.points.push_back({nameOf(tried), figures.seconds, static_cast<double>(figures.memory), tried.fits()});
    plot.room = figures.room;
    plans.push_back(dataOf(task, tried));
  }
  plot.title = fmt::format("{} on {} host{} of {}, {} sequences per step", task.names.name, task.hosts, task.hosts == 1 ? "" : "s",
                           task.machine.name, task.batch);
  plot.subtitle = fmt::format("{} of {} candidates simulated, {} refused, {} cannot fit by their parameters alone", plans.size(),
                              result.candidates, refused.size(), result.pruned);
  OrderedJson looks = OrderedJson::object(); // of the letters of lanes
  for (const Look &look : phaseLooks())
    looks[std::string(1, look.letter)] = {{"word", look.word}, {"fill", look.fill}};
  std::string data;
  for (char letter : OrderedJson{{"best", best}, {"plans", plans}, {"refused", refused}, {"columns", laneColumns}, {"looks", looks}}.dump(
           -1, ' ', true, OrderedJson::error_handler_t::replace))
    data += letter == '<' ? "\\u003c" : std::string(1, letter); // no name ends the script element around it
  return show::filledPage(searchHtml, {{"{{title}}", escaped(plot.title)},
                                       {"/*style*/", searchStyle},
                                       {"{{picture}}", plotSvg(plot)},
                                       {"/*data*/", data},
                                       {"/*script*/", searchScript}});
}

} // namespace npar::planner
