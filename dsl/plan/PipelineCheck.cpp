// Joins the rules on repeats to a pipeline and checks it.
#include "dsl/plan/PipelineCheck.h"

#include "dsl/Suggestions.h"
#include "dsl/parse/ReadText.h"
#include "dsl/plan/Mesh.h"
#include "dsl/plan/ModelNames.h"

#include <algorithm>

namespace npar::dsl {
namespace {

constexpr size_t mostScheduleText = 16 << 20;

} // namespace

const MeshAxis &PipelineCheck::stages() const { return *findMesh(mesh, pipeline->mesh); }

std::optional<Pipeline> PipelineCheck::run(const std::vector<PlanRule> &rules) {
  size_t errors = reporter.errorCount();
  join(rules);
  if (!pipeline)
    return std::nullopt;
  if (reporter.errorCount() == errors)
    checkWhole();
  checkStageAxis(rules);
  size_t before = reporter.errorCount();
  if (chosen && !chosen->path.empty())
    readSchedule();
  if (reporter.errorCount() == before) {
    pipeline->counts.empty() ? checkBlocks() : checkCounts();
    checkMicros();
  }
  return pipeline;
}

void PipelineCheck::join(const std::vector<PlanRule> &rules) {
  for (const PlanRule &each : rules)
    if (const Repeat *repeat = each.enabled ? findRepeat(model, each.rule.axis) : nullptr)
      joinRepeat(each, *repeat);
}

void PipelineCheck::joinRepeat(const PlanRule &e, const Repeat &repeat) {
  if (e.rule.mesh.size() != 1)
    return reporter.error(Code::P9, e.axisAt,
                          "repeat '" + repeat.label + "' needs exactly one mesh axis for its stages, this rule has " +
                              std::to_string(e.rule.mesh.size()));
  const std::string &name = e.rule.mesh[0];
  if (!e.rule.by.empty())
    return reporter.error(Code::P9, e.schedule->at,
                          "'by " + e.schedule->name + "' is a way of attention, '" + repeat.label + "' is a repeat",
                          {"a schedule is meant here, such as `by 1f1b`"});
  if (e.rule.pad || !e.rule.op.empty() || !e.rule.layer.empty())
    reporter.error(Code::P9,
                   e.rule.pad          ? e.padAt
                   : e.rule.op.empty() ? e.layerAt
                                       : e.opAt,
                   "the rule of a repeat cannot be padded or narrowed");
  if (pipeline && pipeline->mesh != name)
    return reporter.error(
        Code::P9, e.axisAt, "repeat '" + repeat.label + "' goes to mesh axis '" + name + "', the pipeline is over '" + pipeline->mesh + "'",
        pipeline->location, "the pipeline starts here", {"write one rule: " + pipeline->repeats[0] + ", " + repeat.label + " -> " + name});
  if (pipeline && e.source != first && (e.schedule || !e.counts.empty() || e.live > 0))
    return reporter.error(Code::P9,
                          e.schedule          ? e.schedule->at
                          : !e.counts.empty() ? e.source->stages->location
                                              : e.source->live->location,
                          "the pipeline over '" + name + "' has one schedule, one limit and one list of stages", pipeline->location,
                          "the pipeline starts here",
                          {"write one rule: " + pipeline->repeats[0] + ", " + repeat.label + " -> " + name + " ..."});
  if (!pipeline) {
    first = e.source;
    chosen = e.schedule;
    pipeline = Pipeline{{}, name, chosen ? chosen->name : schedules.defaultName, e.axisAt, chosen ? chosen->chunks : 0};
    if (e.live > 0) {
      pipeline->live = e.live;
      pipeline->liveAt = e.source->live->location;
    }
    if (!e.counts.empty()) {
      pipeline->counts = e.counts;
      pipeline->countsAt = e.source->stages->location;
    }
  }
  pipeline->repeats.push_back(repeat.label);
  blocks += repeat.count;
}

void PipelineCheck::checkStageAxis(const std::vector<PlanRule> &rules) {
  const std::string &name = pipeline->mesh;
  for (const PlanRule &each : rules) {
    const Rule &r = each.rule;
    if (each.enabled && !findRepeat(model, r.axis) && stages().size > 1 && std::find(r.mesh.begin(), r.mesh.end(), name) != r.mesh.end())
      reporter.error(Code::P9, r.location,
                     "mesh axis '" + name + "' holds the stages of the pipeline and cannot split axis '" + r.axis + "'", pipeline->location,
                     "the pipeline is here");
  }
}

void PipelineCheck::checkWhole() {
  if (stages().size == 1)
    return;
  std::string labels;
  for (const Repeat &repeat : model.repeats)
    labels += (labels.empty() ? "" : ", ") + repeat.label;
  for (const Repeat &repeat : model.repeats)
    if (std::find(pipeline->repeats.begin(), pipeline->repeats.end(), repeat.label) == pipeline->repeats.end())
      reporter.error(Code::P9, pipeline->location,
                     "the pipeline over '" + pipeline->mesh + "' has the blocks of repeat '" + pipeline->repeats[0] +
                         "' and not those of repeat '" + repeat.label + "', which are in the same chain",
                     repeat.location, "declared here", {"write one rule: " + labels + " -> " + pipeline->mesh});
}

void PipelineCheck::readSchedule() {
  uint32_t index = 0;
  if (!readText(chosen->path, index, chosen->path, chosen->at, sources, diagnostics, mostScheduleText))
    return;
  const std::string &text = sources.text(index);
  ScheduleText read = schedules.read(text);
  for (const ScheduleTextError &error : read.errors)
    reporter.error(
        Code::M11, {index, error.row, error.column, error.length}, error.reason, chosen->at, "the plan takes its schedule from this file",
        error.ofCommunication ? Helps{"npar makes the communications itself: a file with compute actions alone is enough"} : Helps{});
  if (!read.errors.empty())
    return;
  auto numbers = [](int64_t stages, int64_t micros) { return counted(stages, "stage") + " and " + counted(micros, "micro-batch", "es"); };
  if (read.stages != stages().size || read.micros != microCount)
    reporter.error(Code::M11, chosen->at,
                   "schedule \"" + chosen->name + "\" is for " + numbers(read.stages, read.micros) + ", the plan has " +
                       numbers(stages().size, microCount),
                   stages().location, originOfNumbers());
  else if (chosen->chunks != 0 && chosen->chunks != read.chunks)
    reporter.error(Code::M11, chosen->at,
                   "schedule \"" + chosen->name + "\" has " + counted(read.chunks, "chunk") + " per stage, not " +
                       std::to_string(chosen->chunks));
  else if (read.communications > 0)
    reporter.warning(chosen->at, "schedule \"" + chosen->name + "\" gives " + counted(read.communications, "communication") +
                                     ": they are checked, but the program is executed by npar's own order of communications");
  pipeline->path = chosen->path;
  pipeline->text = text;
  pipeline->chunks = read.chunks;
}

void PipelineCheck::checkMicros() {
  const KnownSchedule *kind = schedules.find(pipeline->schedule);
  int64_t needed = kind ? kind->microsPerStage * stages().size : 0;
  if (microCount < needed)
    reporter.error(Code::P9, chosen ? chosen->at : pipeline->location,
                   "schedule '" + kind->name + "' needs at least " + std::to_string(needed) + " micro-batches for " +
                       counted(stages().size, "stage") + ", not " + std::to_string(microCount),
                   stages().location, originOfNumbers());
}

std::string PipelineCheck::originOfNumbers() const {
  return "stages are mesh axis '" + stages().name + "', micro-batches are batch / (data-parallel ranks * micro)";
}

int64_t PipelineCheck::chunks() const {
  const KnownSchedule *kind = schedules.find(pipeline->schedule);
  return std::max(1, pipeline->chunks ? pipeline->chunks : kind ? kind->chunks : 1);
}

/// The list of `stages [...]`: one number per part, all blocks once; only the ends of the chain have something besides blocks.
void PipelineCheck::checkCounts() {
  const std::vector<int64_t> &counts = pipeline->counts;
  int64_t chunks = this->chunks(), parts = stages().size * chunks, sum = 0;
  std::string needs = counted(stages().size, "stage") + (chunks > 1 ? " of " + counted(chunks, "chunk") : "");
  if (static_cast<int64_t>(counts.size()) != parts)
    return reporter.error(Code::P9, pipeline->countsAt, "the list has " + counted(counts.size(), "number") + ", the pipeline has " + needs,
                          stages().location, "stages are mesh axis '" + stages().name + "' of size " + std::to_string(stages().size),
                          {"one number per " + std::string(chunks > 1 ? "chunk, along the chain of blocks" : "stage")});
  for (int64_t count : counts)
    sum += count;
  if (sum != blocks)
    return reporter.error(Code::P9, pipeline->countsAt,
                          "the stages hold " + counted(sum, "block") + ", the model repeats " + std::to_string(blocks),
                          {sum < blocks ? std::to_string(blocks - sum) + " more must go to some stage"
                                        : std::to_string(sum - blocks) + " must be taken from some stage"});
  for (size_t i = 1; i + 1 < counts.size(); ++i)
    if (counts[i] == 0)
      return reporter.error(Code::P9, pipeline->countsAt, "part " + std::to_string(i) + " of the chain has no block and nothing else to do",
                            {"only the first part (what comes before the blocks) and the last (what comes after) may have none"});
}

void PipelineCheck::checkBlocks() {
  int64_t chunks = this->chunks(), needed = stages().size * chunks;
  if (needed <= blocks)
    return;
  std::string count = counted(blocks, "block");
  std::string message = chunks == 1 ? "a pipeline of " + std::to_string(stages().size) + " stages has only " + count
                                    : "a pipeline of " + counted(stages().size, "stage") + " with " + std::to_string(chunks) +
                                          " chunks each needs " + std::to_string(needed) + " blocks and has only " + count;
  // A file is for its own number of stages().
  bool fewerStages = blocks / chunks > 0 && pipeline->path.empty();
  Helps helps{"set " + (fewerStages ? stages().name + " to at most " + std::to_string(blocks / chunks) + ", or " : std::string()) +
              "the count of repeat '" + pipeline->repeats[0] + "' to at least " + std::to_string(needed)};
  reporter.error(Code::P9, pipeline->location, message, stages().location,
                 "mesh axis '" + stages().name + "' of size " + std::to_string(stages().size), helps);
}

} // namespace npar::dsl
