// Defines and checks the flags of `npar simulate` that look beyond the undisturbed step.
#include "tools/npar/plan/OutlookFlags.h"

#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"

#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>

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

std::string levelWords() {
  std::string words;
  for (size_t i = 0; i < dsl::linkLevels.size(); ++i)
    words += fmt::format("{}{}", i == 0 ? "" : i + 1 == dsl::linkLevels.size() ? " or " : ", ", dsl::linkLevels[i]);
  return words;
}

void addSlowTo(CLI::App &app, planner::SlowParts &slow) {
  app.add_option("--slow", slow.ranks,
                 "slow ranks and their factor: rank=3:1.5, host=0-1:1.2, or by mesh axis pp=2:1.1 (can be repeated;\n"
                 "the largest factor of a rank counts). Ranks that do the same work are simulated as one, at the speed of the slowest\n"
                 "of them, because the step waits for that one anyway")
      ->type_name("WHICH:TIMES")
      ->check(CLI::Validator(
          [](std::string &text) {
            return planner::namesSlowRanks(text)
                       ? std::string()
                       : "'" + text + "' must name ranks and a factor of at least 1, such as rank=3:1.5 or host=0-1:1.2";
          },
          ""))
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--slow-link", slow.links,
                 "slow links: level (" + levelWords() +
                     ") and factor, such as cluster:2; applies to messages and collectives whose most distant ranks are joined at that "
                     "level (can be repeated)")
      ->type_name("LEVEL:TIMES")
      ->check(CLI::Validator(
          [](std::string &text) {
            return planner::namesSlowLinks(text)
                       ? std::string()
                       : "'" + text + "' must name links (" + levelWords() + ") and a factor of at least 1, such as cluster:2";
          },
          ""))
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

} // namespace

void addOutlookTo(CLI::App &app, planner::OutlookRequest &flags) {
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

ExitCode checkOutlook(const planner::OutlookRequest &flags) {
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

} // namespace npar::driver
