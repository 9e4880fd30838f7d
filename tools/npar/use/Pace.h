// Measures the speed of generation: the time to the first token, which includes the prompt, and the rate of the others.
#pragma once

#include "tools/npar/terminal/Talk.h"

#include <chrono>
#include <fmt/format.h>

namespace npar::driver {

class Pace {
public:
  /// Counts tokens that were generated at once.
  void count(int64_t more) {
    if (tokens == 0)
      first = Clock::now(), early = more;
    tokens += more;
  }
  /// Prints a remark, unless no token followed the first ones.
  void say() const {
    if (tokens == early)
      return;
    auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
    printRemark(fmt::format("the first token after {:.3g} s, {:.4g} tokens/s from then on", seconds(first - start),
                            static_cast<double>(tokens - early) / seconds(Clock::now() - first)));
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now(), first;
  int64_t tokens = 0, early = 0; ///< all tokens; those that came first
};

} // namespace npar::driver
