// Flags of `npar simulate` that look beyond the undisturbed step, and the simulations that they need.
#include "tools/npar/simulate/Outlook.h"

#include "engine/program/Ranks.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

namespace npar::driver {
namespace {

/// A number above 0 and at most `most`, which `unit` (nothing: none) may follow.
std::optional<double> numberOf(const std::string &text, double most, const std::string &unit = "") {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  bool good = !text.empty() && !std::isspace(static_cast<unsigned char>(text[0])) && end == text.c_str() + text.size() - unit.size() &&
              text.compare(text.size() - unit.size(), unit.size(), unit) == 0 && value > 0 && value <= most;
  return good ? std::optional(value) : std::nullopt;
}

CLI::Validator hours() {
  return CLI::Validator(
      [](std::string &text) { return numberOf(text, 1e12) ? std::string() : "'" + text + "' is not a number of hours above 0"; }, "");
}

/// Turns 5% into 0.05.
CLI::Validator percentage() {
  return CLI::Validator(
      [](std::string &text) {
        std::optional<double> value = text.empty() ? std::nullopt : numberOf(text, 100, "%");
        if (!value)
          return "'" + text + "' is not a percentage above 0 and at most 100, such as 5%";
        text = fmt::format("{}", *value / 100);
        return std::string();
      },
      "");
}

/// Turns 300B into digits.
CLI::Validator tokenCount() {
  return CLI::Validator(
      [](std::string &text) {
        for (auto [unit, factor] : {std::pair("", 1.0), {"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}})
          if (text.size() > std::string(unit).size())
            if (std::optional<double> value = numberOf(text, 1e18 / factor, unit); value && *value * factor >= 1) {
              text = fmt::format("{}", *value * factor);
              return std::string();
            }
        return "'" + text + "' is not a number of tokens, such as 300e9 or 300B";
      },
      "");
}

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

void addOutlookTo(CLI::App &app, OutlookFlags &flags) {
  app.option_defaults()->group("Disturbances");
  addSlowTo(app, flags.slow);
  app.add_option("--jitter", flags.jitter,
                 "random variation: multiply each rank's computing time by a lognormal factor with mean 1 and this standard\n"
                 "deviation. A rank has one factor per training step, independent of other ranks. Ranks with equal work wait for\n"
                 "the slowest of them. Prints mean, median and 95th percentile of the step")
      ->type_name("PERCENT%")
      ->transform(percentage());
  app.add_option("--jitter-seed", flags.seed, "seed for --jitter (default: 0)")->type_name("N")->check(wholeNumber());
  app.add_option("--jitter-steps", flags.samples, "number of steps that --jitter simulates (default: 100)")
      ->type_name("N")
      ->check(wholeNumber(1, 1000000));
  app.option_defaults()->group("Failures and total cost");
  app.add_option("--mtbf", flags.deviceHours,
                 "mean hours between failures of a device. Prints the best interval between checkpoints\n"
                 "(Young 1974, Daly 2006), the share of time lost, and the resulting seconds per step")
      ->type_name("HOURS")
      ->check(hours());
  app.add_option("--host-mtbf", flags.hostHours, "mean hours between failures of a host, in addition to its devices")
      ->type_name("HOURS")
      ->check(hours());
  app.add_option("--checkpoint-seconds", flags.checkpoint, "seconds that training waits for a checkpoint; needs --mtbf or --host-mtbf")
      ->type_name("SECONDS")
      ->check(seconds());
  app.add_option("--restart-seconds", flags.restart, "seconds from a failure until training continues; needs --mtbf or --host-mtbf")
      ->type_name("SECONDS")
      ->check(seconds());
  app.add_option("--total-tokens", flags.tokens, "predict training on N tokens: steps, time, device hours, cost")
      ->type_name("N")
      ->transform(tokenCount());
}

ExitCode checkOutlook(const OutlookFlags &flags) {
  if (flags.jitter == 0 && (flags.seed || flags.samples))
    return fail(ExitCode::Usage, std::string(flags.seed ? "--jitter-seed" : "--jitter-steps") + " needs --jitter PERCENT%");
  bool fails = flags.deviceHours > 0 || flags.hostHours > 0;
  if (!fails && (flags.checkpoint > 0 || flags.restart > 0))
    return fail(ExitCode::Usage, std::string(flags.checkpoint > 0 ? "--checkpoint-seconds" : "--restart-seconds") +
                                     " needs --mtbf HOURS (device) or --host-mtbf HOURS (host)");
  if (fails && (flags.checkpoint == 0 || flags.restart == 0))
    return fail(ExitCode::Usage, std::string(flags.deviceHours > 0 ? "--mtbf" : "--host-mtbf") +
                                     " needs --checkpoint-seconds SECONDS to write a checkpoint and --restart-seconds SECONDS from a "
                                     "failure until training continues");
  return ExitCode::Good;
}

Outcome<Outlook> outlookOf(const OutlookFlags &flags, const program::Program &program, const cost::Machine &machine,
                           const std::vector<std::vector<int64_t>> &places, const cost::Deviations &deviations) {
  Outlook result;
  result.flags = flags;
  result.tokensPerStep = tokensOfSample(program) * static_cast<double>(program.batch());
  if (flags.tokens > 0 && result.tokensPerStep == 0)
    return fail(ExitCode::BadInput, fmt::format("--total-tokens: model '{}' reads no tokens", program.model()->str()));
  Outcome<Disturbance> disturbance = disturbanceOf(flags.slow, program, machine, places, deviations);
  if (!disturbance.ok())
    return disturbance.code();
  result.disturbance = std::move(*disturbance);
  engine::Result<Prediction> prediction =
      predict(program, machine, places, flags.slow.given() ? result.disturbance.deviations : deviations);
  if (!prediction.ok())
    return fail(prediction.status());
  result.prediction = std::move(*prediction);
  cost::Topology topology(machine, places, program::worldOf(program));
  if (flags.slow.given()) {
    engine::Result<cost::Simulation> plain = cost::simulateStep(program, machine, topology, deviations);
    if (!plain.ok())
      return fail(plain.status());
    result.undisturbedSeconds = driver::secondsPerStep(machine, *plain);
    result.undisturbed = std::move(*plain);
  }
  if (flags.jitter > 0) {
    Waiting waiting("simulating steps with jitter");
    engine::Result<JitterResult> jitter =
        sampleJitter(program, machine, topology, result.disturbance, {flags.jitter, flags.seed.value_or(0), flags.samples.value_or(100)});
    if (!jitter.ok())
      return fail(jitter.status());
    result.jitter = *jitter;
  }
  if (flags.deviceHours > 0 || flags.hostHours > 0) {
    double perHour = (flags.deviceHours > 0 ? static_cast<double>(result.prediction.ranks) / flags.deviceHours : 0) +
                     (flags.hostHours > 0 ? static_cast<double>(result.prediction.hosts) / flags.hostHours : 0);
    result.failures = Failures{3600 / perHour, flags.checkpoint, flags.restart};
    if (double factor = result.factor(); !(factor < 1e6))
      return fail(
          ExitCode::BadInput,
          fmt::format("one failure every {:.3g} s, {:.3g} s per step, {:.3g} s per checkpoint and {:.3g} s per restart: training makes "
                      "no progress",
                      result.failures->between, result.secondsPerStep(), flags.checkpoint, flags.restart));
  }
  return result;
}

} // namespace npar::driver
