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
