// Compares two sessions tensor by tensor after each step.
#include "tools/npar/verify/Equivalence.h"

#include "engine/data/DataSource.h"
#include "engine/program/Compute.h"
#include "engine/runtime/NotFinite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>

namespace npar::driver {

using engine::Session;
using engine::Status;
using program::VariableKind;

namespace {

constexpr double floorShare = 1e-3;
constexpr double float64Roundings = 16 * 0x1p-53; ///< of several operations that make one term

/// What is not finite is as wrong as it gets, on both sides too.
double distance(double a, double b) { return std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : INFINITY; }

Status compareVariables(Session &session, Session &reference, const std::vector<std::string> &names, const std::string &suffix,
                        ErrorMeasure &measure) {
  for (const std::string &name : names) {
    engine::Result<std::vector<double>> value = session.read(name), expected = reference.read(name);
    if (!value.ok())
      return value.status();
    if (!expected.ok())
      return expected.status();
    measure.add(name + suffix, *value, *expected);
  }
  return {};
}

} // namespace

std::vector<std::string> variablesOf(const program::Program &program, VariableKind kind) {
  std::vector<std::string> names;
  for (const program::Variable *variable : *program.variables())
    if (variable->kind() == kind)
      names.push_back(variable->name()->str());
  return names;
}

std::vector<std::string> gradientsOf(const program::Program &program) {
  std::vector<std::string> names;
  for (const program::Variable *variable : *program.variables())
    if (variable->kind() == VariableKind::Accumulator && variable->of() >= 0)
      names.push_back(variable->name()->str());
  return names;
}

void ErrorMeasure::add(const std::string &tensor, const std::vector<double> &value, const std::vector<double> &reference) {
  Entry entry{tensor, value.size() == reference.size() ? 0 : INFINITY, 0};
  for (size_t i = 0; i < std::min(value.size(), reference.size()); ++i) {
    double difference = distance(value[i], reference[i]);
    if (std::isinf(difference) && !std::isinf(entry.difference))
      entry.value = value[i], entry.expected = reference[i];
    entry.difference = std::max(entry.difference, difference);
    if (std::isfinite(reference[i]))
      entry.largest = std::max(entry.largest, std::fabs(reference[i]));
  }
  entries.push_back(entry);
}

Check ErrorMeasure::check() const {
  double largest = 0, worst = 0;
  std::string where;
  const Entry *infinite = nullptr;
  for (const Entry &entry : entries)
    largest = std::max(largest, entry.largest);
  for (const Entry &entry : entries) {
    double against = std::max({entry.largest, floorShare * largest, allowed / bound});
    double error = against > 0 ? entry.difference / against : entry.difference;
    if (!infinite && std::isinf(error))
      infinite = &entry;
    if (where.empty() || error > worst) {
      worst = error;
      where = entry.tensor;
    }
  }
  Check result{name, worst < bound, worst, "", bound};
  result.detail = entries.empty() ? "nothing to compare" : fmt::format("{} tensors, largest error in '{}'", entries.size(), where);
  if (infinite && (!std::isfinite(infinite->value) || !std::isfinite(infinite->expected)))
    result.detail = fmt::format("{} tensors, '{}' is not finite: {:.6g}, on one rank in float64 {:.6g}", entries.size(), infinite->tensor,
                                infinite->value, infinite->expected);
  else if (!result.ok)
    result.detail += fmt::format(": {:.2e}, allowed {:.0e}", worst, bound);
  return result;
}

Status disturbParameters(Session &session, const program::Program &program, uint64_t seed) {
  std::mt19937_64 random(seed + 11);
  std::normal_distribution<double> normal(0, 0.1);
  for (const std::string &name : variablesOf(program, VariableKind::Parameter)) {
    engine::Result<std::vector<double>> value = session.read(name);
    if (!value.ok())
      return value.status();
    for (double &entry : *value)
      entry += normal(random);
    if (Status status = session.write(name, *value); !status.ok())
      return status;
  }
  return {};
}

Check checkMemoryUse(const std::vector<engine::ArenaUse> &uses) {
  Check check{"memory used as planned", true, std::nullopt, fmt::format("{} ranks", uses.size())};
  for (const engine::ArenaUse &one : uses)
    if (one.used != one.planned && check.ok) {
      check.ok = false;
      check.detail = fmt::format("rank {} used {} bytes of {} planned", one.rank, one.used, one.planned);
    }
  return check;
}

std::unique_ptr<engine::DataSource> dataFor(const program::Program &program, uint64_t seed) {
  // Where targets may be ignored a micro-batch loses all of them; where there is only one, a rank does.
  int64_t masked = program.micro_count() > 1 ? program.batch() / program.micro_count() : program.micro();
  return engine::DataSource::random(seed, engine::BatchShape::of(program), masked);
}

namespace {

/// How many positions counted in each loss: one in which none did is 0 on both sides, which proves nothing.
class Counts {
public:
  void add(const engine::StepResult &step) {
    if (step.losses.empty())
      add("", step.validTokens);
    for (const engine::NamedLoss &loss : step.losses)
      add(loss.name, loss.counted);
  }

  /// An error where no loss was more than nothing; else what was not compared.
  Status check(int64_t steps, std::vector<Check> &checks) const {
    std::vector<std::string> empty;
    for (const auto &[name, counted] : losses)
      if (counted == 0)
        empty.push_back(name);
    if (!empty.empty() && empty.size() == losses.size())
      return Status::badInput(fmt::format("no position counts in the loss in {} steps on random data: there is nothing to compare\n"
                                          "npar: help: make random data meet its condition, for example with a smaller axis of classes",
                                          steps));
    for (const std::string &name : empty)
      checks.push_back(
          {"loss '" + name + "'", true, std::nullopt, "not compared: no position of the random data counts in it, so it contributes 0"});
    return {};
  }

private:
  void add(const std::string &name, std::optional<int64_t> counted) {
    losses[name] += counted.value_or(1); // without a condition all do
  }

  std::map<std::string, int64_t> losses;
};

} // namespace

/// One step of both sessions on the same data.
struct BothSteps {
  engine::StepResult result, expected;
};

/// A step that fp16 skips is done again, with half the loss scale; float64 skips none.
static engine::Result<BothSteps> stepBoth(Session &session, Session &reference, engine::DataSource &data, int64_t step) {
  constexpr int mostSkips = 40; // more halvings than fp16's loss scale has
  engine::Batch batch = data.batch(step);
  engine::Result<engine::StepResult> result = session.step(batch, step);
  for (int skips = 0; result.ok() && result->skipped && skips < mostSkips; ++skips)
    result = session.step(batch, step);
  if (!result.ok())
    return result.status();
  engine::Result<engine::StepResult> expected = reference.step(batch, step);
  if (!expected.ok())
    return expected.status();
  if (!std::isfinite(expected->loss) || !std::isfinite(expected->gradNorm))
    return Status::badInput(
        fmt::format("on one rank the {} of step {} is not finite: there is nothing to compare; make the model's numbers "
                    "smaller",
                    std::isfinite(expected->loss) ? "gradient norm" : "loss", step));
  return BothSteps{*result, *expected};
}

namespace {

/// How far a type's own rounding may lead losses and gradient norms apart.
struct Bounds {
  const char *name;
  double loss, norm;
  const char *range = ""; ///< of the type, where numbers of a model may well be beyond it
};

Bounds boundsOf(const program::Program &program) {
  if (program::multipliesInTf32(program))
    return {"tf32", 1e-3, 5e-3}; // operands have the mantissa of fp16, and nothing else is rounded to it
  switch (program.compute()) {
  case program::ElementType::BF16:
    return {"bf16", 5e-3, 2e-2};
  case program::ElementType::F16:
    return {"fp16", 1e-3, 5e-3, "; the largest number of fp16 is 65504"};
  case program::ElementType::F32:
  case program::ElementType::F64: // never narrower than float32
  case program::ElementType::I32:
  case program::ElementType::U8:
    break;
  }
  return {"f32", 1e-5, 1e-4};
}

} // namespace

double roundingOf(const program::Program &program) {
  if (program::multipliesInTf32(program))
    return 0x1p-11;
  switch (program.compute()) {
  case program::ElementType::BF16:
    return 0x1p-8;
  case program::ElementType::F16:
    return 0x1p-11;
  case program::ElementType::F64:
    return 0x1p-53;
  case program::ElementType::F32:
  case program::ElementType::I32:
  case program::ElementType::U8:
    break;
  }
  return 0x1p-24;
}

double gradientNoise(double loss, double rounding) { return rounding * std::fabs(loss); }

/// Losses and gradient norms, in turn, of some steps from parameters that are disturbed, and then changed by `change`.
static engine::Result<std::vector<double>> numbersOf(Session &session, const program::Program &program, int64_t steps, uint64_t seed,
                                                     double change, uint64_t draw) {
  if (Status status = disturbParameters(session, program, seed); !status.ok())
    return status;
  std::mt19937_64 random(seed * 1000 + draw);
  std::uniform_real_distribution<double> uniform(-change, change);
  for (const std::string &name : draw == 0 ? std::vector<std::string>() : variablesOf(program, VariableKind::Parameter)) {
    engine::Result<std::vector<double>> value = session.read(name);
    if (!value.ok())
      return value.status();
    double largest = 0;
    for (double entry : *value)
      largest = std::max(largest, std::fabs(entry));
    for (double &entry : *value)
      entry += largest * uniform(random);
    if (Status status = session.write(name, *value); !status.ok())
      return status;
  }
  std::unique_ptr<engine::DataSource> data = dataFor(program, seed);
  std::vector<double> numbers;
  for (int64_t step = 0; step < steps; ++step) {
    engine::Result<engine::StepResult> result = session.step(data->batch(step), step);
    if (!result.ok())
      return result.status();
    numbers.push_back(result->loss);
    numbers.push_back(result->gradNorm);
  }
  return numbers;
}

engine::Result<double> sensitivityOf(const std::function<engine::Result<std::unique_ptr<Session>>()> &fresh,
                                     const program::Program &program, int64_t steps, uint64_t seed, double change) {
  constexpr uint64_t draws = 6;
  std::vector<double> exact;
  double largest = 0;
  for (uint64_t draw = 0; draw <= draws; ++draw) {
    engine::Result<std::unique_ptr<Session>> session = fresh();
    if (!session.ok())
      return session.status();
    engine::Result<std::vector<double>> numbers = numbersOf(**session, program, steps, seed, change, draw);
    if (!numbers.ok())
      return numbers.status();
    if (draw == 0)
      exact = *numbers;
    for (size_t i = 0; i < exact.size(); ++i)
      if (i % 2 == 0 ? exact[i] != 0 : exact[i] > gradientNoise(exact[i - 1], float64Roundings))
        largest = std::max(largest, distance((*numbers)[i], exact[i]) / std::fabs(exact[i]));
  }
  return largest;
}

Status compareOwnType(Session &session, Session &reference, const program::Program &program, int64_t steps, uint64_t seed,
                      std::vector<Check> &checks) {
  Bounds bounds = boundsOf(program);
  ErrorMeasure losses(fmt::format("in {}: loss", bounds.name), bounds.loss),
      norms(fmt::format("in {}: gradient norm", bounds.name), bounds.norm);
  for (Session *one : {&session, &reference})
    if (Status status = disturbParameters(*one, program, seed); !status.ok())
      return status;
  std::unique_ptr<engine::DataSource> data = dataFor(program, seed);
  std::string unsound; // the first step that is
  for (int64_t step = 0; step < steps; ++step) {
    engine::Result<BothSteps> both = stepBoth(session, reference, *data, step);
    if (!both.ok())
      return both.status();
    if (unsound.empty() && (!engine::isSound(both->result) || both->result.skipped))
      unsound = engine::describeUnsound(session, program, both->result, step);
    losses.add(fmt::format("loss in step {}", step), {both->result.loss}, {both->expected.loss});
    norms.add(fmt::format("grad_norm in step {}", step), {both->result.gradNorm}, {both->expected.gradNorm});
    norms.allow(gradientNoise(both->expected.loss, roundingOf(program)));
  }
  for (const ErrorMeasure *measure : {&losses, &norms}) {
    checks.push_back(measure->check());
    if (!unsound.empty() && !checks.back().ok)
      checks.back().detail += fmt::format("; {}{}", unsound, bounds.range);
  }
  return {};
}

Status compareSessions(Session &session, Session &reference, const program::Program &program, int64_t steps, uint64_t seed,
                       std::vector<Check> &checks) {
  ErrorMeasure initial("initial parameters"), losses("loss"), norms("gradient norm"), gradients("gradients"), states("optimizer state"),
      parameters("parameters");
  if (Status status = compareVariables(session, reference, variablesOf(program, VariableKind::Parameter), "", initial); !status.ok())
    return status;
  for (Session *one : {&session, &reference})
    if (Status status = disturbParameters(*one, program, seed); !status.ok())
      return status;
  std::unique_ptr<engine::DataSource> data = dataFor(program, seed);
  Counts counts;
  for (int64_t step = 0; step < steps; ++step) {
    engine::Result<BothSteps> both = stepBoth(session, reference, *data, step);
    if (!both.ok())
      return both.status();
    counts.add(both->expected);
    std::string suffix = fmt::format(" in step {}", step);
    losses.add("loss" + suffix, {both->result.loss}, {both->expected.loss});
    norms.add("grad_norm" + suffix, {both->result.gradNorm}, {both->expected.gradNorm});
    for (ErrorMeasure *measure : {&norms, &gradients})
      measure->allow(gradientNoise(both->expected.loss, float64Roundings));
    if (Status status = compareVariables(session, reference, gradientsOf(program), suffix, gradients); !status.ok())
      return status;
  }
  std::string suffix = fmt::format(" after {} steps", steps);
  if (Status status = compareVariables(session, reference, variablesOf(program, VariableKind::State), suffix, states); !status.ok())
    return status;
  if (Status status = compareVariables(session, reference, variablesOf(program, VariableKind::Parameter), suffix, parameters); !status.ok())
    return status;
  for (const ErrorMeasure *measure : {&initial, &losses, &norms, &gradients, &states, &parameters})
    checks.push_back(measure->check());
  return counts.check(steps, checks);
}

} // namespace npar::driver
