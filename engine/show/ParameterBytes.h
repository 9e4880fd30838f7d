// What a rank keeps of the model's state, per parameter: the accounting of the ZeRO paper (Rajbhandari et al. 2020, section 3).
#pragma once

#include "engine/json/Json.h"
#include "engine/program/Program_generated.h"

#include <string>
#include <vector>

namespace npar::show {

struct ParameterBytes {
  std::string what;    ///< "parameters", "gradients", or a slot of the optimizer, such as "exp_avg"
  std::string type;    ///< of the elements: "F32"; several are joined by "+"
  uint64_t bytes = 0;  ///< on one rank, padding included
  double perParameter; ///< bytes over all parameters of the model
};

/// The column in which a variable counts: "parameters", "gradients", or the slot of a state; empty if it is not state of the model.
std::string storedAs(const program::Variable &variable);

/// Lists the state of a rank of the class: parameters, gradients, then the optimizer's slots in the order of the program.
std::vector<ParameterBytes> parameterBytesOf(const program::Program &program, const program::RankClass &rankClass);

/// Bytes of the whole model, each element once, whatever the number of ranks.
struct ModelBytes {
  std::string type;        ///< of the weights: "BF16"
  uint64_t weights = 0;    ///< parameters in this type
  uint64_t checkpoint = 0; ///< tensors of a checkpoint: parameters, in float32 where they are trained in 16 bits, and the optimizer's state
};
ModelBytes modelBytesOf(const program::Program &program);
/// `{type, weight_bytes, checkpoint_bytes}`.
OrderedJson modelBytesJson(const program::Program &program);

std::string parameterBytesText(const program::Program &program);
/// {parameters, gradients, ..., total}, each {type, bytes, per_parameter, gigabytes} (decimal).
OrderedJson parameterBytesJson(const program::Program &program, const program::RankClass &rankClass);

} // namespace npar::show
