// Compares a run's own plan with the best that was found for it.
#include "tools/lib/planner/search/ForeignPlan.h"

#include "engine/json/Json.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/TableRow.h"
#include "engine/show/View.h"

#include <cmath>
#include <fmt/format.h>

namespace npar::planner {

using readable::humanBytes;
using readable::humanTime;
using readable::TableRow;

namespace {

/// The best that is not the run's own; null where nothing else fits.
const Tried *bestFound(const SearchResult &result, PlanGoal goal) {
  const Tried *best = nullptr;
  for (const Tried &tried : result.tried)
    if (std::optional<double> figure = goalOf(tried, goal); figure && tried.text.empty() && (!best || *figure < *goalOf(*best, goal)))
      best = &tried;
  return best;
}

bool isChosen(const SearchResult &result) { return result.best >= 0 && !result.tried[static_cast<size_t>(result.best)].text.empty(); }

struct Difference {
  std::string setting, own, found;
};

std::string wordsFor(const Candidate &candidate, Setting setting) {
  if (setting == Setting::Schedule && candidate.pp == 1)
    return "no pipeline";
  if (setting == Setting::Context && candidate.cp == 1)
    return "no context parallelism";
  return wordsOf(candidate, setting);
}

std::vector<Difference> differences(const Candidate &own, const Candidate &found) {
  std::vector<Difference> all;
  for (int i = 0; i < settingCount; ++i) {
    Setting setting = static_cast<Setting>(i);
    Difference one{setting == Setting::Mesh ? "mesh" : keysOf(setting).front(), wordsFor(own, setting), wordsFor(found, setting)};
    bool isOfMesh = setting == Setting::Place && same(own, found, setting);
    if (one.own != one.found && !isOfMesh)
      all.push_back(one);
  }
  return all;
}

std::string memoryOf(const StepFigures &figures) {
  return humanBytes(static_cast<double>(figures.memory)) + (figures.room ? " of " + humanBytes(*figures.room) : "") +
         " on the largest rank";
}

/// "1.2 s per training step, 40 GiB of 72 GiB on the largest rank", or why there is no such thing.
std::string outcomeOf(const ForeignPlan &own) {
  if (!own.tried.attempt.figures)
    return "refused: " + own.tried.attempt.reason;
  const StepFigures &figures = *own.tried.attempt.figures;
  std::string text = fmt::format("{} per training step, {}", humanTime(figures.seconds), memoryOf(figures));
  return own.tried.fits() ? text : "does not fit: " + text;
}

/// In place of the run's own: "1.0 s per training step (17.9 % less), 30 GiB of 72 GiB on the largest rank".
std::string insteadOf(const ForeignPlan &own, const Tried *found) {
  if (!found)
    return "nothing fits";
  const StepFigures &figures = *found->attempt.figures;
  std::string change;
  if (own.tried.attempt.figures) {
    double percent = 100 * (figures.seconds / own.tried.attempt.figures->seconds - 1);
    change = std::abs(percent) < 0.05 ? " (the same)" : fmt::format(" ({:.1f} % {})", std::abs(percent), percent > 0 ? "more" : "less");
  }
  return fmt::format("{} per training step{}, {}", humanTime(figures.seconds), change, memoryOf(figures));
}

/// Names the plan that is written, with the reason if the figures do not show it.
std::string choiceOf(const ForeignPlan &own, const SearchResult &result) {
  if (isChosen(result))
    return "the run's own plan: no better one was found";
  if (result.best < 0)
    return "none";
  return own.barred.empty() ? "the best found" : "the best found; the run's own plan is excluded: " + own.barred;
}

} // namespace

std::string foreignPlanText(const ForeignPlan &own, const SearchResult &result, PlanGoal goal) {
  std::string text = foreign::foreignText(own.request, own.model, own.tried.attempt.figures.has_value());
  auto row = [&](const char *name, const std::string &value) { text += TableRow(2).left(name, 22).text(value).str(); };
  const Tried *found = bestFound(result, goal);
  row("the run's own plan", outcomeOf(own));
  if (!own.fills && own.tried.attempt.figures)
    row("", fmt::format("on {} of the devices, which the best found takes all", own.model.run.world));
  row("the best found", insteadOf(own, found));
  row("chosen", choiceOf(own, result));
  if (!found)
    return text;
  std::vector<Difference> all = differences(own.tried.candidate, found->candidate);
  if (all.empty())
    row("from own to found", "no setting differs that is searched");
  for (const Difference &one : all)
    row(&one == &all.front() ? "from own to found" : "", one.own + " -> " + one.found);
  for (const std::string &words : own.alone)
    row(&words == &own.alone.front() ? "the run's own alone" : "", words);
  return text;
}

OrderedJson foreignPlanJson(const ForeignPlan &own, const SearchResult &result, PlanGoal goal) {
  auto orNull = [](const auto &value) { return value ? OrderedJson(*value) : OrderedJson(); };
  OrderedJson json = foreign::foreignJson(own.request, own.model), mine;
  if (const std::optional<StepFigures> &figures = own.tried.attempt.figures) {
    mine["seconds_per_step"] = figures->seconds;
    mine["memory_bytes"] = figures->memory;
    mine["device_room_bytes"] = orNull(figures->room);
    mine["fits"] = orNull(figures->fits);
    mine["mfu"] = orNull(figures->mfu);
    mine["bubble"] = figures->bubble;
    mine["exposed_communication"] = figures->exposed;
    mine["dollars_per_step"] = orNull(figures->dollars);
    mine["ranks"] = figures->ranks;
    mine["hosts"] = figures->hosts;
  }
  mine["refused"] = own.tried.attempt.figures ? OrderedJson() : OrderedJson(own.tried.attempt.reason);
  mine["barred"] = own.barred.empty() ? OrderedJson() : OrderedJson(own.barred);
  mine["chosen"] = isChosen(result);
  mine["differs"] = OrderedJson::array();
  if (const Tried *found = bestFound(result, goal)) {
    mine["found_seconds_per_step"] = found->attempt.figures->seconds;
    mine["found_memory_bytes"] = found->attempt.figures->memory;
    for (const Difference &one : differences(own.tried.candidate, found->candidate))
      mine["differs"].push_back({{"setting", one.setting}, {"own", one.own}, {"found", one.found}});
  }
  mine["alone"] = own.alone;
  json["own_plan"] = mine;
  return json;
}

} // namespace npar::planner
