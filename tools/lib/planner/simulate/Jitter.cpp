// Simulates samples in parallel, and adds them up in their order.
#include "tools/lib/planner/simulate/Jitter.h"

#include "engine/numbers/Philox.h"
#include "tools/lib/planner/simulate/Prediction.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <optional>
#include <thread>

namespace npar::planner {
namespace {

/// z of which a share `above` in (0, 1) of the standard normal distribution is above, by bisection: as exact as erfc.
double normalAbove(double above) {
  double low = -40, high = 40;
  for (int i = 0; i < 64; ++i) {
    double middle = (low + high) / 2;
    (0.5 * std::erfc(middle / std::sqrt(2.0)) > above ? low : high) = middle;
  }
  return low;
}

double drawSlowest(const std::vector<SlowRanks> &groups, const Jitter &jitter, uint64_t rankClass, int64_t sample) {
  double slowest = 0;
  for (size_t group = 0; group < groups.size(); ++group) {
    auto bits = engine::philox(jitter.seed, rankClass << 32 | group, static_cast<uint64_t>(sample));
    double chance = engine::uniform(bits[0], bits[1]) - 0x1p-54;
    slowest = std::max(slowest, groups[group].times * slowestOf(groups[group].ranks, jitter.deviation, chance));
  }
  return slowest;
}

} // namespace

double slowestOf(int64_t ranks, double deviation, double chance) {
  double above = -std::expm1(std::log(chance) / static_cast<double>(ranks)), variance = std::log1p(deviation * deviation);
  return std::exp(std::sqrt(variance) * normalAbove(above) - variance / 2);
}

engine::Result<JitterResult> sampleJitter(const program::Program &program, const cost::Machine &machine, const cost::Topology &topology,
                                          const Disturbance &disturbance, const Jitter &jitter, engine::Observer &observer) {
  std::vector<double> seconds(static_cast<size_t>(jitter.samples));
  std::vector<std::optional<engine::Status>> errors(seconds.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> over{false};
  auto work = [&](engine::Observer &observer) {
    for (size_t sample; !over && (sample = next++) < seconds.size();) {
      observer.phase("sample " + std::to_string(sample + 1) + " of " + std::to_string(seconds.size()));
      if (observer.wantsToStop())
        over = true;
      cost::Deviations deviations = disturbance.deviations;
      for (size_t index = 0; index < deviations.computing.size(); ++index)
        deviations.computing[index] = drawSlowest(disturbance.ranks[index], jitter, index, static_cast<int64_t>(sample));
      engine::Result<cost::Simulation> simulation = cost::simulateStep(program, machine, topology, deviations);
      if (simulation.ok())
        seconds[sample] = secondsPerStep(machine, *simulation);
      else
        errors[sample] = simulation.status();
    }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min<size_t>(std::max(1u, std::thread::hardware_concurrency()), seconds.size()); ++i)
    others.emplace_back([&] {
      engine::Observer nobody;
      work(nobody);
    });
  work(observer);
  for (std::thread &other : others)
    other.join();
  TRY_STATUS(engine::stopIfAsked(observer, "the simulation"));
  for (const std::optional<engine::Status> &error : errors)
    if (error)
      return *error;
  JitterResult result;
  result.mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  std::sort(seconds.begin(), seconds.end());
  auto percentile = [&](size_t percent) { return seconds[(seconds.size() * percent + 99) / 100 - 1]; };
  result.p50 = percentile(50), result.p95 = percentile(95);
  return result;
}

} // namespace npar::planner
