// The pipeline of a plan: which schedule, from a name or a file, and whether stages, chunks, blocks and micro-batches fit together.
#include "dsl/elaborate/PlanElaborator.h"

#include "dsl/elaborate/Library.h"

#include <algorithm>
#include <filesystem>

namespace npar::dsl {
namespace {

constexpr size_t mostScheduleText = 16 << 20;
constexpr int64_t mostChunks = 1 << 14;
constexpr int64_t mostBlocks = 10'000; // that a model repeats

std::string counted(int64_t number, const std::string &word, const char *plural = "s") {
  return std::to_string(number) + " " + word + (number == 1 ? "" : plural);
}

/// What cannot be the name of a schedule.
bool isFile(const std::string &word) { return word.find_first_of("./") != std::string::npos; }

} // namespace

/// `by gather`, `by ring`, `by ring(zigzag)`
std::optional<PlanElaborator::Chosen> PlanElaborator::way(const ast::Rule &source) {
  if (!source.schedule || (source.schedule->text != "gather" && source.schedule->text != "ring"))
    return std::nullopt;
  Chosen chosen{source.schedule->text, {}, 0, source.schedule->location, source.schedule->text};
  if (!source.chunks)
    return chosen;
  if (chosen.way == "gather")
    reporter.fail(source.chunks->location, "'gather' takes no argument");
  if (std::string order = word(*source.chunks); order != "zigzag")
    reporter.fail(source.chunks->location, "unknown order of a ring", {"it is `ring` or `ring(zigzag)`"});
  chosen.way = "ring_zigzag";
  return chosen;
}

std::vector<int64_t> PlanElaborator::counts(const ast::Rule &source) {
  std::vector<int64_t> result;
  if (!source.stages)
    return result;
  for (const ast::ExpressionPtr &each : source.stages->items) {
    result.push_back(evaluator.integer(*each, scope, "the number of blocks of a stage"));
    if (result.back() < 0 || result.back() > mostBlocks)
      reporter.fail(each->location, "a stage cannot have " + std::to_string(result.back()) + " blocks");
  }
  if (result.empty())
    reporter.fail(source.stages->location, "'stages' needs the number of blocks of each stage",
                  {"one for each stage, such as `stages [2, 2]` for four blocks on two stages"});
  return result;
}

std::optional<PlanElaborator::Chosen> PlanElaborator::schedule(const ast::Rule &source) {
  if (!source.schedule)
    return std::nullopt;
  Chosen chosen{source.schedule->text, {}, 0, source.schedule->location};
  Location writtenAt = chosen.at;
  Binding *said = source.scheduleIsName ? scope.find(chosen.name) : nullptr;
  if (said) {
    if (std::holds_alternative<Poison>(said->value))
      throw Stop{};
    auto *text = std::get_if<std::string>(&said->value);
    chosen.name = text ? *text : textOf(said->value);
    writtenAt = said->location;
  }
  if (source.chunks) {
    int64_t chunks = evaluator.integer(*source.chunks, scope, "the number of chunks");
    if (chunks < 0 || chunks > mostChunks)
      reporter.fail(source.chunks->location,
                    "the number of chunks is " + std::to_string(chunks) + ", it must be 0 to " + std::to_string(mostChunks));
    chosen.chunks = static_cast<int>(chunks);
  }
  if (const KnownSchedule *kind = schedules.find(chosen.name)) {
    if (chosen.chunks != 0 && chosen.chunks != kind->chunks && !kind->anyChunks)
      reporter.fail(source.chunks->location, "schedule '" + kind->name + "' has " + counted(kind->chunks, "chunk") + " per stage, not " +
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
  std::vector<std::string> helps = didYouMean(chosen.name, names);
  if (helps.empty())
    helps.push_back("it is " + joined(names) + ", or a file such as \"mine.csv\"; for an axis of attention gather, ring or ring(zigzag)");
  if (!said)
    reporter.fail(chosen.at, "unknown schedule '" + chosen.name + "'", helps);
  reporter.error(chosen.at, "unknown schedule '" + chosen.name + "'", said->location, "'" + source.schedule->text + "' is said here",
                 helps);
  throw Stop{};
}

void PlanElaborator::checkPipeline(const Model &model) {
  int blocks = 0;
  std::optional<Chosen> chosen;
  const ast::Rule *first = nullptr; // of the pipeline
  for (const Entry &e : entries) {
    auto repeat = std::find_if(model.repeats.begin(), model.repeats.end(), [&](const Repeat &r) { return r.label == e.rule.axis; });
    if (!e.enabled || repeat == model.repeats.end())
      continue;
    if (e.rule.mesh.size() != 1) {
      reporter.error(e.axisAt, "repeat '" + repeat->label + "' needs exactly one mesh axis for its stages, this rule has " +
                                   std::to_string(e.rule.mesh.size()));
      continue;
    }
    const std::string &name = e.rule.mesh[0];
    if (!e.rule.by.empty()) {
      reporter.error(e.schedule->at, "'by " + e.schedule->name + "' is a way of attention, '" + repeat->label + "' is a repeat",
                     {"a schedule is meant here, such as `by 1f1b`"});
      continue;
    }
    if (e.rule.pad || !e.rule.op.empty() || !e.rule.layer.empty())
      reporter.error(e.rule.pad ? e.padAt : e.rule.op.empty() ? e.layerAt : e.opAt, "the rule of a repeat cannot be padded or narrowed");
    if (plan.pipeline && plan.pipeline->mesh != name) {
      reporter.error(e.axisAt,
                     "repeat '" + repeat->label + "' goes to mesh axis '" + name + "', the pipeline is over '" + plan.pipeline->mesh + "'",
                     plan.pipeline->location, "the pipeline starts here",
                     {"write one rule: " + plan.pipeline->repeats[0] + ", " + repeat->label + " -> " + name});
      continue;
    }
    if (plan.pipeline && e.source != first && (e.schedule || !e.counts.empty())) {
      reporter.error(e.schedule ? e.schedule->at : e.source->stages->location,
                     "the pipeline over '" + name + "' has one schedule and one list of stages", plan.pipeline->location,
                     "the pipeline starts here",
                     {"write one rule: " + plan.pipeline->repeats[0] + ", " + repeat->label + " -> " + name + " ..."});
      continue;
    }
    if (!plan.pipeline) {
      first = e.source;
      chosen = e.schedule;
      plan.pipeline = Pipeline{{}, name, chosen ? chosen->name : schedules.standard, e.axisAt, chosen ? chosen->chunks : 0};
      if (!e.counts.empty()) {
        plan.pipeline->counts = e.counts;
        plan.pipeline->countsAt = e.source->stages->location;
      }
    }
    plan.pipeline->repeats.push_back(repeat->label);
    blocks += repeat->count;
  }
  if (!plan.pipeline)
    return;
  const MeshAxis &stages = *findMesh(plan.pipeline->mesh);
  for (const Entry &e : entries) {
    const Rule &r = e.rule;
    bool isRepeat = std::any_of(model.repeats.begin(), model.repeats.end(), [&](const Repeat &repeat) { return repeat.label == r.axis; });
    if (e.enabled && !isRepeat && stages.size > 1 && std::find(r.mesh.begin(), r.mesh.end(), stages.name) != r.mesh.end())
      reporter.error(r.location, "mesh axis '" + stages.name + "' holds the stages of the pipeline and cannot split axis '" + r.axis + "'",
                     plan.pipeline->location, "the pipeline is here");
  }
  size_t before = reporter.errorCount();
  if (chosen && !chosen->path.empty())
    readSchedule(stages, *chosen);
  if (reporter.errorCount() == before) {
    plan.pipeline->counts.empty() ? checkBlocks(stages, blocks) : checkCounts(stages, blocks);
    checkMicros(stages, chosen ? chosen->at : plan.pipeline->location);
  }
}

void PlanElaborator::readSchedule(const MeshAxis &stages, const Chosen &chosen) {
  uint32_t index = 0;
  if (!readText(chosen.path, index, chosen.path, chosen.at, sources, diagnostics, mostScheduleText))
    return;
  const std::string &text = sources.text(index);
  ScheduleText read = schedules.read(text);
  for (const ScheduleTextError &error : read.errors)
    reporter.error({index, error.row, error.column, error.length}, error.reason, chosen.at, "the plan takes its schedule from this file",
                   error.ofCommunication
                       ? std::vector<std::string>{"npar makes the communications itself: a file with compute actions alone is enough"}
                       : std::vector<std::string>{});
  if (!read.errors.empty())
    return;
  auto numbers = [](int64_t stages, int64_t micros) { return counted(stages, "stage") + " and " + counted(micros, "micro-batch", "es"); };
  if (read.stages != stages.size || read.micros != plan.microCount)
    reporter.error(chosen.at,
                   "schedule \"" + chosen.name + "\" is for " + numbers(read.stages, read.micros) + ", the plan has " +
                       numbers(stages.size, plan.microCount),
                   stages.location, "stages are mesh axis '" + stages.name + "', micro-batches are batch / (dp * micro)");
  else if (chosen.chunks != 0 && chosen.chunks != read.chunks)
    reporter.error(chosen.at, "schedule \"" + chosen.name + "\" has " + counted(read.chunks, "chunk") + " per stage, not " +
                                  std::to_string(chosen.chunks));
  else if (read.communications > 0)
    reporter.warning(chosen.at, "schedule \"" + chosen.name + "\" gives " + counted(read.communications, "communication") +
                                    ": they are checked, but the program is executed by npar's own order of communications");
  plan.pipeline->path = chosen.path;
  plan.pipeline->text = text;
  plan.pipeline->chunks = read.chunks;
}

void PlanElaborator::checkMicros(const MeshAxis &stages, Location at) {
  const KnownSchedule *kind = schedules.find(plan.pipeline->schedule);
  int64_t needed = kind ? kind->microsPerStage * stages.size : 0;
  if (plan.microCount < needed)
    reporter.error(at,
                   "schedule '" + kind->name + "' needs at least " + std::to_string(needed) + " micro-batches for " +
                       counted(stages.size, "stage") + ", not " + std::to_string(plan.microCount),
                   stages.location, "stages are mesh axis '" + stages.name + "', micro-batches are batch / (dp * micro)");
}

int64_t PlanElaborator::chunksOf(const Pipeline &pipeline) const {
  const KnownSchedule *kind = schedules.find(pipeline.schedule);
  return std::max(1, pipeline.chunks ? pipeline.chunks : kind ? kind->chunks : 1);
}

/// The list of `stages [...]`: one number per part, all blocks once; only the ends of the chain have something besides blocks.
void PlanElaborator::checkCounts(const MeshAxis &stages, int blocks) {
  Pipeline &pipeline = *plan.pipeline;
  const std::vector<int64_t> &counts = pipeline.counts;
  int64_t chunks = chunksOf(pipeline), parts = stages.size * chunks, sum = 0;
  std::string needs = counted(stages.size, "stage") + (chunks > 1 ? " of " + counted(chunks, "chunk") : "");
  if (static_cast<int64_t>(counts.size()) != parts)
    return reporter.error(pipeline.countsAt, "the list has " + counted(counts.size(), "number") + ", the pipeline has " + needs,
                          stages.location, "stages are mesh axis '" + stages.name + "' of size " + std::to_string(stages.size),
                          {"one number per " + std::string(chunks > 1 ? "chunk, along the chain of blocks" : "stage")});
  for (int64_t count : counts)
    sum += count;
  if (sum != blocks)
    return reporter.error(pipeline.countsAt, "the stages hold " + counted(sum, "block") + ", the model repeats " + std::to_string(blocks),
                          {sum < blocks ? std::to_string(blocks - sum) + " more must go to some stage"
                                        : std::to_string(sum - blocks) + " must be taken from some stage"});
  for (size_t i = 1; i + 1 < counts.size(); ++i)
    if (counts[i] == 0)
      return reporter.error(pipeline.countsAt, "part " + std::to_string(i) + " of the chain has no block and nothing else to do",
                            {"only the first part (what comes before the blocks) and the last (what comes after) may have none"});
}

void PlanElaborator::checkBlocks(const MeshAxis &stages, int blocks) {
  int64_t chunks = chunksOf(*plan.pipeline), needed = stages.size * chunks;
  if (needed <= blocks)
    return;
  std::string count = counted(blocks, "block");
  std::string message = chunks == 1 ? "a pipeline of " + std::to_string(stages.size) + " stages has only " + count
                                    : "a pipeline of " + counted(stages.size, "stage") + " with " + std::to_string(chunks) +
                                          " chunks each needs " + std::to_string(needed) + " blocks and has only " + count;
  // A file is for its own number of stages.
  bool fewerStages = blocks / chunks > 0 && plan.pipeline->path.empty();
  std::vector<std::string> helps{"set " +
                                 (fewerStages ? stages.name + " to at most " + std::to_string(blocks / chunks) + ", or " : std::string()) +
                                 "the count of repeat '" + plan.pipeline->repeats[0] + "' to at least " + std::to_string(needed)};
  reporter.error(plan.pipeline->location, message, stages.location,
                 "mesh axis '" + stages.name + "' of size " + std::to_string(stages.size), helps);
}

} // namespace npar::dsl
