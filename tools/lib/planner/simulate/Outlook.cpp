// Runs the simulations that look beyond the undisturbed step.
#include "tools/lib/planner/simulate/Outlook.h"

#include "engine/program/Ranks.h"
#include "engine/status/OptionNames.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::planner {

using engine::Status;

namespace {

/// Tokens that a sample holds: positions of the stream that the model reads, or of the longest input of classes.
double tokensOfSample(const program::Program &program) {
  double most = 0;
  for (const program::LogicalInput *input : *program.inputs()) {
    double positions = 1;
    for (uint32_t i = 0; i < input->shape()->size(); ++i)
      if (input->axes()->Get(i)->str() != "batch")
        positions *= static_cast<double>(input->shape()->Get(i));
    if (input->role() != program::InputRole::Other)
      return positions;
    if (input->classes() > 0 && positions > 1)
      most = std::max(most, positions);
  }
  return most;
}

} // namespace

double youngInterval(const Failures &failures) { return std::sqrt(2 * failures.checkpoint * failures.between); }

double dalyInterval(const Failures &failures) {
  double ratio = failures.checkpoint / (2 * failures.between);
  if (ratio >= 1)
    return failures.between;
  return youngInterval(failures) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - failures.checkpoint;
}

double slowdown(const Failures &failures, double interval) {
  double mean = failures.between;
  return mean * std::exp(failures.restart / mean) * std::expm1((interval + failures.checkpoint) / mean) / interval;
}

int64_t stepsBetween(const Failures &failures, double secondsPerStep) {
  return std::max<int64_t>(1, std::llround(std::min(dalyInterval(failures) / secondsPerStep, 1e15)));
}

engine::Result<Outlook> outlookOf(const OutlookRequest &request, const program::Program &program, const cost::Machine &machine,
                                  const std::vector<std::vector<int64_t>> &places, const cost::Deviations &deviations,
                                  engine::Observer &observer) {
  Outlook result;
  result.request = request;
  result.tokensPerStep = tokensOfSample(program) * static_cast<double>(program.batch());
  if (request.tokens > 0 && result.tokensPerStep == 0)
    return Status::badInput(
        fmt::format("{}: model '{}' reads no tokens", engine::labelOf(engine::Option::TotalTokens), program.model()->str()));
  TRY_STATUS(engine::stopIfAsked(observer, "the simulation"));
  TRY(result.disturbance, disturbanceOf(request.slow, program, machine, places, deviations));
  TRY(result.prediction, predict(program, machine, places, request.slow.given() ? result.disturbance.deviations : deviations));
  cost::Topology topology(machine, places, program::worldOf(program));
  if (request.slow.given()) {
    TRY(cost::Simulation plain, cost::simulateStep(program, machine, topology, deviations));
    result.undisturbedSeconds = planner::secondsPerStep(machine, plain);
    result.undisturbed = std::move(plain);
  }
  if (request.jitter > 0) {
    engine::Activity simulating(observer, "simulating steps with jitter");
    Jitter jitter{request.jitter, request.seed.value_or(0), request.samples.value_or(100)};
    TRY(result.jitter, sampleJitter(program, machine, topology, result.disturbance, jitter, observer));
  }
  if (request.deviceHours > 0 || request.hostHours > 0) {
    double perHour = (request.deviceHours > 0 ? static_cast<double>(result.prediction.ranks) / request.deviceHours : 0) +
                     (request.hostHours > 0 ? static_cast<double>(result.prediction.hosts) / request.hostHours : 0);
    result.failures = Failures{3600 / perHour, request.checkpoint, request.restart};
    if (double factor = result.factor(); !(factor < 1e6))
      return Status::badInput(
          fmt::format("one failure every {:.3g} s, {:.3g} s per step, {:.3g} s per checkpoint and {:.3g} s per restart: training makes "
                      "no progress",
                      result.failures->between, result.secondsPerStep(), request.checkpoint, request.restart));
  }
  return result;
}

} // namespace npar::planner
