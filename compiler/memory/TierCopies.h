// Copies between the tiers of memory: what is stored outside of the device is brought to the steps that use it and taken back. No MLIR.
#pragma once

#include "compiler/memory/Allocate.h"

#include <functional>

namespace npar::memory {

/// Seconds of a copy, and of a step that the host computes, by their bytes.
struct TierCosts {
  double hostLatency = 0, hostSecondsPerByte = 0;
  double fileLatency = 0, fileSecondsPerByte = 0;
  double hostStepSecondsPerByte = 0; ///< 0: as the step is planned already
};

/// Makes the label of a copy: its text, and the label of the step that it serves, whose place it has.
using CopyLabel = std::function<uint32_t(const std::string &text, uint32_t like)>;

/// Adds the copies that the tiers of the class's variables need, to all fragments:
///
///   step on the device   file -> host -> device before it; its result device -> host -> file after it, if a variable there is set to it
///   step on the host     device -> host before it; its result host -> device after it
///
/// The host runs the steps of the update that read or write a state that is not on the device, and those that read what such a step makes;
/// never a collective, a message or a product. A copy is placed before the step that precedes its user among the users of copies, so that it
/// runs during that step, and what was copied stays for the next user.
void addTierCopies(ClassModel &model, const TierCosts &costs, const CopyLabel &label);

} // namespace npar::memory
