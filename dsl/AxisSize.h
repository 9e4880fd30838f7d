// The size of an axis by its name.
#pragma once

#include "dsl/Program.h"

namespace npar::dsl {

/// Size of the model's axis, or product of axes, of this name; 0 if the model has neither.
int64_t axisSize(const Model &model, const std::string &name);

} // namespace npar::dsl
