// Looks at the values of stored tensors before anything is applied: can the model hold them, are two tensors the same.
#pragma once

#include "engine/checkpoint/TensorStore.h"
#include "engine/program/Program_generated.h"

#include <optional>

namespace npar::engine {

/// "nan at [0, 3]" or "1e+300 at [7], beyond float32": the first value that is not finite, or would not be as `type`; nothing when all
/// are good. Subnormals and negative zeros are good. The tensor's own type is floating. Goes through it in blocks, on all workers of the
/// task arena. Fails when the store cannot be read.
Result<std::optional<std::string>> firstUnfit(const TensorStore &store, const std::string &tensor, program::ElementType type);

/// "2.5 at [], not a whole number": the first value that cannot be a count.
Result<std::optional<std::string>> firstFraction(const TensorStore &store, const std::string &tensor);

/// "0.5 and 0.25 at [0, 3]": the first place where two tensors of one shape differ; nothing when they hold the same values.
Result<std::optional<std::string>> firstDifference(const TensorStore &store, const std::string &one, const std::string &other);

} // namespace npar::engine
