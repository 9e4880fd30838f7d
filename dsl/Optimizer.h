// An optimizer with its arguments in place: which states it keeps, and the formulas of one training step.
#pragma once

#include "engine/program/Enums_generated.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npar::dsl {

using ScheduleKind = program::RateSchedule;
/// Epochs and shares of the run become training steps when a run starts.
using LengthUnit = program::LengthUnit;

/// A length of time in a learning rate, such as `0.1 epochs`.
struct Length {
  double count = 0; ///< a whole number if in steps
  LengthUnit unit = LengthUnit::Steps;

  bool isInSteps() const { return unit == LengthUnit::Steps; }
  bool operator==(const Length &other) const { return count == other.count && unit == other.unit; }
};

/// The rate before `scaled(rate, per = samples)` multiplied it by batch / per.
struct ScaledRate {
  double rate = 0, per = 1;
};

/// lr(t), t = training step from 0: warm-up peak*(t+1)/warmup for t < warmup; then constant; or linear or cosine decay from peak to `final`
/// over the steps from `warmup` to `steps`, `final` afterwards; or peak*factor^n with n = (t - warmup)/every, which Step rounds down.
struct LearningRate {
  ScheduleKind kind = ScheduleKind::Constant;
  double peak = 1e-3, final = 0;
  Length warmup, steps;
  double factor = 1; ///< multiplies the rate once in `every` steps, if hasFactor()
  Length every = {1};
  std::optional<ScaledRate> scaled; ///< what the peak was made of

  bool hasFactor() const { return kind == ScheduleKind::Step || kind == ScheduleKind::Exponential; }
  bool hasEnd() const { return kind == ScheduleKind::Linear || kind == ScheduleKind::Cosine; }
  /// True if it is known without the length of an epoch or of the run.
  bool isInSteps() const { return warmup.isInSteps() && (!hasEnd() || steps.isInSteps()) && (!hasFactor() || every.isInSteps()); }
  bool operator==(const LearningRate &other) const {
    return kind == other.kind && peak == other.peak && final == other.final && warmup == other.warmup && steps == other.steps &&
           factor == other.factor && every == other.every;
  }
};

struct OptimizerArgument {
  std::string name;
  std::vector<double> numbers; ///< a truth value is 0 or 1
  std::string text;            ///< the value as users write it
};

struct OptimizerState {
  std::string name; ///< name in formulas
  std::string slot; ///< name in checkpoints, such as "exp_avg"
  double initial = 0;
};

/// A term is a number, a name or `function(term, ...)`. A definition is `%0 = term`; terms after it can use `%0`. The functions are add,
/// sub, mul, div, neg, sqrt, exp, log, tanh, abs, sign, pow, min, max, less, equal, and, or, not and select.
struct Formulas {
  std::vector<std::string> definitions, results;
};

/// There are two kinds of formulas. A step formula is computed once per step, in float64, from `lr`, `t` (the step's number, from 1) and
/// step states. An element formula is computed for each element from the weight, the gradient, states and the results of step formulas,
/// which are called `$0`, `$1` and so on.
struct Optimizer {
  std::string name;
  bool standard = false;                    ///< the standard library declares it: the name tells other programs what it computes
  std::vector<OptimizerArgument> arguments; ///< in the order of the declaration, without the learning rate
  LearningRate rate;
  std::vector<OptimizerState> states;       ///< each has the parameter's shape; only those that the weight depends on
  std::vector<OptimizerState> stepStates;   ///< each is one number for all parameters
  std::string weight = "w", gradient = "g"; ///< names in formulas
  Formulas step;                            ///< results: `$0`, `$1` ..., then the new step states
  Formulas element;                         ///< results: the new weight, then the new states

  /// One number of an argument; `otherwise` for an optimizer without that argument.
  double number(const std::string &argument, size_t index = 0, double otherwise = 0) const {
    for (const OptimizerArgument &each : arguments)
      if (each.name == argument && index < each.numbers.size())
        return each.numbers[index];
    return otherwise;
  }
};

} // namespace npar::dsl
