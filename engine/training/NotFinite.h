// Numbers of a training run that are infinite or none at all: which step, which parameter.
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/runtime/Session.h"

#include <optional>
#include <string>

namespace npar::training {

/// Whether loss and gradient norm are finite, or the norm alone is not since fp16's loss scale is still too large: such a step is skipped
/// and the scale halved, which is no fault of the run.
bool isSound(const engine::StepResult &result);

/// Says what is wrong with a step that is not sound: the first parameter, in order of declaration, whose gradient is not finite, or else.
std::string describeUnsound(const engine::Session &session, const program::Program &program, const engine::StepResult &result,
                            int64_t step);

/// The first parameter, in order of declaration, with a value that is not finite.
std::optional<std::string> firstParameterNotFinite(const engine::Session &session, const program::Program &program);

} // namespace npar::training
