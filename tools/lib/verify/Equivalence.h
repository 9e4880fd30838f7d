// Runs a plan's program and the one-rank program in float64 on the same data and measures how far apart they are (invariant 2).
#pragma once

#include "engine/data/DataSource.h"
#include "engine/runtime/Session.h"
#include "engine/status/Observer.h"
#include "engine/status/Status.h"
#include "tools/lib/verify/ErrorMeasure.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace npar::verify {

/// Names of a program's variables of one kind, in program order.
std::vector<std::string> variablesOf(const program::Program &program, program::VariableKind kind);
/// Names of the gradient accumulators, one per use of a parameter.
std::vector<std::string> gradientsOf(const program::Program &program);

/// Adds random numbers to every parameter, the same under every plan: errors in the treatment of a bias show only if it is not zero.
engine::Status disturbParameters(engine::Session &session, const program::Program &program, uint64_t seed);

/// Random data for a check. If the program ignores targets, they are masked unevenly over ranks and micro-batches, one of which has none.
std::unique_ptr<engine::DataSource> dataFor(const program::Program &program, uint64_t seed);

/// Measures the largest relative change of losses and gradient norms of `steps` steps of one rank over several draws, in each of which the
/// elements of the disturbed parameters change at random by up to `change` of their tensor's largest. A smooth model changes by about as
/// much; a choice between nearly equal values, or a kink, leaps. `fresh` makes sessions of the one-rank program.
engine::Result<double> sensitivityOf(const std::function<engine::Result<std::unique_ptr<engine::Session>>()> &fresh,
                                     const program::Program &program, int64_t steps, uint64_t seed, double change);

/// The rounding error of a gradient that is zero because its terms, each about as large as the loss, cancel: for example the gradient of a
/// mean of softmax.
double gradientNoise(double loss, double rounding);

/// Half the distance from 1 to the next number of the type that a program computes in. Products in tf32 have the rounding of their
/// operands.
double roundingOf(const program::Program &program);

/// The largest relative differences that the rounding of a program's type explains.
struct TypeBounds {
  const char *name; ///< "bf16"
  double rounding;  ///< roundingOf the program
  double loss, norm;
  std::string range = {}; ///< a note on the type's range, if numbers of a model can easily exceed it
};

TypeBounds boundsOf(const program::Program &program);

/// Compares the initial parameters, then disturbs them and compares `steps` optimizer steps. Appends a check for each kind of tensor.
/// `observer` hears of each step and can stop before it, here and below.
engine::Status compareSessions(engine::Session &session, engine::Session &reference, const program::Program &program, int64_t steps,
                               uint64_t seed, engine::Observer &observer, std::vector<Check> &checks);

/// Called before each step with its batch and number. Returns the batch of the reference. Null: the same batch.
using ReferenceBatch = std::function<engine::Result<engine::Batch>(const engine::Batch &batch, int64_t step)>;

/// Compares losses and gradient norms of `steps` steps of a plan in its own type with the one-rank program in float64, from fresh sessions
/// of both. Differences must be within what the type's mantissa explains. A step that fp16 skips is repeated with half the loss scale.
engine::Status compareOwnType(engine::Session &session, engine::Session &reference, const program::Program &program, int64_t steps,
                              uint64_t seed, const ReferenceBatch &referenceBatch, engine::Observer &observer, std::vector<Check> &checks);

/// `arena_bytes_used == planned` for every rank.
Check checkMemoryUse(const std::vector<engine::ArenaUse> &uses);

/// Compares directional derivatives of the loss by the one-rank program's gradients with finite differences: for the first and last
/// parameter of each kind (paths that are equal except for numbers).
engine::Status checkFiniteDifferences(engine::Session &session, const program::Program &program, uint64_t seed, engine::Observer &observer,
                                      std::vector<Check> &checks);

} // namespace npar::verify
