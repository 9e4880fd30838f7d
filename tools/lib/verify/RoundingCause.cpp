// Compares one step with float64 and halves the list of places that can be the cause.
#include "tools/lib/verify/RoundingCause.h"

#include "tools/lib/verify/Equivalence.h"

#include <algorithm>
#include <cmath>

namespace npar::verify {

/// Rounds to the nearest number with as many digits as the type has.
static double rounded(double value, double rounding) {
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent); // from 0.5 to 1
  return std::ldexp(std::nearbyint(mantissa / rounding) * rounding, exponent);
}

engine::Result<StepValues> firstStep(engine::Session &session, const program::Program &program, uint64_t seed, double rounding,
                                     const StepValues *start) {
  constexpr int mostSkips = 40; // more halvings than fp16's loss scale has
  TRY_STATUS(disturbParameters(session, program, seed));
  StepValues values;
  for (const std::string &name : variablesOf(program, program::VariableKind::Parameter)) {
    TRY(std::vector<double> parameter, session.read(name));
    for (double &entry : parameter)
      entry = rounded(entry, rounding);
    if (start && values.parameters.size() < start->parameters.size())
      parameter = start->parameters[values.parameters.size()];
    TRY_STATUS(session.write(name, parameter));
    values.parameters.push_back(std::move(parameter));
  }
  engine::Batch batch = dataFor(program, seed)->batch(0);
  engine::Result<engine::StepResult> result = session.step(batch, 0);
  for (int skips = 0; result.ok() && result->skipped && skips < mostSkips; ++skips)
    result = session.step(batch, 0);
  if (!result.ok())
    return result.status();
  values.loss = result->loss;
  double scale = result->lossScale > 0 ? result->lossScale : 1;
  for (const std::string &name : gradientsOf(program)) {
    TRY(std::vector<double> gradient, session.read(name));
    for (double &entry : gradient)
      entry /= scale;
    values.gradients.push_back(std::move(gradient));
  }
  return values;
}

double distance(const StepValues &values, const StepValues &reference) {
  auto ratio = [](double error, double against) { return error == 0 ? 0 : against > 0 ? error / against : INFINITY; };
  double squares = 0, against = 0;
  if (values.gradients.size() != reference.gradients.size())
    return INFINITY;
  for (size_t i = 0; i < values.gradients.size(); ++i) {
    if (values.gradients[i].size() != reference.gradients[i].size())
      return INFINITY;
    for (size_t j = 0; j < values.gradients[i].size(); ++j) {
      double difference = values.gradients[i][j] - reference.gradients[i][j];
      squares += difference * difference;
      against += reference.gradients[i][j] * reference.gradients[i][j];
    }
  }
  double loss = ratio(std::fabs(values.loss - reference.loss), std::fabs(reference.loss));
  double gradients = ratio(std::sqrt(squares), std::sqrt(against));
  double all = std::sqrt(loss * loss + gradients * gradients);
  return std::isfinite(all) ? all : INFINITY;
}

engine::Result<std::optional<RoundingCause>> findRoundingCause(size_t places, double whole, const ErrorWithout &error) {
  size_t first = 0, count = places;
  double least = whole;
  auto holds = [&](double found) { return found < whole / 2; };
  if (count == 1) {
    TRY(least, error(0, 1));
  }
  while (count > 1) {
    size_t half = count / 2;
    TRY(double left, error(first, half));
    TRY(double right, error(first + half, count - half));
    least = std::min(left, right);
    if (!holds(least))
      return std::optional<RoundingCause>();
    if (right < left)
      first += half, count -= half;
    else
      count = half;
  }
  return count == 1 && holds(least) ? std::optional<RoundingCause>({first, least}) : std::nullopt;
}

engine::Result<std::optional<RoundingCause>> findOverflow(size_t places, const ErrorWithout &error) {
  size_t first = 0, end = places; // finite with nothing rounded from `first` on, infinite from `end` on
  TRY(double without, error(0, places));
  if (places == 0 || !std::isfinite(without))
    return std::optional<RoundingCause>();
  while (end - first > 1) {
    size_t middle = first + (end - first) / 2;
    TRY(double found, error(middle, places - middle));
    if (std::isfinite(found))
      first = middle, without = found;
    else
      end = middle;
  }
  return std::optional<RoundingCause>({first, without});
}

} // namespace npar::verify
