// Finds the step and the parameter where numbers of a training run became infinite or NaN.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/runtime/Session.h"

#include <optional>
#include <string>

namespace npar::training {

/// True if loss and gradient norm are finite. Also true if only the norm is not because the loss scale of fp16 is still too large: such a
/// step is skipped and the scale halved, which is normal.
bool isSound(const engine::StepResult &result);

/// Describes the cause of a step that is not sound, with the first parameter, in declaration order, whose value or gradient is not finite.
std::string describeUnsound(const engine::Session &session, const program::Program &program, const engine::StepResult &result,
                            int64_t step);

/// The first parameter, in declaration order, with a value that is not finite.
std::optional<std::string> firstParameterNotFinite(const engine::Session &session, const program::Program &program);

} // namespace npar::training
