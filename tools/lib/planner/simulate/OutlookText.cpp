// An outlook as JSON and as rows below the prediction's.
#include "engine/json/Json.h"
#include "tools/lib/planner/simulate/Outlook.h"

#include <cmath>
#include <fmt/format.h>

namespace npar::planner {
namespace {

std::string lengthText(double seconds) {
  return seconds >= 2 * 86400  ? fmt::format("{:.1f} days", seconds / 86400)
         : seconds >= 2 * 3600 ? fmt::format("{:.1f} h", seconds / 3600)
         : seconds >= 120      ? fmt::format("{:.1f} min", seconds / 60)
                               : secondsText(seconds);
}

/// The cost of training on a number of tokens.
struct TokenCost {
  double steps, seconds, deviceHours, dollars; ///< dollars: 0: the machine has no price
  explicit TokenCost(const Outlook &outlook)
      : steps(std::ceil(outlook.request.tokens / outlook.tokensPerStep)), seconds(steps * outlook.secondsPerStep() * outlook.factor()),
        deviceHours(seconds / 3600 * static_cast<double>(outlook.prediction.ranks)), dollars(outlook.prediction.price * seconds / 3600) {}
};

} // namespace

void addOutlook(OrderedJson &json, const Outlook &outlook) {
  double seconds = outlook.secondsPerStep();
  if (outlook.undisturbed)
    json["disturbed"] = {{"slow", outlook.request.slow.ranks},
                         {"slow_links", outlook.request.slow.links},
                         {"undisturbed_seconds_per_step", outlook.undisturbedSeconds},
                         {"times_as_long", outlook.prediction.seconds / outlook.undisturbedSeconds}};
  if (outlook.jitter)
    json["jitter"] = {{"distribution", "lognormal"},
                      {"deviation", outlook.request.jitter},
                      {"seed", outlook.request.seed.value_or(0)},
                      {"samples", outlook.request.samples.value_or(100)},
                      {"mean_seconds_per_step", outlook.jitter->mean},
                      {"p50_seconds_per_step", outlook.jitter->p50},
                      {"p95_seconds_per_step", outlook.jitter->p95}};
  if (outlook.failures)
    json["failures"] = {{"seconds_between_failures", outlook.failures->between},
                        {"checkpoint_seconds", outlook.failures->checkpoint},
                        {"restart_seconds", outlook.failures->restart},
                        {"young_interval_seconds", youngInterval(*outlook.failures)},
                        {"interval_seconds", dalyInterval(*outlook.failures)},
                        {"interval_steps", outlook.interval()},
                        {"lost", 1 - 1 / outlook.factor()},
                        {"effective_seconds_per_step", seconds * outlook.factor()}};
  if (outlook.request.tokens > 0) {
    TokenCost cost(outlook);
    json["tokens"] = {{"count", static_cast<uint64_t>(outlook.request.tokens)},
                      {"per_step", static_cast<uint64_t>(outlook.tokensPerStep)},
                      {"steps", static_cast<uint64_t>(cost.steps)},
                      {"seconds", cost.seconds},
                      {"device_hours", cost.deviceHours},
                      {"dollars", cost.dollars > 0 ? OrderedJson(cost.dollars) : OrderedJson()}};
  }
}

std::string outlookText(const Outlook &outlook) {
  std::string text;
  if (outlook.undisturbed) {
    text += "\n  slow ranks and links (included above)\n";
    text += predictionRow("  undisturbed step", secondsText(outlook.undisturbedSeconds),
                          fmt::format("slowed {:.3f} times as long", outlook.prediction.seconds / outlook.undisturbedSeconds));
  }
  if (outlook.jitter) {
    int64_t samples = outlook.request.samples.value_or(100);
    text += fmt::format("\n  jitter of {:g} % of each rank's computing, {} sample{} of seed {}\n", 100 * outlook.request.jitter, samples,
                        samples == 1 ? "" : "s", outlook.request.seed.value_or(0));
    text += predictionRow("  mean", secondsText(outlook.jitter->mean),
                          fmt::format("{:.3f} times the step without jitter", outlook.jitter->mean / outlook.prediction.seconds));
    text += predictionRow("  median", secondsText(outlook.jitter->p50));
    text += predictionRow("  95th percentile", secondsText(outlook.jitter->p95));
  }
  if (outlook.failures) {
    const Failures &failures = *outlook.failures;
    text += fmt::format("\n  failures, one in {}\n", lengthText(failures.between));
    text += predictionRow("  checkpoint every", lengthText(dalyInterval(failures)),
                          fmt::format("{} step{} (Daly 2006; Young 1974: {})", outlook.interval(), outlook.interval() == 1 ? "" : "s",
                                      lengthText(youngInterval(failures))));
    text += predictionRow("  lost", fmt::format("{:.2f} %", 100 * (1 - 1 / outlook.factor())),
                          "to checkpoints, restarts and what is computed again");
    text += predictionRow("  step with that", secondsText(outlook.secondsPerStep() * outlook.factor()));
  }
  if (outlook.request.tokens > 0) {
    TokenCost cost(outlook);
    text += fmt::format("\n  {:g} tokens, {:g} per step\n", outlook.request.tokens, outlook.tokensPerStep);
    text += predictionRow("  steps", fmt::format("{:.0f}", cost.steps));
    text += predictionRow("  time", lengthText(cost.seconds), fmt::format("{:.1f} device hours", cost.deviceHours));
    text += predictionRow("  price", cost.dollars > 0 ? fmt::format("{:.2f} USD", cost.dollars) : "unknown",
                          cost.dollars > 0 ? "" : "the machine file has no price of a host");
  }
  return text;
}

} // namespace npar::planner
