// The language's enumerations as the seam's.
#include "compiler/import/Enumerations.h"

namespace npar {

program::ElementType seamOf(dsl::ElementType type) {
  switch (type) {
  case dsl::ElementType::F32:
    return program::ElementType::F32;
  case dsl::ElementType::F64:
    return program::ElementType::F64;
  case dsl::ElementType::I32:
  case dsl::ElementType::Bool:
    return program::ElementType::I32;
  case dsl::ElementType::U8:
    return program::ElementType::U8;
  case dsl::ElementType::BF16:
    return program::ElementType::BF16;
  case dsl::ElementType::F16:
    break;
  }
  return program::ElementType::F16;
}

program::InitKind seamOf(dsl::InitKind kind) {
  switch (kind) {
  case dsl::InitKind::Zeros:
    return program::InitKind::Zeros;
  case dsl::InitKind::Ones:
    return program::InitKind::Ones;
  case dsl::InitKind::Normal:
    break;
  }
  return program::InitKind::Normal;
}

program::DataFormat seamOf(dsl::DataFormat format) {
  switch (format) {
  case dsl::DataFormat::Tensors:
    return program::DataFormat::Tensors;
  case dsl::DataFormat::Bytes:
    return program::DataFormat::Bytes;
  case dsl::DataFormat::U16:
    return program::DataFormat::U16;
  case dsl::DataFormat::I32:
    break;
  }
  return program::DataFormat::I32;
}

program::DataOrder seamOf(dsl::DataOrder order) {
  switch (order) {
  case dsl::DataOrder::Shuffled:
    return program::DataOrder::Shuffled;
  case dsl::DataOrder::Sequential:
    break;
  }
  return program::DataOrder::Sequential;
}

program::DataLast seamOf(dsl::DataLast last) {
  switch (last) {
  case dsl::DataLast::Join:
    return program::DataLast::Join;
  case dsl::DataLast::Drop:
    return program::DataLast::Drop;
  case dsl::DataLast::Pad:
    break;
  }
  return program::DataLast::Pad;
}

program::MeasureKind seamOf(dsl::MetricKind kind) {
  switch (kind) {
  case dsl::MetricKind::Mean:
    return program::MeasureKind::Mean;
  case dsl::MetricKind::Perplexity:
    return program::MeasureKind::Perplexity;
  case dsl::MetricKind::F1:
    return program::MeasureKind::F1;
  case dsl::MetricKind::Correlation:
    break;
  }
  return program::MeasureKind::Correlation;
}

program::CheckpointRuleKind seamOf(dsl::CheckpointRuleKind kind) {
  switch (kind) {
  case dsl::CheckpointRuleKind::Rename:
    return program::CheckpointRuleKind::Rename;
  case dsl::CheckpointRuleKind::Ignore:
    return program::CheckpointRuleKind::Ignore;
  case dsl::CheckpointRuleKind::Same:
    return program::CheckpointRuleKind::Same;
  case dsl::CheckpointRuleKind::Fresh:
    break;
  }
  return program::CheckpointRuleKind::Fresh;
}

} // namespace npar
