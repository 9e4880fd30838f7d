// Splits one step over idle workers without letting the waiting one wander off into another step.
#pragma once

#include <cstdint>
#include <functional>

namespace npar::engine {

/// Calls body(0) ... body(count - 1), on several workers when there are some. Isolated: a worker that waits here picks only parts of
/// this very loop, else it could start a graph node whose completion this one is needed for, or nest without bound.
void forEachPart(int64_t count, const std::function<void(int64_t)> &body);

} // namespace npar::engine
