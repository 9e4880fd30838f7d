// Writes the chosen plan with its reasons.
#include "tools/lib/planner/search/PlanReport.h"

#include "engine/json/Json.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/Printable.h"
#include "engine/show/View.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>

namespace npar::planner {

using readable::humanBytes;
using readable::humanTime;
using readable::printable;
using readable::printableName;

namespace {

constexpr size_t mostRunners = 8;

/// Those that were simulated, the best first: what fits by the goal, then the rest by memory.
std::vector<size_t> ranking(const SearchResult &result, PlanGoal goal) {
  std::vector<size_t> found;
  for (size_t i = 0; i < result.tried.size(); ++i)
    if (result.tried[i].attempt.figures)
      found.push_back(i);
  auto key = [&](size_t index) {
    const Tried &tried = result.tried[index];
    std::optional<double> figure = goalOf(tried, goal);
    return std::pair(!figure, figure.value_or(static_cast<double>(tried.attempt.figures->memory)));
  };
  std::stable_sort(found.begin(), found.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  return found;
}

/// What a plan would take in place of the best: "would take 21.4 s (5.6 % more), 60.2 GiB".
std::string wouldTake(const Tried &tried, const Tried &best, PlanGoal goal) {
  const StepFigures &figures = *tried.attempt.figures, &own = *best.attempt.figures;
  std::string memory = humanBytes(static_cast<double>(figures.memory)), seconds = humanTime(figures.seconds);
  if (!tried.fits())
    return "would take " + humanBytes(static_cast<double>(figures.fullest)) + " per rank, which does not fit";
  double ratio =
      goal == PlanGoal::Memory ? static_cast<double>(figures.memory) / static_cast<double>(own.memory) : figures.seconds / own.seconds;
  double percent = 100 * (ratio - 1);
  std::string change = std::abs(percent) < 0.05 ? "the same" : fmt::format("{:.1f} % {}", std::abs(percent), percent > 0 ? "more" : "less");
  return goal == PlanGoal::Memory ? fmt::format("would take {} ({}), {}", memory, change, seconds)
                                  : fmt::format("would take {} ({}), {}", seconds, change, memory);
}

/// Why the best plan has what it has of a setting: of those that were tried with another value, the one with the fewest other settings
/// changed; of several the best one, of several meshes the nearest.
std::string reasonFor(const SearchResult &result, const Choices &fixes, PlanGoal goal, Setting setting) {
  for (const auto &[key, value] : fixes)
    for (const std::string &own : keysOf(setting))
      if (key == own)
        return "fixed by --fix";
  const Tried &best = result.tried[static_cast<size_t>(result.best)];
  const Candidate &winner = best.candidate;
  const Tried *nearest = nullptr;
  std::pair<int, double> least{settingCount + 1, 0}; // settings that differ, steps between meshes
  for (size_t index : ranking(result, goal)) {
    const Tried &tried = result.tried[index];
    std::pair<int, double> away{distance(tried.candidate, winner), setting == Setting::Mesh ? meshSteps(tried.candidate, winner) : 0};
    if (!same(tried.candidate, winner, setting) && away < least)
      least = away, nearest = &tried;
  }
  if (nearest && least.first == 1)
    return fmt::format("{} {}", wordsOf(nearest->candidate, setting), wouldTake(*nearest, best, goal));
  for (const Tried &tried : result.tried)
    if (!tried.attempt.figures && distance(tried.candidate, winner) == 1 && !same(tried.candidate, winner, setting))
      return fmt::format("{} is refused: {}", wordsOf(tried.candidate, setting), tried.attempt.reason);
  if (setting == Setting::Recompute && winner.splitsBackward())
    return fmt::format(
        "it is not searched with a backward in two tasks, as {} has it: what is computed again would be kept until the second",
        scheduleWord(winner));
  if (nearest && setting == Setting::Mesh) {
    std::string also;
    for (int other = 1; other < settingCount; ++other)
      if (!same(nearest->candidate, winner, static_cast<Setting>(other)))
        also += (also.empty() ? "" : ", ") + wordsOf(nearest->candidate, static_cast<Setting>(other));
    return fmt::format("{} with {} {}", wordsOf(nearest->candidate, setting), also, wouldTake(*nearest, best, goal));
  }
  if (nearest)
    return fmt::format("the nearest other one tried, {}, {}", nameOf(*nearest), wouldTake(*nearest, best, goal));
  return "nothing else was tried";
}

/// The setting that a line of the plan is about, with one space between words.
std::optional<Setting> settingOf(const std::string &line) {
  size_t begin = line.find_first_not_of(' ');
  auto begins = [&](const char *word) { return begin != std::string::npos && line.compare(begin, std::strlen(word), word) == 0; };
  if (begins("mesh "))
    return Setting::Mesh;
  if (begins("micro "))
    return Setting::Micro;
  if (begins("store "))
    return Setting::Zero;
  if (begins("recompute "))
    return Setting::Recompute;
  if (begins("place "))
    return Setting::Place;
  if (begins("bucket "))
    return Setting::Bucket;
  if (begins("experts buffer "))
    return Setting::Buffer;
  if (begins("seq -> tp"))
    return Setting::Sequence;
  if (line.find("-> tp") != std::string::npos)
    return Setting::Split;
  if (begins("seq -> cp"))
    return Setting::Context;
  if (line.find("-> pp by ") != std::string::npos)
    return Setting::Schedule;
  return std::nullopt;
}

std::string withReasons(const std::string &text, const SearchResult &result, const Choices &fixes, PlanGoal goal) {
  std::istringstream lines(text);
  std::string line, annotated;
  bool inPlan = false;
  std::optional<Setting> said;
  while (std::getline(lines, line)) {
    inPlan = (inPlan || line.rfind("plan ", 0) == 0) && line != "}";
    std::string spaced;
    for (char letter : line)
      if (letter != ' ' || spaced.empty() || spaced.back() != ' ')
        spaced += letter;
    std::optional<Setting> setting = inPlan ? settingOf(spaced) : std::nullopt;
    if (setting == said) // two rules of one setting
      setting.reset();
    else if (setting)
      said = setting;
    annotated += setting ? fmt::format("{:<48} # {}", line, reasonFor(result, fixes, goal, *setting)) : line;
    annotated += '\n';
  }
  return annotated;
}

/// Why the best plan lacks what no line of it says.
std::string reasonsForNone(const SearchResult &result, const Choices &fixes, PlanGoal goal) {
  const Tried &best = result.tried[static_cast<size_t>(result.best)];
  const Candidate &c = best.candidate;
  std::string text;
  auto say = [&](bool lacks, const char *words, Setting setting) {
    if (lacks)
      text += fmt::format("# {}: {}\n", words, reasonFor(result, fixes, goal, setting));
  };
  say(c.dp > 1 && c.zero == 0, "No ZeRO", Setting::Zero);
  say(!c.recomputes(), "No recomputation", Setting::Recompute);
  say(c.tp > 1 && !c.sequence, "No sequence parallelism", Setting::Sequence);
  say(c.dp * c.cp > 1 && c.bucket == 0, "Gradients without buckets", Setting::Bucket);
  say(best.attempt.figures->worst && c.buffer == 0, "No buffer for experts: rows for the worst case", Setting::Buffer);
  say(c.dp > 1 && c.pp > 1 && c.place == PlaceOrder::Mesh, "Ranks on hosts in the order of the mesh", Setting::Place);
  return text;
}

/// The reason why a plan is behind the best: the memory that it lacks, or the time, and the share of it that is larger than the best
/// plan's.
std::string lack(const Tried &tried, const Tried &best) {
  const StepFigures &figures = *tried.attempt.figures, &other = *best.attempt.figures;
  if (!tried.fits())
    return fmt::format("{} less memory", humanBytes(static_cast<double>(figures.fullest) - figures.room.value_or(0)));
  double less = 1 - other.seconds / figures.seconds;
  if (less < 5e-4 && figures.memory <= other.memory * 1.0005)
    return "nothing: it is equally good";
  std::string text =
      less > 0 ? fmt::format("{:.1f} % less time", 100 * less)
               : fmt::format("{} less memory", humanBytes(static_cast<double>(figures.memory) - static_cast<double>(other.memory)));
  double bubble = figures.bubble - other.bubble, exposed = figures.exposed - other.exposed;
  if (std::max(bubble, exposed) > 0.01)
    text += bubble > exposed
                ? fmt::format("; its bubble is {:.1f} %, not {:.1f} %", 100 * figures.bubble, 100 * other.bubble)
                : fmt::format("; it communicates {:.1f} % of the time, not {:.1f} %", 100 * figures.exposed, 100 * other.exposed);
  return text;
}

/// A comment on the worst load of experts.
std::string worstText(const StepFigures &figures) {
  return figures.worst
             ? fmt::format("# Times are those of a balanced load of the experts. The worst load takes {} ({:.2f} x), in the same memory.\n",
                           humanTime(*figures.worst), *figures.worst / figures.seconds)
             : "";
}

/// A comment on the blocks of each stage of an uneven machine; equal stages in a row share a line.
std::string dealText(const std::vector<StageDeal> &stages) {
  if (stages.empty())
    return "";
  if (stages.size() == 1)
    return fmt::format("# One stage on {}, at the pace of the slowest.\n", fmt::join(stages[0].kinds, " and "));
  std::vector<std::string> deals;
  for (size_t first = 0, end = 0; first < stages.size(); first = end) {
    while (end < stages.size() && stages[end].blocks == stages[first].blocks && stages[end].kinds == stages[first].kinds)
      ++end;
    deals.push_back(fmt::format("{}{} on {}", end - first == 1 ? "" : fmt::format("{} stages of ", end - first), stages[first].blocks,
                                fmt::join(stages[first].kinds, " and ")));
  }
  return fmt::format("# Blocks of the stages, dealt by the pace of their slowest hosts: {}.\n", fmt::join(deals, ", "));
}

const char *goalWord(PlanGoal goal) { return goal == PlanGoal::Speed ? "speed" : goal == PlanGoal::Memory ? "memory" : "money"; }

} // namespace

std::string planText(const PlanTask &task, const SearchResult &result, const SearchOptions &options, const std::string &command,
                     const std::string &remarks) {
  PlanGoal goal = options.goal;
  const Tried &best = result.tried[static_cast<size_t>(result.best)];
  const StepFigures &figures = *best.attempt.figures;
  std::string text = fmt::format("# Planned for {} on {} host{} of '{}': {} per training step of {} sequences", goalWord(goal), task.hosts,
                                 task.hosts == 1 ? "" : "s", task.machine.name, humanTime(figures.seconds), task.batch);
  if (figures.mfu)
    text += fmt::format(", {:.1f} % MFU", 100 * *figures.mfu);
  text += fmt::format(",\n# {}{} on the largest rank. Bubble {:.1f} %, exposed communication {:.1f} %.\n",
                      humanBytes(static_cast<double>(figures.fullest)),
                      figures.room ? fmt::format(" of {}", humanBytes(*figures.room)) : "", 100 * figures.bubble, 100 * figures.exposed);
  text += worstText(figures) + dealText(figures.stages);
  text += fmt::format("# Of {} candidates, {} were compiled and simulated, {} cannot fit because of their parameters alone; {}.\n",
                      result.candidates, result.tried.size(), result.pruned,
                      result.complete ? "no other candidate can be better, by its bound"
                      : result.local  ? "no candidate that differs from the best in one setting is better; others can be"
                                      : "others can be better: the search ended before all were compiled");
  text += "# A comment behind a line names another value there, and what it would take with the other lines unchanged.\n";
  text += "#   " + printableName(command) + "\n"; // a text is UTF-8, which names of files may not be
  std::istringstream lines(printable(remarks));
  for (std::string line; std::getline(lines, line);)
    text += line.empty() ? "#\n" : "# " + line + "\n";
  text += "\n";
  std::string plan = withReasons(textOf(task, best), result, options.fixes, goal);
  size_t at = plan.find("\nplan ");
  plan.insert(at == std::string::npos ? 0 : at + 1, reasonsForNone(result, options.fixes, goal));
  text += plan + "\n# Runners-up, and what each would need to win:\n";
  size_t shown = 0;
  for (size_t index : ranking(result, goal))
    if (index != static_cast<size_t>(result.best) && shown++ < mostRunners)
      text += fmt::format("#   {:<86} {:>10} {:>10}   {}\n", nameOf(result.tried[index]),
                          humanTime(result.tried[index].attempt.figures->seconds),
                          humanBytes(static_cast<double>(result.tried[index].attempt.figures->memory)), lack(result.tried[index], best));
  return text;
}

OrderedJson planJson(const PlanTask &task, const SearchResult &result, PlanGoal goal, const std::string &text) {
  auto orNull = [](const auto &value) { return value ? OrderedJson(*value) : OrderedJson(); };
  auto one = [&](const Tried &tried) {
    OrderedJson json, choices = OrderedJson::object();
    for (const auto &[key, value] : choicesOf(tried.candidate))
      choices[key] = value;
    json["choices"] = choices;
    if (!tried.text.empty())
      json["from_run"] = true;
    if (const std::optional<StepFigures> &figures = tried.attempt.figures) {
      json["seconds_per_step"] = figures->seconds;
      if (figures->worst)
        json["worst_seconds_per_step"] = *figures->worst;
      json["memory_bytes"] = figures->memory;
      json["fits"] = orNull(figures->fits);
      json["mfu"] = orNull(figures->mfu);
      json["bubble"] = figures->bubble;
      json["exposed_communication"] = figures->exposed;
      json["dollars_per_step"] = orNull(figures->dollars);
    }
    json["refused"] = tried.attempt.figures ? OrderedJson() : OrderedJson(tried.attempt.reason);
    return json;
  };
  OrderedJson tried = OrderedJson::array();
  for (const Tried &each : result.tried)
    tried.push_back(one(each));
  return OrderedJson{
      {"model", task.names.name}, {"machine", task.machine.name},
      {"hosts", task.hosts},      {"batch", task.batch},
      {"goal", goalWord(goal)},   {"candidates", result.candidates},
      {"pruned", result.pruned},  {"complete", result.complete},
      {"local", result.local},    {"best", result.best < 0 ? OrderedJson() : one(result.tried[static_cast<size_t>(result.best)])},
      {"tried", tried},           {"text", text}};
}

} // namespace npar::planner
