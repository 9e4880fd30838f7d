// Combines counts of the program with the times of its simulation.
#include "tools/lib/planner/simulate/Prediction.h"

#include "dsl/machine/Hosts.h"
#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Precision.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"
#include "engine/status/OptionNames.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace npar::planner {

using namespace npar::program;

namespace {

/// The operations of an attention without masks over those that it counts.
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
      bytes += (members - 1) / members * input;
      break;
    case CollectiveKind::AllToAll:
      bytes += (members - 1) / members * input * collective.filled();
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

/// The number of runs of each fragment of a class.
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

/// Adds the figures of the devices: peak, room and price of each kind.
void takeDevices(const Program &program, const cost::Machine &machine, const std::vector<std::vector<int64_t>> &places,
                 Prediction &result) {
  size_t kinds = std::max<size_t>(1, machine.kinds.size());
  std::vector<KindShare> shares(kinds);
  std::vector<size_t> kindOf(static_cast<size_t>(result.ranks), 0);
  for (size_t host = 0; host < places.size(); ++host) {
    size_t kind = dsl::kindOfHost(machine, static_cast<int64_t>(host));
    ++shares[kind].hosts;
    shares[kind].ranks += static_cast<int64_t>(places[host].size());
    for (int64_t rank : places[host])
      kindOf[static_cast<size_t>(rank)] = kind;
  }
  auto peakOf = [&](auto peak) { // the mean over the ranks; 0 where a kind has none
    double sum = 0, one = 0;
    size_t used = 0;
    for (size_t kind = 0; kind < kinds; ++kind)
      if (shares[kind].ranks > 0) {
        one = peak(dsl::machineOfKind(machine, kind), program.compute(), program::multipliesInTf32(program));
        if (one <= 0)
          return 0.0;
        sum += one * static_cast<double>(shares[kind].ranks), ++used;
      }
    return used == 1 ? one : sum / static_cast<double>(result.ranks);
  };
  result.peak = peakOf(cost::statedPeak);
  result.peakIsStated = result.peak > 0;
  if (!result.peakIsStated)
    result.peak = peakOf(cost::productPeak);
  double fullest = -1;
  for (const RankClass *rankClass : *program.classes())
    for (int64_t rank : ranksOf(program, *rankClass)) {
      KindShare &share = shares[kindOf[static_cast<size_t>(rank)]];
      const cost::Machine &own = dsl::machineOfKind(machine, kindOf[static_cast<size_t>(rank)]);
      uint64_t memory = rankClass->arena_bytes() + static_cast<uint64_t>(own.reserved);
      share.memory = std::max(share.memory, memory);
      share.stages.insert(rankClass->stage());
      double usable = own.room * (1 - own.fragments),
             full = usable > 0 ? static_cast<double>(memory) / usable : static_cast<double>(memory);
      result.memory = std::max(result.memory, memory);
      if (full > fullest)
        fullest = full, result.fullest = memory, result.room = own.room, result.allowance = own.room * own.fragments;
    }
  bool priced = true;
  for (size_t kind = 0; kind < kinds; ++kind) {
    const cost::Machine &own = dsl::machineOfKind(machine, kind);
    priced &= shares[kind].hosts == 0 || own.price > 0;
    result.price += own.price * static_cast<double>(shares[kind].hosts);
    shares[kind].name = dsl::isUneven(machine) ? machine.kinds[kind].word : "", shares[kind].room = own.room;
    if (dsl::isUneven(machine) && shares[kind].hosts > 0)
      result.kinds.push_back(shares[kind]);
  }
  if (!priced)
    result.price = 0;
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

/// Checks that the machine has the figures of messages between hosts, if there are several.
static engine::Status checkLinks(const dsl::Machine &machine, int64_t ranks, int64_t hosts) {
  if (hosts == 1 || machine.link(dsl::LinkLevel::Cluster).bandwidth > 0 || machine.link(dsl::LinkLevel::Rack).bandwidth > 0)
    return {};
  return engine::Status::badInput(
      fmt::format("the mesh has {} ranks on {} hosts, and machine '{}' lacks the figures of messages between hosts: "
                  "give a machine that has them, such as {}, or write `link cluster {{ bandwidth ... GB/s  latency ... us }}`",
                  ranks, hosts, machine.name, nameOf(engine::Option::Machine, "dgx-a100")));
}

engine::Result<std::vector<program::HostRoom>> roomsFor(const dsl::Machine &machine, int64_t ranks, int64_t hosts) {
  int64_t needed = dsl::hostsFor(machine, ranks);
  std::string them = needed == 1 ? "one host" : fmt::format("{} hosts", needed);
  if (dsl::isUneven(machine) && ranks > dsl::placeCount(machine))
    return engine::Status::badInput(fmt::format("the mesh has {} ranks, and the {} hosts of '{}' hold {}", ranks, dsl::hostCount(machine),
                                                machine.name, dsl::placeCount(machine)));
  if (hosts != 0 && hosts != needed && dsl::isUneven(machine))
    return engine::Status::badInput(fmt::format("the mesh has {} ranks, which take the first {} of '{}'; {} says {}", ranks, them,
                                                machine.name, nameOf(engine::Option::Hosts), hosts));
  if (hosts != 0 && hosts != needed)
    return engine::Status::badInput(fmt::format("the mesh has {} ranks, which take {} of '{}' with {} each; {} says {}", ranks, them,
                                                machine.name, static_cast<int64_t>(machine.ranks), nameOf(engine::Option::Hosts), hosts));
  TRY_STATUS(checkLinks(machine, ranks, needed));
  std::vector<program::HostRoom> rooms;
  for (int64_t host = 0, filled = 0; host < needed; ++host) {
    auto each = static_cast<int64_t>(dsl::machineOfKind(machine, dsl::kindOfHost(machine, host)).ranks);
    rooms.push_back({std::to_string(host), std::min(each, ranks - filled)});
    filled += each;
  }
  return rooms;
}

engine::Result<std::vector<program::HostRoom>> roomsSpreadOver(const dsl::Machine &machine, int64_t ranks, int64_t hosts) {
  if (hosts <= dsl::hostsFor(machine, ranks) || ranks % hosts != 0 || dsl::isUneven(machine))
    return roomsFor(machine, ranks, 0);
  TRY_STATUS(checkLinks(machine, ranks, hosts));
  std::vector<program::HostRoom> rooms;
  for (int64_t host = 0; host < hosts; ++host)
    rooms.push_back({std::to_string(host), ranks / hosts});
  return rooms;
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
  if (cost::hasLoad(program)) {
    cost::Deviations worst = deviations;
    worst.worstLoad = true;
    TRY(cost::Simulation step, cost::simulateStep(program, machine, topology, worst));
    result.worst = secondsPerStep(machine, step);
  }
  result.flops = flopsOf(program);
  takeDevices(program, machine, places, result);
  if (machine.kind == dsl::MachineKind::Processor && !places.empty()) // of all cores, which the ranks of a host share
    result.peak /= static_cast<double>(std::max<size_t>(1, places.front().size()));
  double all = result.seconds * static_cast<double>(result.ranks);
  for (uint32_t index = 0; index < program.classes()->size(); ++index) {
    const RankClass &rankClass = *program.classes()->Get(index);
    double ranks = static_cast<double>(ranksOf(program, rankClass).size());
    const cost::ClassTime &time = result.simulation.classes[index];
    result.computing += ranks * time.computing / all;
    // If gathers continue into the next training step, a part of the exposed time does not count.
    double exposed = std::min(time.exposed, std::max(0.0, result.seconds - time.computing));
    result.exposed += ranks * exposed / all;
    result.bubble += ranks * (result.seconds - time.computing - exposed) / all;
  }
  result.bytes = bytesOf(program);
  return result;
}

} // namespace npar::planner
