// Looks for infinite values and NaN in parameters and gradients, and words what it finds.
#include "engine/training/NotFinite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::training {

using program::VariableKind;

namespace {

bool isFinite(const engine::Session &session, const program::Variable &variable) {
  bool finite = true;
  engine::Status status = session.visit(variable.name()->str(), [&](const double *values, size_t count) {
    finite &= std::all_of(values, values + count, [](double value) { return std::isfinite(value); });
  });
  return !status.ok() || finite;
}

/// The first parameter with a gradient, in any of its uses, that is not finite.
std::optional<std::string> firstGradientNotFinite(const engine::Session &session, const program::Program &program) {
  int32_t parameter = 0;
  for (const program::Variable *variable : *program.variables()) {
    if (variable->kind() == VariableKind::Parameter)
      for (const program::Variable *use : *program.variables())
        if (use->kind() == VariableKind::Accumulator && use->of() == parameter && !isFinite(session, *use))
          return variable->name()->str();
    ++parameter;
  }
  return std::nullopt;
}

} // namespace

bool isSound(const engine::StepResult &result) {
  if (!std::isfinite(result.loss))
    return false;
  return std::isfinite(result.gradNorm) || result.lossScale > 1;
}

std::optional<std::string> firstParameterNotFinite(const engine::Session &session, const program::Program &program) {
  for (const program::Variable *variable : *program.variables())
    if (variable->kind() == VariableKind::Parameter && !isFinite(session, *variable))
      return variable->name()->str();
  return std::nullopt;
}

std::string describeUnsound(const engine::Session &session, const program::Program &program, const engine::StepResult &result,
                            int64_t step) {
  std::string numbers = fmt::format("loss {:.6g}, gradient norm {:.6g}", result.loss, result.gradNorm);
  if (!result.skipped)
    return fmt::format("training step {}: the loss is not finite, although every gradient is ({}); parameters were updated", step, numbers);
  if (std::optional<std::string> parameter = firstParameterNotFinite(session, program))
    return fmt::format("training step {}: parameter '{}' is not finite, {} ({})", step, *parameter,
                       step == 0 ? "since initialization or loading" : "after an update that was too large: lower the learning rate",
                       numbers);
  std::optional<std::string> gradient = firstGradientNotFinite(session, program);
  std::string what = gradient ? fmt::format("the gradient of '{}' is not finite", *gradient)
                              : "the gradient norm is not finite, although each gradient is";
  return fmt::format("training step {}: {} ({}); parameters and optimizer state are those of the step before", step, what, numbers);
}

} // namespace npar::training
