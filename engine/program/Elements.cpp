// Properties of element types.
#include "engine/program/Elements.h"

namespace npar::program {

uint64_t sizeOf(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return 8;
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::BF16:
  case ElementType::F16:
    return 2;
  case ElementType::U8:
    break;
  }
  return 1;
}

bool isNarrow(ElementType type) {
  switch (type) {
  case ElementType::BF16:
  case ElementType::F16:
    return true;
  case ElementType::F32:
  case ElementType::F64:
  case ElementType::I32:
  case ElementType::U8:
    break;
  }
  return false;
}

} // namespace npar::program
