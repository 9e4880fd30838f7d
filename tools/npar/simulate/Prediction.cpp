// Counts of the program beside the times of its simulation.
#include "tools/npar/simulate/Prediction.h"

#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"

#include <algorithm>
#include <map>

namespace npar::driver {

using namespace npar::program;

namespace {

/// What an attention's operations are without its masks, in parts of those that it counts.
double wholeShare(const Attention &attention) { return attention.causal() && !attention.other() ? 2.0 : 1.0; }

/// Bytes that a rank sends in a step, by the volume of a ring.
double sentBytes(const Program &program, const Step &step) {
  if (step.kind() == StepKind::Send) {
    const Transfer &transfer = *program.transfers()->Get(step.payload());
    return static_cast<double>(transfer.count() * sizeOf(transfer.type()));
  }
  if (step.kind() != StepKind::Collective)
    return 0;
  double bytes = 0;
  for (uint32_t part = 0; part < partsOf(step); ++part) {
    const Collective &collective = *program.collectives()->Get(step.payload() + part);
    double members = static_cast<double>(ranksAlong(program, *collective.axes()));
    double input = static_cast<double>(collective.count() * sizeOf(collective.type()));
    switch (collective.kind()) {
    case CollectiveKind::AllReduce:
      bytes += 2 * (members - 1) / members * input;
      break;
    case CollectiveKind::AllGather:
      bytes += (members - 1) * input;
      break;
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
      bytes += (members - 1) / members * input;
      break;
    case CollectiveKind::Permute:
      bytes += input;
      break;
    }
  }
  return bytes;
}

std::string axesOf(const Program &program, const Step &step) {
  if (step.kind() == StepKind::Send)
    return program.mesh()->Get(program.transfers()->Get(step.payload())->axis())->name()->str();
  std::string text;
  for (uint32_t axis : *program.collectives()->Get(step.payload())->axes())
    text += (text.empty() ? "" : ",") + program.mesh()->Get(axis)->name()->str();
  return text;
}

/// How often each fragment of a class runs.
std::vector<double> timesOf(const RankClass &rankClass) {
  std::vector<double> times(rankClass.fragments()->size());
  for (const Task *task : *rankClass.tasks())
    ++times[task->fragment()];
  return times;
}

std::vector<AxisBytes> bytesOf(const Program &program) {
  std::map<std::string, double> most;
  for (const RankClass *rankClass : *program.classes()) {
    std::vector<double> times = timesOf(*rankClass);
    std::map<std::string, double> sums;
    for (uint32_t index = 0; index < times.size(); ++index)
      for (const Step *step : *rankClass->fragments()->Get(index)->steps())
        if (double bytes = sentBytes(program, *step); bytes > 0)
          sums[axesOf(program, *step)] += times[index] * bytes;
    for (auto &[axes, bytes] : sums)
      most[axes] = std::max(most[axes], bytes);
  }
  std::vector<AxisBytes> result;
  for (auto &[axes, bytes] : most)
    result.push_back({axes, bytes});
  return result;
}

} // namespace

StepFlops flopsOf(const Program &program) {
  double executed = 0, masked = 0; // masked: of attention forward, what its masks leave out
  for (const RankClass *rankClass : *program.classes()) {
    std::vector<double> times = timesOf(*rankClass);
    double ranks = static_cast<double>(ranksOf(program, *rankClass).size());
    for (uint32_t index = 0; index < times.size(); ++index) {
      const Fragment &fragment = *rankClass->fragments()->Get(index);
      for (const Step *step : *fragment.steps()) {
        if (step->kind() != StepKind::Matmul && step->kind() != StepKind::Attention)
          continue;
        double share = 1;
        if (step->kind() == StepKind::Attention)
          share = wholeShare(*program.attentions()->Get(step->payload()));
        executed += ranks * times[index] * step->flops() * share;
        if (fragment.phase() == Phase::Forward)
          masked += ranks * times[index] * step->flops() * (share - 1);
      }
    }
  }
  // Backward has twice the products that forward has.
  return {program.flops() + 3 * masked, executed};
}

double secondsPerStep(const cost::Machine &machine, const cost::Simulation &simulation) {
  return machine.kind == dsl::MachineKind::Device ? simulation.period : simulation.seconds;
}

engine::Result<Prediction> predict(const Program &program, const cost::Machine &machine, const std::vector<std::vector<int64_t>> &places,
                                   const cost::Deviations &deviations) {
  Prediction result;
  result.machine = machine.name;
  result.ranks = worldOf(program);
  result.hosts = static_cast<int64_t>(places.size());
  result.batch = program.batch();
  cost::Topology topology(machine, places, result.ranks);
  engine::Result<cost::Simulation> simulation = cost::simulateStep(program, machine, topology, deviations);
  if (!simulation.ok())
    return simulation.status();
  result.simulation = std::move(*simulation);
  result.seconds = secondsPerStep(machine, result.simulation);
  result.flops = flopsOf(program);
  result.peak = cost::statedPeak(machine, program.compute());
  result.peakIsStated = result.peak > 0;
  if (!result.peakIsStated)
    result.peak = cost::productPeak(machine, program.compute());
  if (machine.kind == dsl::MachineKind::Processor && !places.empty()) // of all cores, which the ranks of a host share
    result.peak /= static_cast<double>(std::max<size_t>(1, places.front().size()));
  double all = result.seconds * static_cast<double>(result.ranks);
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    const RankClass &rankClass = *program.classes()->Get(index);
    double ranks = static_cast<double>(ranksOf(program, rankClass).size());
    const cost::ClassTime &time = result.simulation.classes[index];
    result.computing += ranks * time.computing / all;
    // Where gathers pass on into the next training step, some of what is exposed does not count.
    double exposed = std::min(time.exposed, std::max(0.0, result.seconds - time.computing));
    result.exposed += ranks * exposed / all;
    result.bubble += ranks * (result.seconds - time.computing - exposed) / all;
    result.memory = std::max<uint64_t>(result.memory, rankClass.arena_bytes());
  }
  result.memory += static_cast<uint64_t>(machine.reserved);
  result.room = machine.room;
  result.allowance = machine.room * machine.fragments;
  result.bytes = bytesOf(program);
  result.price = machine.price * static_cast<double>(result.hosts);
  return result;
}

} // namespace npar::driver
