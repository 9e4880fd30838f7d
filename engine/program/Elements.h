// The table of element types, one row each, and the questions that the engine, the compiler and the language ask about a type. C++ types
// are in engine/numbers/Convert.h, MLIR types in compiler/dialects/nn/base/Elements.h.
#pragma once

#include "engine/program/Enums_generated.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace npar::program {

struct ElementRow {
  ElementType type;
  const char *word;       ///< in programs, in MLIR and in the names of kernels
  const char *planWord;   ///< in plans and in the texts of machines
  const char *storedWord; ///< in safetensors files
  const char *longWord;   ///< in PyTorch and in messages about files
  int bits;
  int exponentBits;      ///< 0 for integers
  double least, largest; ///< finite values
  ElementType widened;   ///< see `widened`
  bool pairs;            ///< see `addsInPairs`
  bool hasProducts;      ///< see `hasProductSteps`
  size_t machineIndex;   ///< place among the figures of a machine; integers count as float32, because nothing multiplies them
};

/// The rows, in the order of the enumeration.
constexpr ElementRow elementRows[] = {
    {ElementType::F32, "f32", "f32", "F32", "float32", 32, 8, -std::numeric_limits<float>::max(), std::numeric_limits<float>::max(),
     ElementType::F32, false, true, 0},
    {ElementType::F64, "f64", "f64", "F64", "float64", 64, 11, -std::numeric_limits<double>::max(), std::numeric_limits<double>::max(),
     ElementType::F64, false, false, 3},
    {ElementType::I32, "i32", "i32", "I32", "int32", 32, 0, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(),
     ElementType::I32, false, false, 0},
    {ElementType::U8, "u8", "u8", "U8", "uint8", 8, 0, 0, std::numeric_limits<uint8_t>::max(), ElementType::I32, false, false, 0},
    {ElementType::BF16, "bf16", "bf16", "BF16", "bfloat16", 16, 8, -0x1.FEp127, 0x1.FEp127, ElementType::F32, true, true, 1},
    {ElementType::F16, "f16", "fp16", "F16", "float16", 16, 5, -65504, 65504, ElementType::F32, false, true, 2}};

/// False for a number that is no element type, as a damaged file may have.
constexpr bool isKnown(ElementType type) { return type >= ElementType::MIN && type <= ElementType::MAX; }

/// The row of a type that `isKnown`, which `checkStructure` ensures for every program.
constexpr const ElementRow &rowOf(ElementType type) {
  if (!isKnown(type))
    throw std::logic_error("internal error: a number that is no element type");
  return elementRows[static_cast<size_t>(type)];
}

constexpr bool areRowsInOrder() {
  size_t count = sizeof(elementRows) / sizeof(elementRows[0]);
  for (size_t i = 0; i < count; ++i)
    if (static_cast<size_t>(elementRows[i].type) != i)
      return false;
  return count == static_cast<size_t>(ElementType::MAX) + 1;
}
static_assert(areRowsInOrder(), "each element type has a row, at its place");

/// Bytes of one element.
constexpr uint64_t sizeOf(ElementType type) { return static_cast<uint64_t>(rowOf(type).bits) / 8; }

constexpr bool isFloating(ElementType type) { return rowOf(type).exponentBits > 0; }
constexpr bool isInteger(ElementType type) { return !isFloating(type); }

/// True for 16-bit floats: arithmetic on them is done in float32 and rounded once per operation.
constexpr bool isNarrow(ElementType type) { return isFloating(type) && rowOf(type).bits < 32; }
/// True for 64-bit floats, whose values float32 would round.
constexpr bool isWide(ElementType type) { return isFloating(type) && rowOf(type).bits > 32; }

/// The type that arithmetic and sums use: elements of narrower types are widened to it when they are loaded. Files that people read have it
/// too.
constexpr ElementType widened(ElementType type) { return rowOf(type).widened; }

/// True if an element is the upper half of a float32, so that shifts convert it.
constexpr bool isUpperHalf(ElementType type) { return rowOf(type).bits == 16 && rowOf(type).exponentBits == 8; }

/// True if every narrow type is the upper half of a float32 or IEEE's binary16. Code that converts them by its own instructions knows
/// these.
constexpr bool areNarrowTypesHalves() {
  for (const ElementRow &row : elementRows)
    if (isNarrow(row.type) && !isUpperHalf(row.type) && !(row.bits == 16 && row.exponentBits == 5))
      return false;
  return true;
}

/// True for floats whose range is smaller than that of float32: gradients in them need a loss scale.
constexpr bool hasSmallRange(ElementType type) { return isFloating(type) && rowOf(type).exponentBits < 8; }

/// The relative distance between neighbouring floats: 2^-7 for bf16. Rounding is off by at most half of it.
constexpr double lastPlace(ElementType type) {
  double place = 1;
  for (int bit = rowOf(type).bits - 1 - rowOf(type).exponentBits; bit > 0; --bit)
    place /= 2;
  return place;
}

/// True if products and attention add even and odd terms in two chains, as the processors' instructions for the type do
/// (engine/product/TileKernels.h).
constexpr bool addsInPairs(ElementType type) { return rowOf(type).pairs; }

/// True if matrix products of the type become steps of their own. Products of other types become generated kernels.
constexpr bool hasProductSteps(ElementType type) { return rowOf(type).hasProducts; }

/// True for the types of a batch's values. Its floats are float32, whatever the program computes in.
constexpr bool isInputType(ElementType type) { return isInteger(type) || type == ElementType::F32; }

/// True for the types that operations produce: floats, and the integers that arithmetic uses.
constexpr bool isResultType(ElementType type) { return isFloating(type) || widened(type) == type; }

} // namespace npar::program
