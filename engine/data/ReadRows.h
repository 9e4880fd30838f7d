// Makes the rows of a batch, several at the same time if they take computation.
#pragma once

#include "engine/data/SampleOrder.h"
#include "engine/data/Samples.h"

namespace npar::engine {

/// Makes a batch of the samples at `places`, a row each. Padding samples are zeros, and targets of the value that the program ignores.
/// Computed samples are made by up to `workers` threads of oneTBB (0: the machine's), the calling one included; other work of these threads
/// takes precedence. The batch and the error, that of the first row that has one, do not depend on their number.
Status readRows(const std::vector<std::unique_ptr<Samples>> &files, const std::vector<SamplePlace> &places, const BatchShape &shape,
                int workers, Batch &batch);

} // namespace npar::engine
