// The driver's exit codes: documented in `npar --help` and README.md, relied upon by scripts.
#pragma once

#include "engine/status/Status.h"

namespace npar::driver {

enum class ExitCode {
  Good = 0,
  BadInput = 1, ///< model text, data, weights or program file
  Usage = 2,
  CheckFailed = 3,
  RunFailed = 4,
  Timeout = 5,
  Internal = 6,
};

inline constexpr const char *exitCodeText = "Exit codes: 0 success, 1 invalid input, 2 invalid usage, 3 a check failed, 4 the run failed,\n"
                                            "            5 time-out, 6 internal error.\n";

/// Codes of the engine's Status have the same numbers by definition.
inline ExitCode exitCodeOf(const engine::Status &status) {
  engine::Code code = status.code() == engine::Code::Stopped ? engine::Code::RunFailed : status.code();
  return static_cast<ExitCode>(static_cast<int>(code));
}

} // namespace npar::driver
