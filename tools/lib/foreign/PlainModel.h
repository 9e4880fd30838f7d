// Tells which models of the standard library other programs' settings describe.
#pragma once

#include "dsl/Program.h"

namespace npar::foreign {

/// Tells whether rotary positions turn by listed frequencies.
bool hasScaledPositions(const dsl::Model &model);

/// Tells whether `model` is the standard library's Llama as it was first published: no biases, and rotary positions without scaling.
bool isPlainLlama(const dsl::Model &model);

} // namespace npar::foreign
