// Measures the speed of generation: the time to the first token, which includes the prompt, and the rate of the others.
#pragma once

#include "tools/npar/terminal/Talk.h"

#include <chrono>
#include <fmt/format.h>

namespace npar::driver {

class Pace {
public:
  /// Counts a generated token.
  void count() {
    if (++tokens == 1)
      first = Clock::now();
  }
  /// Prints a remark, unless fewer than two tokens were counted.
  void say() const {
    if (tokens < 2)
      return;
    auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
    printRemark(fmt::format("the first token after {:.3g} s, {:.4g} tokens/s from then on", seconds(first - start),
                            static_cast<double>(tokens - 1) / seconds(Clock::now() - first)));
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now(), first;
  int64_t tokens = 0;
};

} // namespace npar::driver
