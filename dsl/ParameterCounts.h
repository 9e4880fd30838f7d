// Counts the parameters of a model, and those that a position meets: experts that it is not sent to do not count.
#pragma once

#include "dsl/Program.h"

namespace npar::dsl {

/// Elements of parameters, and of states, which are not among them.
struct ParameterCounts {
  int64_t all = 0;
  /// Those that one position meets. Of a parameter that only rows of `dispatch` meet, each at its own entry of an axis, these are as many
  /// entries as a position has choices; of any other parameter, all.
  int64_t active = 0;
  int64_t tables = 0; ///< those of parameters in which entries are only looked up, such as an embedding; they are active
  int64_t states = 0;
};

ParameterCounts countParameters(const Model &model);

} // namespace npar::dsl
