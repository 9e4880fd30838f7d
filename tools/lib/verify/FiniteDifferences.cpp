// Checks the one-rank gradients themselves with finite differences of the loss along a random direction in one tensor at a time.
#include "tools/lib/verify/Equivalence.h"

#include "engine/data/DataSource.h"
#include "engine/program/ModelState.h"
#include "tools/lib/verify/DifferenceSlope.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <random>

namespace npar::verify {

using engine::Result;
using engine::Session;
using engine::Status;
using program::VariableKind;

namespace {

/// The most directions tried in one tensor: if the loss has a kink within every stride of one, the next is tried.
constexpr int mostDirections = 3;

/// "h.0.attn.c_attn.weight" and "h.5.attn.c_attn.weight" share the kind "h.*.attn.c_attn.weight".
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
  LossAt(Session &session, const program::Program &program, uint64_t seed, engine::Observer &observer)
      : session(session), observer(observer), batch(dataFor(program, seed)->batch(0)),
        names(variablesOf(program, VariableKind::Parameter)) {}

  Status remember() {
    for (const std::string &name : names) {
      TRY(std::vector<double> value, session.read(name));
      values.push_back(std::move(value));
    }
    return {};
  }

  /// The loss with `direction * distance` added to one parameter.
  Result<double> at(size_t parameter, const std::vector<double> &direction, double distance) {
    TRY_STATUS(engine::stopIfAsked(observer, "the verification"));
    for (size_t i = 0; i < names.size(); ++i) {
      std::vector<double> value = values[i];
      if (i == parameter)
        for (size_t j = 0; j < value.size(); ++j)
          value[j] += distance * direction[j];
      TRY_STATUS(session.write(names[i], value));
    }
    TRY(engine::StepResult result, session.step(batch, 0));
    return result.loss;
  }

  /// Tells the observer whose slope is evaluated next.
  void begin(size_t parameter) { observer.phase(names[parameter]); }
  const std::vector<std::string> &parameters() const { return names; }
  const std::vector<double> &value(size_t parameter) const { return values[parameter]; }

private:
  Session &session;
  engine::Observer &observer;
  engine::Batch batch;
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;
};

/// Sum over the parameter's uses; the accumulators must hold the gradients at the remembered point.
Result<std::vector<double>> gradientOf(Session &session, const program::Program &program, const std::string &parameter) {
  std::vector<double> sum;
  for (const program::Variable *accumulator : *program.variables()) {
    if (accumulator->kind() != VariableKind::Accumulator || accumulator->of() < 0 ||
        program.variables()->Get(static_cast<uint32_t>(accumulator->of()))->name()->str() != parameter)
      continue;
    TRY(std::vector<double> gradient, session.read(accumulator->name()->str()));
    sum.resize(gradient.size());
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += gradient[i];
  }
  return sum;
}

void normalize(std::vector<double> &vector) {
  double length = 0;
  for (double entry : vector)
    length += entry * entry;
  if (length > 0)
    for (double &entry : vector)
      entry /= std::sqrt(length);
}

/// A direction half along the gradient, so that rounding does not hide the slope, and half at random, so that every element takes part.
std::vector<double> directionFor(std::vector<double> gradient, std::mt19937_64 &random) {
  std::normal_distribution<double> normal;
  std::vector<double> direction(gradient.size());
  for (double &entry : direction)
    entry = normal(random);
  normalize(direction);
  normalize(gradient);
  for (size_t i = 0; i < direction.size(); ++i)
    direction[i] += gradient[i];
  normalize(direction);
  return direction;
}

/// A parameter, a direction of length 1 in it, and the loss's slope along it, by gradient and by differences.
struct Slope {
  size_t parameter;
  std::vector<double> direction;
  double gradient = 0;
  SlopeCheck check;
};

/// Names of the parameters that are not frozen: programs compute no gradients of frozen ones.
std::vector<std::string> trainedOf(const program::Program &program) {
  std::vector<std::string> names;
  for (const program::Variable *variable : *program.variables())
    if (variable->kind() == VariableKind::Parameter && !variable->frozen() && !isModelState(*variable))
      names.push_back(variable->name()->str());
  return names;
}

/// The first and last trained parameter of each kind with directions and the slopes along them by gradient.
Result<std::vector<Slope>> slopesByGradient(Session &session, const program::Program &program, LossAt &loss, std::mt19937_64 &random) {
  std::vector<std::string> chosen = firstAndLastOfEachKind(trainedOf(program));
  std::vector<Slope> slopes;
  if (chosen.empty())
    return slopes;
  // All gradients are taken at one point: later evaluations overwrite the accumulators.
  TRY([[maybe_unused]] double here, loss.at(0, std::vector<double>(loss.value(0).size()), 0));
  for (size_t i = 0; i < loss.parameters().size(); ++i) {
    if (std::find(chosen.begin(), chosen.end(), loss.parameters()[i]) == chosen.end())
      continue;
    Slope slope;
    slope.parameter = i;
    TRY(std::vector<double> gradient, gradientOf(session, program, loss.parameters()[i]));
    gradient.resize(loss.value(i).size()); // zeros for a parameter that nothing uses
    slope.direction = directionFor(gradient, random);
    slope.gradient = std::inner_product(gradient.begin(), gradient.end(), slope.direction.begin(), 0.0);
    slopes.push_back(std::move(slope));
  }
  return slopes;
}

Status checkAll(LossAt &loss, std::vector<Slope> &slopes, double floor) {
  for (Slope &slope : slopes) {
    if (slope.check.decided)
      continue;
    loss.begin(slope.parameter);
    auto along = [&](double distance) { return loss.at(slope.parameter, slope.direction, distance); };
    TRY(slope.check, checkSlope(along, slope.gradient, floor));
  }
  return {};
}

} // namespace

Status checkFiniteDifferences(Session &session, const program::Program &program, uint64_t seed, engine::Observer &observer,
                              std::vector<Check> &checks) {
  LossAt loss(session, program, seed, observer);
  TRY_STATUS(loss.remember());
  std::mt19937_64 random(seed + 77);
  TRY(std::vector<Slope> slopes, slopesByGradient(session, program, loss, random));
  if (slopes.empty()) {
    checks.push_back({"finite differences", true, std::nullopt, "the model has no parameters"});
    return {};
  }
  double largest = 0;
  for (const Slope &slope : slopes)
    largest = std::max(largest, std::fabs(slope.gradient));
  TRY_STATUS(checkAll(loss, slopes, 1e-3 * largest));
  auto undecided = [&] { return std::any_of(slopes.begin(), slopes.end(), [](const Slope &slope) { return !slope.check.decided; }); };
  for (int directions = 1; directions < mostDirections && undecided(); ++directions) {
    TRY(std::vector<Slope> others, slopesByGradient(session, program, loss, random));
    for (size_t i = 0; i < slopes.size(); ++i)
      if (!slopes[i].check.decided)
        slopes[i] = std::move(others[i]);
    TRY_STATUS(checkAll(loss, slopes, 1e-3 * largest));
  }
  // The slope that agrees least. An undecided one counts as worse than any other, whatever its error.
  const Slope &worst = *std::max_element(slopes.begin(), slopes.end(), [](const Slope &a, const Slope &b) {
    return std::pair(!a.check.decided, a.check.error) < std::pair(!b.check.decided, b.check.error);
  });
  bool good = std::all_of(slopes.begin(), slopes.end(), [](const Slope &slope) { return slope.check.agrees(); });
  std::string detail =
      fmt::format("{} of {} parameter tensors (the first and last of each kind), largest error in '{}': {:.9g} by gradient, "
                  "{:.9g} by differences",
                  slopes.size(), loss.parameters().size(), loss.parameters()[worst.parameter], worst.gradient, worst.check.difference);
  if (!worst.check.decided)
    detail +=
        fmt::format("; the loss is smooth within no stride along {} directions: try another --seed or a smaller size", mostDirections);
  checks.push_back({"finite differences", good, worst.check.error, detail});
  checks.back().isUndecided = !worst.check.decided;
  return {};
}

} // namespace npar::verify
