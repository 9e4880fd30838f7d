// Words the answers of `npar explain`: sentences, text and JSON.
#include "tools/lib/planner/search/Explain.h"

#include "engine/json/Json.h"
#include "engine/readable/HumanUnits.h"
#include "engine/show/View.h"

#include <cmath>
#include <fmt/format.h>

namespace npar::planner {

using readable::humanBytes;
using readable::humanTime;

namespace {

constexpr double noticed = 5e-4; ///< a share of time or memory below which two plans count as equal

std::string bytesOf(const StepFigures &figures) { return humanBytes(static_cast<double>(figures.memory)); }

std::string roomOf(const StepFigures &figures) { return figures.room ? " of " + humanBytes(*figures.room) : ""; }

/// Compares two plans that fit: "2.1 s a step instead of 2.4 s (12.5 % less) and 20 GiB instead of 30 GiB".
void decideByFigures(Answer &answer, const StepFigures &with, const StepFigures &without) {
  double time = with.seconds / without.seconds - 1, memory = static_cast<double>(with.memory) / static_cast<double>(without.memory) - 1;
  std::string seconds = std::abs(time) < noticed
                            ? fmt::format("the same {} a step", humanTime(with.seconds))
                            : fmt::format("{} a step instead of {} ({:.1f} % {})", humanTime(with.seconds), humanTime(without.seconds),
                                          100 * std::abs(time), time < 0 ? "less" : "more");
  std::string bytes = std::abs(memory) < noticed ? fmt::format("the same memory ({})", bytesOf(with))
                                                 : fmt::format("{} instead of {}", bytesOf(with), bytesOf(without));
  if (std::abs(time) >= noticed) {
    answer.yes = time < 0;
    bool saves = !answer.yes && memory <= -noticed;
    answer.sentence = fmt::format("{}: {} {} {}", answer.yes ? "Yes" : "No", seconds, saves ? "for" : "and", bytes);
    if (saves)
      answer.sentence += without.room ? ", which both fit" : "";
    return;
  }
  answer.yes = memory <= -noticed;
  answer.sentence =
      answer.yes ? fmt::format("Yes: it costs no time, {}, and takes {}", seconds, bytes) : fmt::format("No: {} and {}", seconds, bytes);
}

/// "; 17.4 s at the worst load of experts"
std::string worstOf(const StepFigures &figures) {
  return figures.worst ? fmt::format("; {} at the worst load of experts", humanTime(*figures.worst)) : "";
}

OrderedJson planJson(const std::optional<Tried> &tried) {
  if (!tried)
    return OrderedJson();
  auto orNull = [](const auto &value) { return value ? OrderedJson(*value) : OrderedJson(); };
  OrderedJson choices = OrderedJson::object();
  for (const auto &[key, value] : choicesOf(tried->candidate))
    choices[key] = value;
  OrderedJson json{{"plan", nameOf(tried->candidate)}, {"choices", choices}};
  if (const std::optional<StepFigures> &figures = tried->attempt.figures) {
    json["ranks"] = figures->ranks;
    json["seconds_per_step"] = figures->seconds;
    if (figures->worst)
      json["worst_seconds_per_step"] = *figures->worst;
    json["memory_bytes"] = figures->memory;
    json["fits"] = orNull(figures->fits);
    json["mfu"] = orNull(figures->mfu);
    json["bubble"] = figures->bubble;
    json["exposed_communication"] = figures->exposed;
  }
  json["refused"] = tried->attempt.figures ? OrderedJson() : OrderedJson(tried->attempt.reason);
  return json;
}

std::string planLine(const char *word, const Tried &tried) {
  const std::optional<StepFigures> &figures = tried.attempt.figures;
  return fmt::format("    {:<8} {:>9} {:>10}   {}{}{}\n", word, figures ? humanTime(figures->seconds) : "refused",
                     figures ? bytesOf(*figures) : "", nameOf(tried.candidate), tried.fits() || !figures ? "" : " (does not fit)",
                     figures ? worstOf(*figures) : "");
}

} // namespace

void decide(Answer &answer, Setting setting, const std::string &none) {
  if (!answer.with || !answer.without) {
    answer.sentence = none;
    return;
  }
  for (int other = 0; other < settingCount; ++other)
    if (Setting one = static_cast<Setting>(other); one != setting && !same(answer.with->candidate, answer.without->candidate, one))
      answer.also.push_back(wordsOf(answer.with->candidate, one) + " beside " + wordsOf(answer.without->candidate, one));
  const std::optional<StepFigures> &with = answer.with->attempt.figures, &without = answer.without->attempt.figures;
  answer.yes = answer.with->fits() && !answer.without->fits();
  if (!with)
    answer.sentence = "No: it is refused here: " + answer.with->attempt.reason;
  else if (!without)
    answer.sentence = fmt::format("{}: without it the plan is refused: {}", answer.yes ? "Yes" : "No", answer.without->attempt.reason);
  else if (answer.with->fits() && answer.without->fits())
    decideByFigures(answer, *with, *without);
  else if (answer.with->fits())
    answer.sentence = fmt::format("Yes: without it a rank takes {}{}, which does not fit; with it {}, and {} a step", bytesOf(*without),
                                  roomOf(*without), bytesOf(*with), humanTime(with->seconds));
  else if (answer.without->fits())
    answer.sentence = fmt::format("No: with it a rank takes {}{}, which does not fit; without it {}, and {} a step", bytesOf(*with),
                                  roomOf(*with), bytesOf(*without), humanTime(without->seconds));
  else
    answer.sentence = fmt::format("No: a rank takes {} with it and {} without it{}, and neither fits", bytesOf(*with), bytesOf(*without),
                                  with->room ? " of " + humanBytes(*with->room) : "");
}

std::string explanationText(const PlanTask &task, const Explanation &explanation) {
  const Tried &best = explanation.best;
  const StepFigures &figures = *best.attempt.figures;
  std::string text =
      fmt::format("{} on {} host{} of '{}', {} devices, {} sequences per training step\nbest plan: {}\n           {} a step{}, {}{} on the "
                  "largest rank{}; {} plans simulated\n",
                  task.names.name, task.hosts, task.hosts == 1 ? "" : "s", task.machine.name, figures.ranks, task.batch,
                  nameOf(best.candidate), humanTime(figures.seconds), figures.mfu ? fmt::format(", {:.1f} % MFU", 100 * *figures.mfu) : "",
                  bytesOf(figures), roomOf(figures), worstOf(figures), explanation.simulated);
  for (const Answer &answer : explanation.answers) {
    text += "\n" + answer.question + "\n  " + answer.sentence + ".\n";
    if (!answer.words.empty())
      text += fmt::format("    in the plan: {}\n", fmt::join(answer.words, "; "));
    if (answer.with)
      text += planLine("with", *answer.with);
    if (answer.without)
      text += planLine("without", *answer.without);
  }
  return text;
}

OrderedJson explanationJson(const PlanTask &task, const Explanation &explanation) {
  OrderedJson questions = OrderedJson::array();
  for (const Answer &answer : explanation.answers)
    questions.push_back({{"key", answer.key},
                         {"question", answer.question},
                         {"answer", answer.yes ? "yes" : "no"},
                         {"sentence", answer.sentence},
                         {"words", answer.words},
                         {"also", answer.also},
                         {"with", planJson(answer.with)},
                         {"without", planJson(answer.without)}});
  return OrderedJson{{"model", task.names.name}, {"machine", task.machine.name},       {"hosts", task.hosts},
                     {"batch", task.batch},      {"simulated", explanation.simulated}, {"best", planJson(explanation.best)},
                     {"questions", questions}};
}

} // namespace npar::planner
