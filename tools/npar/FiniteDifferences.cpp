// Checks the one-rank gradients themselves: the loss along a random direction in one tensor at a time, five-point differences.
#include "tools/npar/Equivalence.h"

#include "engine/data/DataSource.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>

namespace npar::driver {

using engine::Result;
using engine::Session;
using engine::Status;
using program::VariableKind;

namespace {

constexpr double finiteBound = 1e-5, stride = 3e-4;

/// "h.0.attn.c_attn.weight" and "h.5.attn.c_attn.weight" are of one kind: "h.*.attn.c_attn.weight".
std::string kindOf(const std::string &path) {
  std::string kind;
  for (char letter : path)
    if (letter < '0' || letter > '9')
      kind += letter;
    else if (kind.empty() || kind.back() != '*')
      kind += '*';
  return kind;
}

std::vector<std::string> firstAndLastOfEachKind(const std::vector<std::string> &names) {
  std::vector<std::string> chosen;
  for (size_t i = 0; i < names.size(); ++i) {
    bool first = true, last = true;
    for (size_t j = 0; j < names.size(); ++j)
      if (kindOf(names[i]) == kindOf(names[j])) {
        first &= j >= i;
        last &= j <= i;
      }
    if (first || last)
      chosen.push_back(names[i]);
  }
  return chosen;
}

/// Evaluates the loss at chosen parameters; every step moves all of them, so they are put back before the next.
class LossAt {
public:
  LossAt(Session &session, const program::Program &program, uint64_t seed)
      : session(session), batch(engine::DataSource::random(program.sequence(), program.batch(), seed, program.vocab())->batch(0)),
        names(variablesOf(program, VariableKind::Parameter)) {}

  Status remember() {
    for (const std::string &name : names) {
      Result<std::vector<double>> value = session.read(name);
      if (!value.ok())
        return value.status();
      values.push_back(std::move(*value));
    }
    return {};
  }

  /// The loss with `direction * distance` added to one parameter.
  Result<double> at(size_t parameter, const std::vector<double> &direction, double distance) {
    for (size_t i = 0; i < names.size(); ++i) {
      std::vector<double> value = values[i];
      if (i == parameter)
        for (size_t j = 0; j < value.size(); ++j)
          value[j] += distance * direction[j];
      if (Status status = session.write(names[i], value); !status.ok())
        return status;
    }
    Result<engine::StepResult> result = session.step(batch.tokens, batch.targets, 0);
    if (!result.ok())
      return result.status();
    return result->loss;
  }

  const std::vector<std::string> &parameters() const { return names; }
  const std::vector<double> &value(size_t parameter) const { return values[parameter]; }

private:
  Session &session;
  engine::Batch batch;
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;
};

/// Sum over the parameter's uses of <gradient, direction>; the accumulators must hold the gradients at the remembered point.
Result<double> slopeByGradient(Session &session, const program::Program &program, size_t parameter, const std::vector<double> &direction) {
  double slope = 0;
  const auto &variables = *program.variables();
  size_t seen = 0;
  for (size_t v = 0; v < variables.size(); ++v) {
    if (variables[v]->kind() != VariableKind::Parameter || seen++ != parameter)
      continue;
    for (const program::Variable *accumulator : variables) {
      if (accumulator->kind() != VariableKind::Accumulator || accumulator->of() != static_cast<int>(v))
        continue;
      Result<std::vector<double>> gradient = session.read(accumulator->name()->str());
      if (!gradient.ok())
        return gradient.status();
      for (size_t i = 0; i < direction.size() && i < gradient->size(); ++i)
        slope += (*gradient)[i] * direction[i];
    }
  }
  return slope;
}

} // namespace

Status checkFiniteDifferences(Session &session, const program::Program &program, uint64_t seed, std::vector<Check> &checks) {
  LossAt loss(session, program, seed);
  if (Status status = loss.remember(); !status.ok())
    return status;
  std::vector<std::string> chosen = firstAndLastOfEachKind(loss.parameters());

  // All gradients at the point first: the evaluations below overwrite the accumulators.
  std::mt19937_64 random(seed + 77);
  std::normal_distribution<double> normal;
  struct Slope {
    size_t parameter;
    std::vector<double> direction;
    double gradient, difference;
  };
  std::vector<Slope> slopes;
  if (Result<double> here = loss.at(0, std::vector<double>(loss.value(0).size()), 0); !here.ok())
    return here.status();
  for (size_t i = 0; i < loss.parameters().size(); ++i) {
    if (std::find(chosen.begin(), chosen.end(), loss.parameters()[i]) == chosen.end())
      continue;
    Slope slope{i, std::vector<double>(loss.value(i).size()), 0, 0};
    double length = 0;
    for (double &entry : slope.direction) {
      entry = normal(random);
      length += entry * entry;
    }
    for (double &entry : slope.direction)
      entry /= std::sqrt(length);
    Result<double> gradient = slopeByGradient(session, program, i, slope.direction);
    if (!gradient.ok())
      return gradient.status();
    slope.gradient = *gradient;
    slopes.push_back(std::move(slope));
  }

  double largest = 0, worst = 0;
  for (Slope &slope : slopes) {
    double values[4];
    const double places[4] = {-2, -1, 1, 2};
    for (int i = 0; i < 4; ++i) {
      Result<double> value = loss.at(slope.parameter, slope.direction, places[i] * stride);
      if (!value.ok())
        return value.status();
      values[i] = *value;
    }
    slope.difference = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * stride);
    largest = std::max(largest, std::fabs(slope.difference));
  }
  std::string where;
  for (const Slope &slope : slopes) {
    double against = std::max(std::fabs(slope.difference), 1e-3 * largest);
    double error = std::fabs(slope.gradient - slope.difference) / (against > 0 ? against : 1);
    if (!std::isfinite(error))
      error = INFINITY;
    if (where.empty() || error > worst) {
      worst = error;
      where = fmt::format("'{}': {:.9g} by gradient, {:.9g} by differences", loss.parameters()[slope.parameter], slope.gradient,
                          slope.difference);
    }
  }
  checks.push_back({"finite differences", worst < finiteBound, worst,
                    fmt::format("{} of {} parameter tensors (the first and last of each kind), largest error in {}", slopes.size(),
                                loss.parameters().size(), where)});
  return {};
}

} // namespace npar::driver
