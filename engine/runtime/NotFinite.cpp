// Looks through parameters and gradients for the first value that is not finite.
#include "engine/runtime/NotFinite.h"

#include "engine/program/ModelState.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace npar::engine {
namespace {

bool isFinite(const Session &session, const program::Variable &variable) {
  bool finite = true;
  Status status = session.visit(variable.name()->str(), [&](const double *values, size_t count) {
    finite &= std::all_of(values, values + count, [](double value) { return std::isfinite(value); });
  });
  return !status.ok() || finite;
}

/// The first parameter with a gradient that is not finite, for any of its uses.
std::optional<std::string> firstGradientNotFinite(const Session &session, const program::Program &program) {
  int32_t parameter = 0;
  for (const program::Variable *variable : *program.variables()) {
    if (variable->kind() == program::VariableKind::Parameter)
      for (const program::Variable *use : *program.variables())
        if (use->kind() == program::VariableKind::Accumulator && use->of() == parameter && !isFinite(session, *use))
          return variable->name()->str();
    ++parameter;
  }
  return std::nullopt;
}

/// Six significant digits.
std::string digitsOf(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

/// The first parameter or state that is not finite, or null.
const program::Variable *parameterNotFinite(const Session &session, const program::Program &program) {
  for (const program::Variable *variable : *program.variables())
    if (variable->kind() == program::VariableKind::Parameter && !isFinite(session, *variable))
      return variable;
  return nullptr;
}

std::string described(const program::Variable &variable) {
  return (program::isModelState(variable) ? "state '" : "parameter '") + variable.name()->str() + "'";
}

} // namespace

bool isSound(const StepResult &result) {
  if (!std::isfinite(result.loss))
    return false;
  return std::isfinite(result.gradNorm) || result.lossScale > 1;
}

std::optional<std::string> firstParameterNotFinite(const Session &session, const program::Program &program) {
  const program::Variable *found = parameterNotFinite(session, program);
  return found ? std::optional<std::string>(described(*found)) : std::nullopt;
}

std::string describeUnsound(const Session &session, const program::Program &program, const StepResult &result, int64_t step) {
  std::string numbers = "(loss " + digitsOf(result.loss) + ", gradient norm " + digitsOf(result.gradNorm) + ")";
  std::string begin = "training step " + std::to_string(step) + ": ";
  if (!result.skipped)
    return begin + "the loss is not finite, although every gradient is " + numbers + "; parameters were updated";
  if (const program::Variable *variable = parameterNotFinite(session, program)) {
    const char *update =
        program::isModelState(*variable) ? "after its update" : "after an update that was too large: lower the learning rate";
    return begin + described(*variable) + " is not finite, " + (step == 0 ? "since initialization or loading" : update) + " " + numbers;
  }
  std::optional<std::string> gradient = firstGradientNotFinite(session, program);
  std::string what =
      gradient ? "the gradient of '" + *gradient + "' is not finite" : "the gradient norm is not finite, although each gradient is";
  return begin + what + " " + numbers + "; parameters and optimizer state are those of the step before";
}

} // namespace npar::engine
