// A progress bar on stderr: step, loss, speed, time left. On a terminal one line is redrawn, elsewhere plain lines come now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace npar::driver {

/// A number without a fraction, in groups of three digits: "83,804".
std::string grouped(double number);

class Progress {
public:
  /// `unit`: what speeds count; `shown` false: says nothing; `computes` false: steps compute nothing.
  Progress(int64_t steps, std::string unit, bool shown, bool computes = true);
  /// After a step: `done` steps are finished. `loss`: nothing where none is known. `epochs`: how often all data have come so far; nothing
  /// where they have no end.
  void update(int64_t done, std::optional<double> loss, double perSecond, std::optional<double> epochs = std::nullopt);
  /// A line of its own, which stays.
  void say(const std::string &line);
  /// Ends the redrawn line, so that other text may follow.
  void finish();

private:
  using Clock = std::chrono::steady_clock;
  /// The loss with two spaces after it; empty where none is known.
  std::string lossText(std::optional<double> loss) const;
  std::string speedText() const;
  void drawBar(int64_t done, std::optional<double> loss);
  void printLine(int64_t done, std::optional<double> loss);
  int64_t steps;
  std::string unit;
  bool shown, computes, terminal, drawn = false;
  double speed = 0; ///< units/s, smoothed over about ten steps
  std::optional<double> epochs;
  Clock::time_point start, last;
};

} // namespace npar::driver
