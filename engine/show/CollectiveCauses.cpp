// Groups equal collectives and finds the rules that ask for them.
#include "engine/show/CollectiveCauses.h"

#include "engine/program/Words.h"
#include "engine/readable/HumanUnits.h"
#include "engine/readable/TableRow.h"
#include "engine/show/CommonPath.h"
#include "engine/show/ViewJson.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace npar::show {

using readable::humanBytes;
using readable::TableRow;

namespace {

std::string namesOf(const std::vector<std::pair<std::string, std::string>> &rules) {
  std::string text;
  for (size_t i = 0; i < rules.size(); ++i)
    text += (i == 0 ? "" : i + 1 < rules.size() ? ", " : " or ") + ("'" + rules[i].first + "'");
  return text;
}

std::string remedyOf(const WhyEntry &entry) {
  const program::CauseT &cause = entry.cause;
  switch (cause.kind) {
  case program::CauseKind::Accumulated:
    return entry.rules.empty() ? "nothing: gradients of shares of the batch must be added"
                               : "nothing while " + namesOf(entry.rules) +
                                     " deals out what the gradients sum over; it runs once per training step, whatever the micro-batches";
  case program::CauseKind::AddsOwned:
    return "'clip none' in the train block; with clipping nothing while ranks own different parameters" +
           (entry.rules.empty() ? ", by stages" : ", by stages or " + namesOf(entry.rules));
  case program::CauseKind::SumsOverSplit:
  case program::CauseKind::ReducesSplit:
    if (!entry.rules.empty() && !cause.axes.empty() && !cause.axes.front()->axis.empty())
      return fmt::format("leaving out {}, or exempting the operation above it: '{} -> none in op {}'", namesOf(entry.rules),
                         cause.axes.front()->axis, cause.operation);
    break;
  case program::CauseKind::None:
  case program::CauseKind::WantsSplit:
  case program::CauseKind::WantsWhole:
  case program::CauseKind::WantsOrder:
  case program::CauseKind::StoresShare:
  case program::CauseKind::UpdatedInShares:
  case program::CauseKind::StoredInShares:
  case program::CauseKind::UpdatesShare:
  case program::CauseKind::PassesRound:
    break;
  }
  return entry.rules.empty() ? "no rule of the plan asks for it" : "leaving out " + namesOf(entry.rules);
}

std::string layoutText(const std::string &layout) { return layout.empty() ? "a scalar on each rank" : layout; }

std::string timesText(uint64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

std::string totalText(const std::vector<WhyEntry> &entries) {
  uint64_t count = 0, sent = 0;
  for (const WhyEntry &entry : entries)
    count += entry.count, sent += entry.sent;
  return fmt::format("{} collective{}, {} sent", count, count == 1 ? "" : "s", humanBytes(static_cast<double>(sent)));
}

} // namespace

uint64_t sentBytes(program::CollectiveKind kind, uint64_t inputBytes, int64_t members) {
  uint64_t n = static_cast<uint64_t>(std::max<int64_t>(1, members));
  switch (kind) {
  case program::CollectiveKind::AllGather:
    return inputBytes * (n - 1);
  case program::CollectiveKind::Permute:
    return n > 1 ? inputBytes : 0;
  case program::CollectiveKind::AllReduce:
    return 2 * inputBytes * (n - 1) / n;
  case program::CollectiveKind::ReduceScatter:
  case program::CollectiveKind::AllToAll:
    break;
  }
  return inputBytes * (n - 1) / n;
}

std::vector<WhyEntry> whyOf(const View &view, const ClassView &part, WhyOrder order) {
  std::vector<uint64_t> times(part.fragments.size());
  for (const ViewTask &task : part.tasks)
    ++times[task.fragment];
  std::vector<WhyEntry> entries;
  std::map<std::vector<std::string>, size_t> known;
  for (size_t index = 0; index < part.fragments.size(); ++index)
    for (const ViewStep &step : part.fragments[index].steps) {
      if (step.kind != program::StepKind::Collective || !times[index])
        continue;
      const ViewMessage &message = step.message;
      const ViewLabel &label = view.labels[step.label];
      std::string phase = lookOf(part.fragments[index].phase).word;
      program::CauseT cause = withoutPath(message.cause);
      std::vector<std::string> key = {message.kind, message.over, phase, describe(cause), message.from, message.to};
      for (uint32_t rule : message.rules)
        key.push_back(view.labels[rule].text + view.labels[rule].place());
      auto [place, isNew] = known.try_emplace(key, entries.size());
      if (isNew) {
        entries.push_back(
            {message.kind, message.over, phase, message.from, message.to, message.cause, label.path, {}, {}, 0, 0, 0, 0, 0, ""});
        for (uint32_t rule : message.rules)
          entries.back().rules.emplace_back(view.labels[rule].text, view.labels[rule].place());
      }
      WhyEntry &entry = entries[place->second];
      if (!isNew) {
        entry.path = joinedPath(entry.path, label.path);
        if (entry.cause.variable != message.cause.variable)
          entry.cause = cause;
      }
      if (std::string at = label.place(); !at.empty() && std::find(entry.places.begin(), entry.places.end(), at) == entry.places.end())
        entry.places.push_back(at);
      entry.steps += 1;
      entry.count += times[index];
      entry.bytes += times[index] * step.bytes;
      entry.sent += times[index] * sentBytes(message.collective, step.bytes, message.members);
      entry.worst += times[index] * sentBytes(message.collective, step.worst, message.members);
    }
  for (WhyEntry &entry : entries)
    entry.remedy = remedyOf(entry);
  if (order == WhyOrder::LargestFirst)
    std::stable_sort(entries.begin(), entries.end(), [](const WhyEntry &a, const WhyEntry &b) { return a.sent > b.sent; });
  return entries;
}

std::string whyText(const View &view, WhyOrder order) {
  std::string text = fmt::format("{}\n", view.title);
  for (const ClassView &part : view.classes) {
    std::vector<WhyEntry> entries = whyOf(view, part, order);
    text += fmt::format("\nwhy stage {} ({}) communicates, per {} and rank: {}\n", part.stage, part.ranks, view.step, totalText(entries));
    for (const WhyEntry &entry : entries) {
      std::string each = entry.bytes % entry.count == 0 ? humanBytes(static_cast<double>(entry.bytes / entry.count)) + " each, " : "";
      text += "\n" + TableRow(2)
                         .left(entry.kind, 15)
                         .left("over " + entry.over, 13)
                         .left(entry.phase, 10)
                         .text(fmt::format("{}{} x", entry.path.empty() ? "" : entry.path + ": ", entry.steps))
                         .str();
      std::string worst = entry.worst > entry.sent ? ", at most " + humanBytes(static_cast<double>(entry.worst)) : "";
      text += fmt::format("    how often    {}, {}{} in all, {} sent{}\n", timesText(entry.count), each,
                          humanBytes(static_cast<double>(entry.bytes)), humanBytes(static_cast<double>(entry.sent)), worst);
      text += fmt::format("    cause        {}\n", describe(entry.cause));
      for (const auto &[rule, place] : entry.rules)
        text += fmt::format("    asked for by {}{}\n", place.empty() ? "" : place + "  ", rule);
      for (const std::string &place : entry.places)
        text += fmt::format("    computed at  {}\n", place);
      text += fmt::format("    from         {}\n    to           {}\n", layoutText(entry.from), layoutText(entry.to));
      text += fmt::format("    removed by   {}\n", entry.remedy);
    }
    if (std::string volume = volumeText(part.volume); !volume.empty())
      text += "\n  " + volume + "\n";
  }
  return text;
}

OrderedJson whyJson(const View &view, const ClassView &part, WhyOrder order) {
  OrderedJson list = OrderedJson::array();
  for (const WhyEntry &entry : whyOf(view, part, order)) {
    OrderedJson rules = OrderedJson::array();
    for (const auto &[rule, place] : entry.rules)
      rules.push_back(OrderedJson{{"rule", rule}, {"source", place}});
    list.push_back(OrderedJson{{"kind", entry.kind},
                               {"over", entry.over},
                               {"phase", entry.phase},
                               {"path", entry.path},
                               {"steps", entry.steps},
                               {"count", entry.count},
                               {"bytes", entry.bytes},
                               {"sent_bytes", entry.sent},
                               {"worst_sent_bytes", entry.worst},
                               {"from", entry.from},
                               {"to", entry.to},
                               {"cause", describe(entry.cause)},
                               {"reason", reasonJson(entry.cause)},
                               {"rules", rules},
                               {"source", entry.places},
                               {"remedy", entry.remedy}});
  }
  return list;
}

} // namespace npar::show
