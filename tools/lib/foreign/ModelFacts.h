// Facts of an elaborated model that other programs have settings for.
#pragma once

#include "dsl/Program.h"

#include <string>

namespace npar::foreign {

/// A number that the first operation of this kind has as an attribute; `otherwise` if there is no such operation or attribute.
double attributeOf(const dsl::Model &model, const std::string &op, const std::string &name, double otherwise);
bool hasParameter(const dsl::Model &model, const std::string &path);
bool hasOp(const dsl::Model &model, const std::string &op);

/// Tells whether rotary positions turn by listed frequencies.
bool hasScaledPositions(const dsl::Model &model);

/// Tells whether `model` is the standard library's Llama as it was first published: no biases, and rotary positions without scaling.
bool isPlainLlama(const dsl::Model &model);

} // namespace npar::foreign
