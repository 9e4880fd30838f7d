// Prints a View for people: the stages, the timeline in letters, what makes the memory's peak, the collectives with their causes.
#include "engine/show/View.h"

#include "engine/readable/HumanUnits.h"
#include "engine/readable/TableRow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace npar::show {

using readable::humanBytes;
using readable::humanTime;
using readable::TableRow;

namespace {

std::string cut(const std::string &text, size_t width) { return text.size() <= width ? text : text.substr(0, width - 3) + "..."; }

/// For each column the phase that fills most of it; '.' is waiting.
std::string lettersOf(const ClassView &one, double span, size_t columns) {
  std::vector<std::vector<double>> filled(columns, std::vector<double>(phaseLooks().size() + 1));
  double column = span / static_cast<double>(columns);
  for (const ViewTask &task : one.tasks) {
    const Look &look = lookOf(one.fragments[task.fragment].phase);
    size_t kind = phaseLooks().size();
    for (size_t i = 0; i < phaseLooks().size(); ++i)
      if (phaseLooks()[i].letter == look.letter)
        kind = i;
    for (size_t c = static_cast<size_t>(task.begin / column); c < columns && static_cast<double>(c) * column < task.end; ++c)
      filled[c][kind] += std::min(task.end, static_cast<double>(c + 1) * column) - std::max(task.begin, static_cast<double>(c) * column);
  }
  std::string text;
  for (const std::vector<double> &shares : filled) {
    auto most = std::max_element(shares.begin(), shares.end());
    double all = 0;
    for (double share : shares)
      all += share;
    size_t kind = static_cast<size_t>(most - shares.begin());
    text += all < column / 2 ? '.' : kind < phaseLooks().size() ? phaseLooks()[kind].letter : '?';
  }
  return text;
}

std::string stagesText(const View &view) {
  std::string text = fmt::format("\nstages, {} per {} of {}; waiting is measured from the first {} task\n", view.origin, view.step,
                                 humanTime(view.span), view.trains ? "forward to the last backward" : "to the last forward");
  auto row = [&](const std::array<std::string, 8> &cells) {
    text += TableRow(2)
                .left(cells[0], 6)
                .left(cells[1], 22)
                .right(cells[2], 10)
                .right(cells[3], 10)
                .right(cells[4], 9)
                .right(cells[5], 9)
                .right(cells[6], 13)
                .right(cells[7], 13)
                .str();
  };
  row({"stage", "ranks", "busy", "collect.", "waits", "balance", "live peak", "arena"});
  for (const ClassView &one : view.classes)
    row({fmt::format("{}", one.stage), one.ranksWithin(21), humanTime(one.busy), humanTime(one.communication),
         fmt::format("{:.1f} %", 100 * one.bubble), fmt::format("{:.2f}x", one.balance),
         humanBytes(static_cast<double>(one.memory.peakBytes)), humanBytes(static_cast<double>(one.arenaBytes))});
  return text + fmt::format("  bubble {:.1f} % of all stages' time\n", 100 * view.bubble);
}

std::string timelineText(const View &view, size_t width) {
  size_t left = 10, columns = width > left + 20 ? width - left : 20;
  std::string letters;
  for (const Look &look : phaseLooks())
    letters += fmt::format("{} {}, ", look.letter, look.word);
  std::string text = fmt::format("\ntimeline, {} per letter: {}. waiting\n", humanTime(view.span / static_cast<double>(columns)), letters);
  for (const ClassView &one : view.classes)
    text += fmt::format("  {:>4}    {}\n", one.stage, lettersOf(one, view.span, columns));
  return text;
}

std::string peakText(const View &view) {
  auto most = std::max_element(view.classes.begin(), view.classes.end(),
                               [](const auto &a, const auto &b) { return a.memory.peakBytes < b.memory.peakBytes; });
  std::string text = fmt::format("\nlive memory peaks on stage {} ({}) with {} at {}, by\n", most->stage, most->ranks,
                                 humanBytes(static_cast<double>(most->memory.peakBytes)), humanTime(most->memory.peakAt));
  size_t shown = 0;
  uint64_t rest = 0, others = 0;
  for (const PeakTensor &tensor : most->memory.peak) {
    if (shown++ >= 10) {
      rest += tensor.bytes, ++others;
      continue;
    }
    std::string times = tensor.count > 1 ? fmt::format("{} micro-batches", tensor.count) : "";
    text += TableRow(2)
                .right(humanBytes(static_cast<double>(tensor.bytes)), 12)
                .text("  ")
                .left(lookOf(tensor.kind).name, 12)
                .left(cut(tensor.name, 39), 40)
                .left(times, 18)
                .text(tensor.place)
                .str();
  }
  if (others)
    text += fmt::format("  {:>12}  in {} more\n", humanBytes(static_cast<double>(rest)), others);
  return text;
}

std::string collectivesText(const View &view) {
  std::string text;
  for (const ClassView &one : view.classes) {
    if (one.collectives.empty())
      continue;
    // The inner stages of a long pipeline have the same collectives.
    if (&one != &view.classes.front() && &one != &view.classes.back() && view.classes.size() > 4)
      continue;
    text += fmt::format("\ncollectives of stage {} ({}) and their causes\n", one.stage, one.ranks);
    size_t shown = 0;
    for (const CollectiveUse &use : one.collectives) {
      if (shown++ == 12) {
        text += fmt::format("  ... and {} more; --json has all\n", one.collectives.size() - 12);
        break;
      }
      text += TableRow(2)
                  .right(humanBytes(static_cast<double>(use.bytes)), 12)
                  .right(fmt::format("{} time{} ", use.count, use.count == 1 ? " " : "s"), 14)
                  .left(use.kind, 16)
                  .left(use.over, 8)
                  .left(use.phase, 17)
                  .text(cut(use.path, 40))
                  .str();
      std::string place = use.places.front(), cause = describe(use.cause);
      if (use.places.size() > 1)
        place += fmt::format(" and {} more line{}", use.places.size() - 1, use.places.size() > 2 ? "s" : "");
      text += fmt::format("  {:>12}   {}{}{}\n", "", place, place.empty() || cause.empty() ? "" : ": ", cause);
    }
  }
  return text;
}

} // namespace

std::string viewText(const View &view, size_t width) {
  if (view.classes.empty() || view.span <= 0)
    return "";
  return stagesText(view) + timelineText(view, width) + peakText(view) + collectivesText(view);
}

std::string comparisonText(const std::vector<const View *> &views) {
  auto row = [](const std::string &step, const std::string &bubble, const std::string &peak, const std::string &sent) {
    return TableRow(2).right(step, 10).right(bubble, 10).right(peak, 13).right(sent, 13);
  };
  std::string text = "\ncompared; live peak and sent bytes are those of the rank that has most\n" + row("step", "bubble", "live peak", "sent").str();
  for (const View *view : views) {
    uint64_t peak = 0, sent = 0;
    for (const ClassView &one : view->classes)
      peak = std::max(peak, one.memory.peakBytes), sent = std::max(sent, one.sentBytes);
    text += row(humanTime(view->span), fmt::format("{:.1f} %", 100 * view->bubble), humanBytes(static_cast<double>(peak)),
                humanBytes(static_cast<double>(sent)))
                .text("   " + view->title)
                .str();
  }
  return text;
}

} // namespace npar::show
