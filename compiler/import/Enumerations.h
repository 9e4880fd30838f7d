// The language's enumerations as the seam's: the one place where they meet.
#pragma once

#include "dsl/Program.h"
#include "engine/program/Words.h"

namespace npar {

program::ElementType seamOf(dsl::ElementType type);
program::InitKind seamOf(dsl::InitKind kind);
program::DataFormat seamOf(dsl::DataFormat format);
program::DataOrder seamOf(dsl::DataOrder order);
program::DataLast seamOf(dsl::DataLast last);
program::MeasureKind seamOf(dsl::MetricKind kind);
program::CheckpointRuleKind seamOf(dsl::CheckpointRuleKind kind);

} // namespace npar
