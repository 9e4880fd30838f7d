// Programs that hang, one family per cause, each damaged in one known way, with the expected refusal.
#pragma once

#include "tests/engine/program/Pipelines.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::program {

struct BadProgram {
  ProgramT program;
  std::string check;               ///< the check that must refuse it
  std::vector<std::string> texts;  ///< texts that its message must contain: steps affected by the damage, reasons
  std::vector<uint32_t> classes{}; ///< classes whose example ranks must be in its message
  uint32_t steps = 0;              ///< length of the cycle; 0: not known
  bool anyOrder = false;           ///< it hangs with every order of communication: the message is the one without such an order
};

struct BadFamily {
  const char *name;
  /// Returns nothing for a shape that is too small for the fault.
  std::optional<BadProgram> (*make)(PipelineShape shape);
};

/// All families; each makes one program per shape.
const std::vector<BadFamily> &badFamilies();

} // namespace npar::program
