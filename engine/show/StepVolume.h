// Counts what a rank sends in a training step for data parallelism, as a multiple of its parameters, as the ZeRO paper does
// (Rajbhandari et al. 2020, section 7). Plain data parallelism adds up gradients with an all-reduce, which costs 2 (n - 1) / n per
// parameter. ZeRO 1 and 2 send as much: gradients are scattered and parameters gathered, (n - 1) / n each. ZeRO 3 gathers parameters for
// the forward and for the backward pass: 3 (n - 1) / n, which is 1.5 times plain data parallelism.
//
// Counted are the collectives of the program, however often they run: a plan that gathers parameters for each micro-batch pays for each.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/program/Program_generated.h"

#include <cstdint>
#include <string>

namespace npar::show {

/// Elements that each rank of a class sends in one training step over the mesh axes that divide samples. A collective counts with the
/// volume of a ring, without padding.
struct StepVolume {
  uint64_t parameters = 0; ///< elements of the rank's part of the model, as if it was stored whole: what the multiples are multiples of
  double gradients = 0;    ///< to add up gradients
  double gathered = 0;     ///< to gather parameters that are stored, or were updated, in shares
  double plain = 0;        ///< what plain data parallelism would send: an all-reduce of the gradients of all trained parameters

  double sent() const { return gradients + gathered; }
  /// Multiple of the parameters.
  double times(double elements) const { return parameters == 0 ? 0 : elements / static_cast<double>(parameters); }
};

StepVolume stepVolumeOf(const program::Program &program, const program::RankClass &rankClass);

/// "volume      2.25 x its parameters: gradients 1.50, parameters 0.75; 1.50 x plain data parallelism"; empty if no axis of more than one
/// rank divides samples, or nothing is trained.
std::string volumeText(const StepVolume &volume);
/// `{parameters, times, gradient_times, parameter_times, plain_times, to_plain}`.
OrderedJson volumeJson(const StepVolume &volume);

} // namespace npar::show
