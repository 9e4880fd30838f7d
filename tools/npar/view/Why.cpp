// Groups equal collectives and says what asks for them.
#include "tools/npar/view/Why.h"

#include "tools/npar/view/Alike.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace npar::driver {
namespace {

/// The text between the first two quotes after `word`.
std::string quotedAfter(const std::string &text, const std::string &word) {
  size_t begin = text.find(word + "'");
  if (begin == std::string::npos)
    return "";
  begin += word.size() + 1;
  return text.substr(begin, text.find('\'', begin) - begin);
}

std::string namesOf(const std::vector<std::pair<std::string, std::string>> &rules) {
  std::string text;
  for (size_t i = 0; i < rules.size(); ++i)
    text += (i == 0 ? "" : i + 1 < rules.size() ? ", " : " or ") + ("'" + rules[i].first + "'");
  return text;
}

std::string remedyOf(const WhyEntry &entry) {
  std::string operation = entry.cause.substr(0, 1) == "'" ? quotedAfter(entry.cause, "") : "";
  if (entry.cause.find("was accumulated from") != std::string::npos)
    return entry.rules.empty() ? "nothing: gradients of shares of the batch must be added"
                               : "nothing while " + namesOf(entry.rules) +
                                     " deals out what the gradients sum over; it runs once per training step, whatever the micro-batches";
  if (operation == "square_sums")
    return "'clip none' in the train block; with clipping nothing while ranks own different parameters" +
           (entry.rules.empty() ? ", by stages" : ", by stages or " + namesOf(entry.rules));
  if (entry.rules.empty())
    return "no rule of the plan asks for it";
  std::string axis = quotedAfter(entry.cause, "sums over ");
  if (axis.empty())
    axis = quotedAfter(entry.cause, "reduces over ");
  if (!axis.empty() && !operation.empty())
    return fmt::format("leaving out {}, or exempting the operation: '{} -> none in op {}'", namesOf(entry.rules), axis, operation);
  return "leaving out " + namesOf(entry.rules);
}

std::string layoutText(const std::string &layout) { return layout.empty() ? "a scalar on each rank" : layout; }

std::string timesText(uint64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

} // namespace

uint64_t sentBytes(const std::string &kind, uint64_t inputBytes, int64_t members) {
  uint64_t n = static_cast<uint64_t>(std::max<int64_t>(1, members));
  if (kind == "all_gather")
    return inputBytes * (n - 1);
  if (kind == "permute")
    return n > 1 ? inputBytes : 0;
  return (kind == "all_reduce" ? 2 : 1) * inputBytes * (n - 1) / n;
}

std::vector<WhyEntry> whyOf(const View &view, const ClassView &part) {
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
      std::string phase = lookOf(part.fragments[index].phase).word, cause = withoutPaths(message.cause);
      std::vector<std::string> key = {message.kind, message.over, phase, cause, message.from, message.to};
      for (uint32_t rule : message.rules)
        key.push_back(view.labels[rule].text + view.labels[rule].place());
      auto [place, isNew] = known.try_emplace(key, entries.size());
      if (isNew) {
        entries.push_back({message.kind, message.over, phase, message.cause, message.from, message.to, label.path, {}, {}, 0, 0, 0, 0, ""});
        for (uint32_t rule : message.rules)
          entries.back().rules.emplace_back(view.labels[rule].text, view.labels[rule].place());
      }
      WhyEntry &entry = entries[place->second];
      if (!isNew) {
        entry.path = joinedPath(entry.path, label.path);
        entry.cause = entry.cause == message.cause ? entry.cause : cause;
      }
      if (std::string at = label.place(); !at.empty() && std::find(entry.places.begin(), entry.places.end(), at) == entry.places.end())
        entry.places.push_back(at);
      entry.steps += 1;
      entry.count += times[index];
      entry.bytes += times[index] * step.bytes;
      entry.sent += times[index] * sentBytes(message.kind, step.bytes, message.members);
    }
  for (WhyEntry &entry : entries)
    entry.remedy = remedyOf(entry);
  return entries;
}

std::string whyText(const View &view) {
  std::string text = fmt::format("{}\n", view.title);
  for (const ClassView &part : view.classes) {
    std::vector<WhyEntry> entries = whyOf(view, part);
    text += fmt::format("\nwhy stage {} ({}) communicates, per training step and rank\n", part.stage, part.ranks);
    if (entries.empty())
      text += "  it has no collective\n";
    for (const WhyEntry &entry : entries) {
      std::string each = entry.bytes % entry.count == 0 ? humanBytes(static_cast<double>(entry.bytes / entry.count)) + " each, " : "";
      text += fmt::format("\n  {:<15}over {:<8}{:<10}{}{}\n", entry.kind, entry.over, entry.phase,
                          entry.path.empty() ? "" : entry.path + ": ", entry.steps == 1 ? "1 x" : fmt::format("{} x", entry.steps));
      text += fmt::format("    how often    {}, {}{} in all, {} sent\n", timesText(entry.count), each,
                          humanBytes(static_cast<double>(entry.bytes)), humanBytes(static_cast<double>(entry.sent)));
      text += fmt::format("    cause        {}\n", entry.cause);
      for (const auto &[rule, place] : entry.rules)
        text += fmt::format("    asked for by {}{}\n", place.empty() ? "" : place + "  ", rule);
      for (const std::string &place : entry.places)
        text += fmt::format("    computed at  {}\n", place);
      text += fmt::format("    from         {}\n    to           {}\n", layoutText(entry.from), layoutText(entry.to));
      text += fmt::format("    removed by   {}\n", entry.remedy);
    }
  }
  return text;
}

nlohmann::ordered_json whyJson(const View &view, const ClassView &part) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const WhyEntry &entry : whyOf(view, part)) {
    Json rules = Json::array();
    for (const auto &[rule, place] : entry.rules)
      rules.push_back(Json{{"rule", rule}, {"source", place}});
    list.push_back(Json{{"kind", entry.kind},
                        {"over", entry.over},
                        {"phase", entry.phase},
                        {"path", entry.path},
                        {"steps", entry.steps},
                        {"count", entry.count},
                        {"bytes", entry.bytes},
                        {"sent_bytes", entry.sent},
                        {"from", entry.from},
                        {"to", entry.to},
                        {"cause", entry.cause},
                        {"rules", rules},
                        {"source", entry.places},
                        {"remedy", entry.remedy}});
  }
  return list;
}

} // namespace npar::driver
