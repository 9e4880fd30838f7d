// Names the step and the program that a process executes, so that processes can check that they agree.
#pragma once

#include <cstdint>
#include <string>

namespace npar::engine {

/// Plain data, for messages.
struct StepMark {
  uint64_t program = 0;      ///< CommunicationPlan::program; 0 if unknown
  int64_t trainingStep = -1; ///< -1 before the first
  bool operator==(const StepMark &other) const { return program == other.program && trainingStep == other.trainingStep; }
};

/// Empty, or in which step of which program two processes are, where these differ.
std::string differenceOf(uint32_t process, const StepMark &own, uint32_t other, const StepMark &theirs);

} // namespace npar::engine
