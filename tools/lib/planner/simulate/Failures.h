// What failures of machines take from a long training run, and how often a checkpoint is worth its time.
//
//   J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17 (9), 1974
//   J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation Computer Systems 22, 2006
#pragma once

#include <cstdint>

namespace npar::planner {

/// Failures come by chance, independent of each other, and stop the whole job: it goes on from its last checkpoint.
struct Failures {
  double between = 0;    ///< seconds from one failure anywhere in the job to the next, the mean
  double checkpoint = 0; ///< seconds for which training stands still to write a checkpoint
  double restart = 0;    ///< seconds from a failure until training goes on
};

/// Seconds of computing between two checkpoints that lose least: Young's sqrt(2 checkpoint between), and Daly's
/// perturbation series, which holds where checkpoints take long too.
double youngInterval(const Failures &failures);
double dalyInterval(const Failures &failures);

/// How many times as long training takes with a checkpoint after every `interval` seconds of computing, by Daly's complete cost function.
/// Infinite where the job practically never gets from one checkpoint to the next.
double slowdown(const Failures &failures, double interval);

/// The steps between two checkpoints, at least 1, as near to Daly's interval as whole steps allow.
int64_t stepsBetween(const Failures &failures, double secondsPerStep);

} // namespace npar::planner
