// Measures one step against float64 and halves the list of places that may be to blame.
#include "tools/npar/verify/RoundingCause.h"

#include "tools/npar/verify/Equivalence.h"

#include <algorithm>
#include <cmath>

namespace npar::driver {

/// Rounds to the nearest number with as many digits as the type has.
static double rounded(double value, double rounding) {
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent); // from 0.5 to 1
  return std::ldexp(std::nearbyint(mantissa / rounding) * rounding, exponent);
}

engine::Result<StepValues> firstStep(engine::Session &session, const program::Program &program, uint64_t seed, double rounding,
                                     const StepValues *start) {
  constexpr int mostSkips = 40; // more halvings than fp16's loss scale has
  if (engine::Status status = disturbParameters(session, program, seed); !status.ok())
    return status;
  StepValues values;
  for (const std::string &name : variablesOf(program, program::VariableKind::Parameter)) {
    engine::Result<std::vector<double>> parameter = session.read(name);
    if (!parameter.ok())
      return parameter.status();
    for (double &entry : *parameter)
      entry = rounded(entry, rounding);
    if (start && values.parameters.size() < start->parameters.size())
      *parameter = start->parameters[values.parameters.size()];
    if (engine::Status status = session.write(name, *parameter); !status.ok())
      return status;
    values.parameters.push_back(std::move(*parameter));
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
    engine::Result<std::vector<double>> gradient = session.read(name);
    if (!gradient.ok())
      return gradient.status();
    for (double &entry : *gradient)
      entry /= scale;
    values.gradients.push_back(std::move(*gradient));
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

Outcome<std::optional<RoundingCause>> findRoundingCause(size_t places, double whole,
                                                        const std::function<Outcome<double>(size_t first, size_t count)> &error) {
  size_t first = 0, count = places;
  double least = whole;
  auto holds = [&](double found) { return found < whole / 2; };
  if (count == 1) {
    Outcome<double> found = error(0, 1);
    if (!found.ok())
      return found.code();
    least = *found;
  }
  while (count > 1) {
    size_t half = count / 2;
    Outcome<double> left = error(first, half);
    if (!left.ok())
      return left.code();
    Outcome<double> right = error(first + half, count - half);
    if (!right.ok())
      return right.code();
    least = std::min(*left, *right);
    if (!holds(least))
      return std::optional<RoundingCause>();
    if (*right < *left)
      first += half, count -= half;
    else
      count = half;
  }
  return count == 1 && holds(least) ? std::optional<RoundingCause>({first, least}) : std::nullopt;
}

Outcome<std::optional<RoundingCause>> findOverflow(size_t places, const std::function<Outcome<double>(size_t first, size_t count)> &error) {
  size_t first = 0, end = places; // finite with nothing rounded from `first` on, infinite from `end` on
  Outcome<double> without = error(0, places);
  if (!without.ok())
    return without.code();
  if (places == 0 || !std::isfinite(*without))
    return std::optional<RoundingCause>();
  while (end - first > 1) {
    size_t middle = first + (end - first) / 2;
    Outcome<double> found = error(middle, places - middle);
    if (!found.ok())
      return found.code();
    if (std::isfinite(*found))
      first = middle, without = *found;
    else
      end = middle;
  }
  return std::optional<RoundingCause>({first, *without});
}

} // namespace npar::driver
