// The seam's element types as MLIR types, and back.
#include "compiler/dialects/nn/base/Elements.h"

#include "engine/program/Elements.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace npar;

Type nn::typeOf(program::ElementType type, MLIRContext *context) {
  switch (type) {
  case program::ElementType::F32:
    return Float32Type::get(context);
  case program::ElementType::F64:
    return Float64Type::get(context);
  case program::ElementType::BF16:
    return BFloat16Type::get(context);
  case program::ElementType::F16:
    return Float16Type::get(context);
  case program::ElementType::I32:
    return IntegerType::get(context, 32);
  case program::ElementType::U8:
    break;
  }
  return IntegerType::get(context, 8);
}

std::optional<program::ElementType> nn::elementTypeOf(Type elementOrTensor) {
  Type element = getElementTypeOrSelf(elementOrTensor);
  for (program::ElementType type : program::EnumValuesElementType())
    if (typeOf(type, element.getContext()) == element)
      return type;
  return std::nullopt;
}

bool nn::isFloat(Type elementOrTensor) { return isa<FloatType>(getElementTypeOrSelf(elementOrTensor)); }

bool nn::isNarrow(Type elementOrTensor) {
  std::optional<program::ElementType> element = elementTypeOf(elementOrTensor);
  return element && program::isNarrow(*element);
}

Type nn::widened(Type elementOrTensor) {
  Type element = getElementTypeOrSelf(elementOrTensor);
  std::optional<program::ElementType> known = elementTypeOf(element);
  return known ? typeOf(program::widened(*known), element.getContext()) : element;
}
