// The draw that nn.dropout makes of an element, for others that drop as it does.
#pragma once

#include "compiler/dialects/nn/base/Meaning.h"

namespace npar::nn {

/// i1: whether the element at `place`, an i64 that counts the elements of the whole batch, is dropped (RULES.md#N1).
Scalar isDropped(Body &body, Scalar place, double rate, llvm::StringRef site);

} // namespace npar::nn
