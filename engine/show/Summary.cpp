// Counts what each class of ranks does in one training step: every step of a fragment times the tasks that run it.
#include "engine/show/Summary.h"

#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/ModelState.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"
#include "engine/program/Words.h"
#include "engine/show/PayloadBytes.h"
#include "engine/show/View.h"

#include <numeric>

namespace npar::show {

using namespace npar::program;

namespace {

std::string text(const flatbuffers::String *string) { return string ? string->str() : std::string(); }

std::string axisName(const Program &program, uint32_t axis) { return text(program.mesh()->Get(axis)->name()); }

/// A bucket is one collective with the bytes of all its parts.
void addCollective(const Program &program, const Step &step, uint64_t times, ClassSummary &summary) {
  const Collective &collective = *program.collectives()->Get(step.payload());
  std::string over;
  if (collective.axes())
    for (uint32_t axis : *collective.axes())
      over += (over.empty() ? "" : ",") + axisName(program, axis);
  std::string kind = wordOf(collective.kind());
  uint64_t bytes = 0, worst = 0;
  for (uint32_t part = 0; part < partsOf(step); ++part) {
    const Collective &one = *program.collectives()->Get(step.payload() + part);
    bytes += balancedBytes(one) * times, worst += worstBytes(one) * times;
  }
  for (CollectiveSummary &known : summary.collectives)
    if (known.kind == kind && known.over == over) {
      known.count += times;
      known.bytes += bytes, known.worst += worst;
      return;
    }
  summary.collectives.push_back({kind, over, times, bytes, worst});
}

void addTransfer(const Program &program, const RankClass &rankClass, const Transfer &transfer, uint64_t times, ClassSummary &summary) {
  std::string axis = axisName(program, transfer.axis());
  int64_t difference = static_cast<int64_t>(transfer.peer()) - fixedCoordinate(rankClass, transfer.axis());
  std::string to = axis + (difference < 0 ? "" : "+") + std::to_string(difference);
  uint64_t bytes = transfer.count() * sizeOf(transfer.type()) * times;
  for (TransferSummary &known : summary.transfers)
    if (known.to == to) {
      known.count += times;
      known.bytes += bytes;
      return;
    }
  summary.transfers.push_back({to, times, bytes});
}

ClassSummary summarizeClass(const Program &program, const RankClass &rankClass) {
  ClassSummary summary;
  summary.name = text(rankClass.name());
  summary.stage = rankClass.stage();
  if (rankClass.fixed())
    for (const Coordinate *coordinate : *rankClass.fixed())
      summary.coordinates.emplace_back(axisName(program, coordinate->axis()), coordinate->value());
  summary.parameterBytes = rankClass.parameter_bytes();
  summary.gradientBytes = rankClass.gradient_bytes();
  summary.optimizerBytes = rankClass.optimizer_bytes();
  summary.activationBytes = rankClass.activation_bytes();
  summary.arenaBytes = rankClass.arena_bytes();
  summary.volume = stepVolumeOf(program, rankClass);
  summary.tiers = tierUseOf(rankClass);

  std::vector<uint64_t> times(rankClass.fragments() ? rankClass.fragments()->size() : 0);
  if (rankClass.tasks())
    for (const Task *task : *rankClass.tasks())
      ++times[task->fragment()];
  for (size_t i = 0; i < times.size(); ++i) {
    const Fragment &fragment = *rankClass.fragments()->Get(i);
    if (!fragment.steps() || times[i] == 0)
      continue;
    for (const Step *step : *fragment.steps()) {
      summary.programSteps += times[i];
      summary.flops += step->flops() * static_cast<double>(times[i]);
      if (step->kind() == StepKind::Collective)
        addCollective(program, *step, times[i], summary);
      if (step->kind() == StepKind::Send)
        addTransfer(program, rankClass, *program.transfers()->Get(step->payload()), times[i], summary);
    }
  }
  return summary;
}

} // namespace

Summary summarize(const Program &program) {
  Summary summary;
  summary.model = text(program.model());
  summary.plan = text(program.plan());
  summary.schedule = text(program.schedule());
  summary.step = stepWord(program);
  summary.parameters = program.parameters();
  summary.activeParameters = program.active_parameters(), summary.tableParameters = program.table_parameters();
  for (const program::Variable *variable : *program.variables()) {
    uint64_t elements = std::accumulate(variable->shape()->begin(), variable->shape()->end(), uint64_t{1},
                                        [](uint64_t all, int64_t size) { return all * static_cast<uint64_t>(size); });
    if (program::isModelState(*variable))
      summary.stateElements += elements;
    else if (variable->frozen())
      summary.frozenParameters += elements;
  }
  summary.world = worldOf(program);
  summary.batch = program.batch();
  summary.micro = program.micro();
  summary.microCount = program.micro_count();
  summary.stages = program.stages();
  for (uint32_t axis : *program.data_axes())
    if (fixedCoordinate(*program.classes()->Get(0), axis) >= 0)
      summary.central = text(program.mesh()->Get(axis)->name());
  if (program.mesh())
    for (const MeshAxis *axis : *program.mesh())
      summary.mesh.emplace_back(text(axis->name()), axis->size());
  for (const RankClass *rankClass : *program.classes())
    summary.classes.push_back(summarizeClass(program, *rankClass));
  for (int64_t rank = 0; rank < summary.world; ++rank) {
    auto &ranges = summary.classes[classOf(program, rank)].ranks;
    if (!ranges.empty() && ranges.back().second == rank - 1)
      ranges.back().second = rank;
    else
      ranges.emplace_back(rank, rank);
  }
  return summary;
}

Reductions reductionsOf(const Program &program) {
  Reductions reductions;
  for (const Collective *each : *program.collectives()) {
    reductions.all += each->kind() == CollectiveKind::AllReduce || each->kind() == CollectiveKind::ReduceScatter;
    reductions.library += each->library();
  }
  return reductions;
}

} // namespace npar::show
