// The models that are trained for a machine's figures, and the figures from what was seen.
#include "tools/lib/planner/machine/MeasureMachine.h"

#include "dsl/machine/ReadMachine.h"
#include "engine/runtime/WorkerCount.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/lib/planner/machine/ObserveSteps.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <unistd.h>

namespace npar::planner {
namespace {

using Kind = StepGroup::Kind;

SettingsList sizes(const char *type, int width, int heads, int length, int batch, int vocab, int depth = 1) {
  auto text = [](int number) { return std::to_string(number); };
  return {{"compute", type},         {"width", text(width)}, {"heads", text(heads)}, {"length", text(length)},
          {"context", text(length)}, {"batch", text(batch)}, {"vocab", text(vocab)}, {"depth", text(depth)}};
}

constexpr size_t commonTypes = 2; ///< f32 and bf16, the first of a machine's types

/// Small, middle and large steps in the types that people train in; less of the others.
std::vector<Workload> workloads(bool quick) {
  std::vector<Workload> list;
  auto add = [&](SettingsList settings, const std::string &plan = "none") {
    list.push_back({"gpt2", std::move(settings), plan, quick ? 2 : 3, quick ? 0 : 0.8});
  };
  for (size_t index = 0; index < commonTypes; ++index) {
    const char *type = dsl::machineTypes[index];
    add(sizes(type, 64, 4, 64, 4, 256));
    if (quick)
      continue;
    add(sizes(type, 256, 8, 128, 8, 512, 2));
    add(sizes(type, 768, 12, 512, 4, 8192));
    add(sizes(type, 128, 2, 2048, 1, 256)); // attention above all
  }
  for (size_t index = commonTypes; index < dsl::machineTypes.size(); ++index)
    add(quick ? sizes(dsl::machineTypes[index], 64, 4, 64, 4, 256) : sizes(dsl::machineTypes[index], 384, 6, 256, 2, 1024));
  SettingsList micro = sizes("f32", quick ? 64 : 256, 4, 128, 8, 512), two = micro;
  micro.push_back({"micro", "4"}); // accumulators are zeroed
  add(micro);
  two.insert(two.end(), {{"mesh.dp", "1"}, {"mesh.pp", "1"}, {"mesh.tp", "2"}, {"micro", "4"}});
  add(two, "three_d");
  return list;
}

std::string wordOf(const StepGroup &group) {
  std::string type = std::string(" ") + program::rowOf(group.type).planWord;
  switch (group.kind) {
  case Kind::Kernel:
    return "kernels";
  case Kind::Product:
    return "products" + type;
  case Kind::Attention:
    return "attention" + type;
  case Kind::AttentionGradient:
    return "attention's gradient" + type;
  case Kind::Move:
    return "zeros and copies";
  case Kind::Collective:
    break;
  }
  return "collectives of two ranks";
}

/// Sets a rate from the seconds of one unit; keeps the old rate if nothing was observed.
void setRate(double &rate, double seconds) {
  if (seconds > 0)
    rate = 1 / seconds;
}

void setFigures(dsl::Machine &machine, const StepGroup &group, const std::vector<double> &x) {
  switch (group.kind) {
  case Kind::Kernel:
    setRate(machine.near, x[0] + x[4]);
    if (machine.cache.size > 0)
      setRate(machine.cache.bandwidth, x[0]);
    if (machine.cache.bandwidth <= 0)
      machine.cache.size = 0;
    setRate(machine.far, x[1]);
    machine.operation = x[2], machine.function = x[3];
    return;
  case Kind::Product: {
    dsl::ProductFigures &product = machine.products[program::rowOf(group.type).machineIndex];
    setRate(product.rate, x[0]);
    if (x[0] > 0)
      product.rows = x[1] / x[0], product.columns = x[2] / x[0], product.depth = x[3] / x[0];
    return;
  }
  case Kind::Attention:
  case Kind::AttentionGradient: {
    auto &list = group.kind == Kind::Attention ? machine.attentions : machine.gradients;
    setRate(list[program::rowOf(group.type).machineIndex].rate, x[0]);
    if (x[0] > 0)
      list[program::rowOf(group.type).machineIndex].rows = x[1] / x[0];
    return;
  }
  case Kind::Move:
    return setRate(machine.move, x[0]);
  case Kind::Collective:
    setRate(machine.link(dsl::LinkLevel::Host).bandwidth, x[0]);
    machine.link(dsl::LinkLevel::Host).latency = x[1];
  }
}

Residual residualOf(const std::string &kind, const std::vector<Equation> &equations, const std::vector<double> &values) {
  Residual residual{kind, equations.size(), 0, 0};
  for (const Equation &equation : equations) {
    residual.seconds += equation.seconds;
    residual.relative += std::abs(predicted(equation, values) - equation.seconds);
  }
  if (residual.seconds > 0)
    residual.relative /= residual.seconds;
  return residual;
}

std::string today() {
  char text[32] = {};
  std::time_t now = std::time(nullptr);
  std::tm parts = {};
  localtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

/// Bytes of a core's second cache as the system tells them: the first keeps no step's operands. 0 where it says nothing, or more than what
/// counts as near.
double ownCache(double nearSize) {
  auto bytes = static_cast<double>(::sysconf(_SC_LEVEL2_CACHE_SIZE));
  return bytes > 0 && bytes < nearSize ? bytes : 0;
}

} // namespace

engine::Result<Measured> measureMachine(const MeasureOptions &options, engine::Observer &observer) {
  Measured measured;
  dsl::Machine &machine = measured.machine;
  machine = dsl::referenceMachine(); // of what nothing was seen
  machine.name = "here";
  machine.cores = engine::workerCount(0);
  machine.ranks = 1 << 20; // all that a process has
  machine.cache.size = ownCache(machine.nearSize);
  std::map<StepGroup, std::vector<Equation>> equations;
  std::vector<SpreadObservation> spreads;
  double launches = 0;
  std::vector<Workload> list = workloads(options.quick);
  {
    engine::Activity measuring(observer, "measuring this machine");
    for (size_t i = 0; i < list.size(); ++i) {
      measuring.phase(fmt::format("model {} of {}", i + 1, list.size()));
      TRY(Observed observed, observe(list[i], machine.cache.size, machine.nearSize, static_cast<int>(machine.cores), observer));
      for (auto &[group, found] : observed.equations)
        equations[group].insert(equations[group].end(), found.begin(), found.end());
      if (observed.spread.whole > 0) {
        spreads.push_back(std::move(observed.spread));
        launches += observed.launch;
      }
    }
  }
  for (const auto &[group, found] : equations) {
    std::vector<double> values = scaledToSum(found, fitNotNegative(found, unknownsOf(group.kind)));
    setFigures(machine, group, values);
    measured.residuals.push_back(residualOf(wordOf(group), found, values));
  }
  machine.launch = launches / static_cast<double>(std::max<size_t>(spreads.size(), 1));
  Spreading spreading = fitSpreading(spreads, machine.cores);
  machine.spread = spreading.share, machine.grain = spreading.grain;
  Residual whole{"training steps, all cores", spreads.size(), 0, 0};
  for (const SpreadObservation &one : spreads) {
    whole.seconds += one.whole;
    whole.relative += std::abs(spreadSeconds(one, spreading, machine.cores) / one.whole - 1) / static_cast<double>(spreads.size());
  }
  measured.residuals.push_back(whole);
  measured.remark = fmt::format("{}, {}: measured by `npar machine measure{}`", hostName(), today(), options.quick ? " --quick" : "");
  return measured;
}

} // namespace npar::planner
