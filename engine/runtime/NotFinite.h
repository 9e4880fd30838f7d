// Finds infinities and NaNs in a training step: in which parameter or gradient they are.
#pragma once

#include "engine/runtime/Session.h"

#include <optional>
#include <string>

namespace npar::engine {

/// True if loss and gradient norm are finite, or if only the norm is not, because fp16's loss scale is still too large: such a step is
/// skipped and the scale halved, which is part of a normal run.
bool isSound(const StepResult &result);

/// Describes a step that is not sound: the first parameter, in order of declaration, that is not finite or whose gradient is not.
std::string describeUnsound(const Session &session, const program::Program &program, const StepResult &result, int64_t step);

/// The first parameter or state, in order of declaration, with a value that is not finite, such as "state 'bias'".
std::optional<std::string> firstParameterNotFinite(const Session &session, const program::Program &program);

} // namespace npar::engine
