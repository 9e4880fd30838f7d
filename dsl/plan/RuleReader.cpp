// Reads `split` rules, with the words after `by` and `stages` in them.
#include "dsl/plan/RuleReader.h"

#include "dsl/Suggestions.h"

#include <algorithm>
#include <filesystem>

namespace npar::dsl {
namespace {

constexpr int64_t mostChunks = 1 << 14;
constexpr int64_t mostBlocks = 10'000;      // that a model repeats
constexpr int64_t mostLive = 1'000'000'000; // micro-batches that a stage holds

/// Returns whether a word is the path of a file; no schedule has a point or a slash in its name.
bool isFile(const std::string &word) { return word.find_first_of("./") != std::string::npos; }

} // namespace

std::vector<PlanRule> RuleReader::read(const ast::Plan &source) {
  constexpr size_t most = 1000;
  std::vector<PlanRule> rules;
  for (const ast::Rule &each : source.rules) {
    if (rules.size() >= most) {
      reporter.error(Code::L3, each.location, "the plan has more than " + std::to_string(most) + " rules");
      break;
    }
    rule(each, rules);
  }
  return rules;
}

void RuleReader::rule(const ast::Rule &source, std::vector<PlanRule> &rules) {
  PlanRule common;
  common.source = &source;
  try {
    common.schedule = way(source);
    if (common.schedule)
      common.rule.by = common.schedule->way;
    else
      common.schedule = schedule(source);
    common.counts = counts(source);
    common.live = live(source);
    for (const ast::Name &m : source.mesh) {
      if (std::find(common.rule.mesh.begin(), common.rule.mesh.end(), m.text) != common.rule.mesh.end())
        reporter.fail(Code::M4, m.location, "mesh axis '" + m.text + "' is given twice in a rule");
      common.rule.mesh.push_back(m.text);
      common.meshAt.push_back(m.location);
    }
    if (common.rule.mesh == std::vector<std::string>{"none"})
      common.rule.mesh.clear();
    for (const ast::Narrowing &n : source.narrowings) {
      std::string &narrowed = n.layer ? common.rule.layer : common.rule.op;
      if (!narrowed.empty())
        reporter.fail(Code::M4, n.name.location, std::string("a rule has one `in ") + (n.layer ? "layer`" : "op`"));
      narrowed = n.name.text;
      (n.layer ? common.layerAt : common.opAt) = n.name.location;
    }
    if (source.condition)
      common.enabled = evaluator.truth(*source.condition, text.scope, "the condition of a rule");
  } catch (const Stop &) {
    return;
  }
  for (const ast::RuleAxis &axis : source.axes) {
    PlanRule entry = common;
    entry.rule.axis = axis.name.text;
    entry.rule.location = entry.axisAt = axis.name.location;
    if (!axis.modifier.text.empty()) {
      if (axis.modifier.text != "pad") {
        reporter.error(Code::M4, axis.modifier.location,
                       "expected 'pad', ',' or '->' after axis '" + axis.name.text + "', found '" + axis.modifier.text + "'");
        continue;
      }
      entry.rule.pad = true;
      entry.padAt = axis.modifier.location;
    }
    rules.push_back(std::move(entry));
  }
}

/// `by gather`, `by ring`, `by ring(zigzag)`, `by all_to_all`
std::optional<ScheduleChoice> RuleReader::way(const ast::Rule &source) {
  if (!source.schedule || (source.schedule->text != "gather" && source.schedule->text != "ring" && source.schedule->text != "all_to_all"))
    return std::nullopt;
  ScheduleChoice chosen{source.schedule->text, {}, 0, source.schedule->location, source.schedule->text};
  if (!source.chunks)
    return chosen;
  if (chosen.way != "ring")
    reporter.fail(Code::P9, source.chunks->location, "'" + chosen.way + "' takes no argument");
  if (std::string order = text.word(*source.chunks); order != "zigzag")
    reporter.fail(Code::P9, source.chunks->location, "unknown order of a ring", {"it is `ring` or `ring(zigzag)`"});
  chosen.way = "ring_zigzag";
  return chosen;
}

std::vector<int64_t> RuleReader::counts(const ast::Rule &source) {
  std::vector<int64_t> result;
  if (!source.stages)
    return result;
  for (const ast::ExpressionPtr &each : source.stages->items) {
    result.push_back(evaluator.integer(*each, text.scope, "the number of blocks of a stage"));
    if (result.back() < 0 || result.back() > mostBlocks)
      reporter.fail(Code::P9, each->location, "a stage cannot have " + std::to_string(result.back()) + " blocks");
  }
  if (result.empty())
    reporter.fail(Code::P9, source.stages->location, "'stages' needs the number of blocks of each stage",
                  {"one for each stage, such as `stages [2, 2]` for four blocks on two stages"});
  return result;
}

double RuleReader::live(const ast::Rule &source) {
  if (!source.live)
    return 0;
  double live = evaluator.number(*source.live, text.scope, "'live'");
  if (!(live >= 1 && live <= mostLive))
    reporter.fail(Code::P9, source.live->location, "'live' is " + textOf(live) + ", it must be 1 to " + std::to_string(mostLive),
                  {"it is how many micro-batches a stage may hold at once, from the start of a forward to the end of its backward"});
  return live;
}

std::optional<ScheduleChoice> RuleReader::schedule(const ast::Rule &source) {
  if (!source.schedule)
    return std::nullopt;
  ScheduleChoice chosen{source.schedule->text, {}, 0, source.schedule->location};
  Location writtenAt = chosen.at;
  Binding *said = source.scheduleIsName ? text.scope.find(chosen.name) : nullptr;
  if (said) {
    if (std::holds_alternative<Poison>(said->value))
      throw Stop{};
    auto *file = std::get_if<std::string>(&said->value);
    chosen.name = file ? *file : textOf(said->value);
    writtenAt = said->location;
  }
  if (source.chunks) {
    int64_t chunks = evaluator.integer(*source.chunks, text.scope, "the number of chunks");
    if (chunks < 0 || chunks > mostChunks)
      reporter.fail(Code::P9, source.chunks->location,
                    "the number of chunks is " + std::to_string(chunks) + ", it must be 0 to " + std::to_string(mostChunks));
    chosen.chunks = static_cast<int>(chunks);
  }
  if (const KnownSchedule *kind = schedules.find(chosen.name)) {
    if (chosen.chunks != 0 && chosen.chunks != kind->chunks && !kind->anyChunks)
      reporter.fail(Code::P9, source.chunks->location,
                    "schedule '" + kind->name + "' has " + counted(kind->chunks, "chunk") + " per stage, not " +
                        std::to_string(chosen.chunks));
    return chosen;
  }
  if (schedules.read && isFile(chosen.name)) {
    std::filesystem::path folder = std::filesystem::path(sources.name(writtenAt.file)).parent_path();
    chosen.path = (folder / chosen.name).string();
    return chosen;
  }
  std::vector<std::string> names;
  for (const KnownSchedule &kind : schedules.kinds)
    names.push_back(kind.name);
  Helps helps = didYouMean(chosen.name, names);
  if (helps.empty())
    helps.push_back(
        "it is " + joined(names) +
        ", or a file such as \"mine.csv\"; for an axis of attention gather, ring or ring(zigzag), for one of experts gather or all_to_all");
  if (!said)
    reporter.fail(Code::P9, chosen.at, "unknown schedule '" + chosen.name + "'", helps);
  reporter.error(Code::P9, chosen.at, "unknown schedule '" + chosen.name + "'", said->location,
                 "'" + source.schedule->text + "' has its value here", helps);
  throw Stop{};
}

} // namespace npar::dsl
