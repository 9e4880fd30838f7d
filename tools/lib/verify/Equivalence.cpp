// Compares two sessions tensor by tensor after each step.
#include "tools/lib/verify/Equivalence.h"

#include "engine/data/DataSource.h"
#include "engine/program/Precision.h"
#include "engine/runtime/NotFinite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>

namespace npar::verify {

using engine::Session;
using engine::Status;
using program::VariableKind;

namespace {

constexpr double float64Roundings = 16 * 0x1p-53; ///< of several operations that make one term

Status compareVariables(Session &session, Session &reference, const std::vector<std::string> &names, const std::string &suffix,
                        ErrorMeasure &measure) {
  for (const std::string &name : names) {
    TRY(std::vector<double> value, session.read(name));
    TRY(std::vector<double> expected, reference.read(name));
    measure.add(name + suffix, value, expected);
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

Status disturbParameters(Session &session, const program::Program &program, uint64_t seed) {
  std::mt19937_64 random(seed + 11);
  std::normal_distribution<double> normal(0, 0.1);
  for (const std::string &name : variablesOf(program, VariableKind::Parameter)) {
    TRY(std::vector<double> value, session.read(name));
    for (double &entry : value)
      entry += normal(random);
    TRY_STATUS(session.write(name, value));
  }
  return {};
}

Check checkMemoryUse(const std::vector<engine::ArenaUse> &uses) {
  Check check{"memory used as planned", true, std::nullopt, fmt::format("{} ranks", uses.size())};
  for (const engine::ArenaUse &one : uses)
    if ((one.used != one.planned || one.tiersUsed != one.tiersPlanned) && check.ok) {
      check.ok = false;
      bool inArena = one.used != one.planned;
      check.detail = fmt::format("rank {} used {} bytes of {} planned{}", one.rank, inArena ? one.used : one.tiersUsed,
                                 inArena ? one.planned : one.tiersPlanned, inArena ? "" : " outside of the device");
    }
  return check;
}

std::unique_ptr<engine::DataSource> dataFor(const program::Program &program, uint64_t seed) {
  // If targets can be ignored, one micro-batch loses all of them; a single micro-batch loses those of one rank.
  int64_t masked = program.micro_count() > 1 ? program.batch() / program.micro_count() : program.micro();
  return engine::DataSource::random(seed, engine::BatchShape::of(program), masked);
}

namespace {

/// Counts the positions that contribute to each loss. A loss without any is 0 on both sides, which proves nothing.
class Counts {
public:
  void add(const engine::StepResult &step) {
    if (step.losses.empty())
      add("", step.validTokens);
    for (const engine::NamedLoss &loss : step.losses)
      add(loss.name, loss.counted);
  }

  /// An error if no position counts in any loss; otherwise appends the losses that were not compared.
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
    losses[name] += counted.value_or(1); // without a condition all positions count
  }

  std::map<std::string, int64_t> losses;
};

} // namespace

/// One step of both sessions on the same data.
struct BothSteps {
  engine::StepResult result, expected;
};

static Status begin(engine::Observer &observer, int64_t step, int64_t steps) {
  observer.phase(fmt::format("step {} of {}", step + 1, steps));
  return engine::stopIfAsked(observer, "the verification");
}

/// Repeats a step that fp16 skips with half the loss scale; float64 skips none.
static engine::Result<BothSteps> stepBoth(Session &session, Session &reference, engine::DataSource &data, int64_t step,
                                          const ReferenceBatch &referenceBatch = nullptr) {
  constexpr int mostSkips = 40; // more halvings than fp16's loss scale has
  engine::Batch batch = data.batch(step), expectedBatch;
  if (referenceBatch) {
    TRY(expectedBatch, referenceBatch(batch, step));
  }
  engine::Result<engine::StepResult> result = session.step(batch, step);
  for (int skips = 0; result.ok() && result->skipped && skips < mostSkips; ++skips)
    result = session.step(batch, step);
  if (!result.ok())
    return result.status();
  TRY(engine::StepResult expected, reference.step(referenceBatch ? expectedBatch : batch, step));
  if (!std::isfinite(expected.loss) || !std::isfinite(expected.gradNorm))
    return Status::badInput(
        fmt::format("on one rank the {} of step {} is not finite: there is nothing to compare; make the model's numbers "
                    "smaller",
                    std::isfinite(expected.loss) ? "gradient norm" : "loss", step));
  return BothSteps{*result, expected};
}

TypeBounds boundsOf(const program::Program &program) {
  program::ElementType type = program.compute();
  bool tf32 = program::multipliesInTf32(program), narrow = isNarrow(type);
  const char *name = tf32 ? "tf32" : narrow ? program::rowOf(type).planWord : "f32"; // never narrower than float32
  std::string range = hasSmallRange(type) ? fmt::format("; the largest number of {} is {:.0f}", name, program::rowOf(type).largest) : "";
  double rounding = roundingOf(program);
  if (!tf32 && !narrow)
    return {name, rounding, 1e-5, 1e-4};
  if (rounding > 0x1p-11)
    return {name, rounding, 5e-3, 2e-2, range};
  return {name, rounding, 1e-3, 5e-3, range};
}

double roundingOf(const program::Program &program) {
  return program::multipliesInTf32(program) ? 0x1p-11 : program::lastPlace(program.compute()) / 2; // tf32 has the mantissa of fp16
}

double gradientNoise(double loss, double rounding) { return rounding * std::fabs(loss); }

/// Losses and gradient norms, in turn, of some steps from disturbed parameters that were then changed by up to `change`.
static engine::Result<std::vector<double>> numbersOf(Session &session, const program::Program &program, int64_t steps, uint64_t seed,
                                                     double change, uint64_t draw) {
  TRY_STATUS(disturbParameters(session, program, seed));
  std::mt19937_64 random(seed * 1000 + draw);
  std::uniform_real_distribution<double> uniform(-change, change);
  for (const std::string &name : draw == 0 ? std::vector<std::string>() : variablesOf(program, VariableKind::Parameter)) {
    TRY(std::vector<double> value, session.read(name));
    double largest = 0;
    for (double entry : value)
      largest = std::max(largest, std::fabs(entry));
    for (double &entry : value)
      entry += largest * uniform(random);
    TRY_STATUS(session.write(name, value));
  }
  std::unique_ptr<engine::DataSource> data = dataFor(program, seed);
  std::vector<double> numbers;
  for (int64_t step = 0; step < steps; ++step) {
    TRY(engine::StepResult result, session.step(data->batch(step), step));
    numbers.push_back(result.loss);
    numbers.push_back(result.gradNorm);
  }
  return numbers;
}

engine::Result<double> sensitivityOf(const std::function<engine::Result<std::unique_ptr<Session>>()> &fresh,
                                     const program::Program &program, int64_t steps, uint64_t seed, double change) {
  constexpr uint64_t draws = 6;
  std::vector<double> exact;
  double largest = 0;
  for (uint64_t draw = 0; draw <= draws; ++draw) {
    TRY(std::unique_ptr<Session> session, fresh());
    TRY(std::vector<double> numbers, numbersOf(*session, program, steps, seed, change, draw));
    if (draw == 0)
      exact = numbers;
    for (size_t i = 0; i < exact.size(); ++i)
      if (i % 2 == 0 ? exact[i] != 0 : exact[i] > gradientNoise(exact[i - 1], float64Roundings))
        largest = std::max(largest, finiteDistance(numbers[i], exact[i]) / std::fabs(exact[i]));
  }
  return largest;
}

Status compareOwnType(Session &session, Session &reference, const program::Program &program, int64_t steps, uint64_t seed,
                      const ReferenceBatch &referenceBatch, engine::Observer &observer, std::vector<Check> &checks) {
  TypeBounds bounds = boundsOf(program);
  ErrorMeasure losses(fmt::format("in {}: loss", bounds.name), bounds.loss),
      norms(fmt::format("in {}: gradient norm", bounds.name), bounds.norm);
  for (Session *one : {&session, &reference})
    TRY_STATUS(disturbParameters(*one, program, seed));
  std::unique_ptr<engine::DataSource> data = dataFor(program, seed);
  std::string unsound; // the first unsound step
  for (int64_t step = 0; step < steps; ++step) {
    TRY_STATUS(begin(observer, step, steps));
    TRY(BothSteps both, stepBoth(session, reference, *data, step, referenceBatch));
    if (unsound.empty() && (!engine::isSound(both.result) || both.result.skipped))
      unsound = engine::describeUnsound(session, program, both.result, step);
    losses.add(fmt::format("loss in step {}", step), {both.result.loss}, {both.expected.loss});
    norms.add(fmt::format("grad_norm in step {}", step), {both.result.gradNorm}, {both.expected.gradNorm});
    norms.allow(gradientNoise(both.expected.loss, roundingOf(program)));
  }
  for (const ErrorMeasure *measure : {&losses, &norms}) {
    checks.push_back(measure->check());
    if (!unsound.empty() && !checks.back().ok)
      checks.back().detail += fmt::format("; {}{}", unsound, bounds.range);
  }
  return {};
}

Status compareSessions(Session &session, Session &reference, const program::Program &program, int64_t steps, uint64_t seed,
                       engine::Observer &observer, std::vector<Check> &checks) {
  ErrorMeasure initial("initial parameters"), losses("loss"), norms("gradient norm"), gradients("gradients"), states("optimizer state"),
      parameters("parameters");
  TRY_STATUS(compareVariables(session, reference, variablesOf(program, VariableKind::Parameter), "", initial));
  for (Session *one : {&session, &reference})
    TRY_STATUS(disturbParameters(*one, program, seed));
  std::unique_ptr<engine::DataSource> data = dataFor(program, seed);
  Counts counts;
  for (int64_t step = 0; step < steps; ++step) {
    TRY_STATUS(begin(observer, step, steps));
    TRY(BothSteps both, stepBoth(session, reference, *data, step));
    counts.add(both.expected);
    std::string suffix = fmt::format(" in step {}", step);
    losses.add("loss" + suffix, {both.result.loss}, {both.expected.loss});
    norms.add("grad_norm" + suffix, {both.result.gradNorm}, {both.expected.gradNorm});
    for (ErrorMeasure *measure : {&norms, &gradients})
      measure->allow(gradientNoise(both.expected.loss, float64Roundings));
    TRY_STATUS(compareVariables(session, reference, gradientsOf(program), suffix, gradients));
  }
  std::string suffix = fmt::format(" after {} steps", steps);
  TRY_STATUS(compareVariables(session, reference, variablesOf(program, VariableKind::State), suffix, states));
  TRY_STATUS(compareVariables(session, reference, variablesOf(program, VariableKind::Parameter), suffix, parameters));
  for (const ErrorMeasure *measure : {&initial, &losses, &norms, &gradients, &states, &parameters})
    checks.push_back(measure->check());
  return counts.check(steps, checks);
}

} // namespace npar::verify
