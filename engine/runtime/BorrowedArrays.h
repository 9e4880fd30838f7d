// Arrays in the memory of a program that embeds the engine: batches are made from them, variables are copied to them and from them.
#pragma once

#include "engine/runtime/Batch.h"
#include "engine/runtime/ElementSource.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::engine {

enum class ArrayType : uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, Bool };

const char *wordOf(ArrayType type);
size_t sizeOf(ArrayType type);

/// A strided array, whose memory the caller owns.
struct BorrowedArray {
  void *data = nullptr; ///< of the element at index 0, 0, ...
  ArrayType type = ArrayType::F32;
  std::vector<int64_t> shape, strides; ///< strides in elements, may be 0 or negative

  /// The strides of a row-major array without gaps.
  static std::vector<int64_t> rowMajor(const std::vector<int64_t> &shape);
  bool isRowMajor() const;
  /// Product of the sizes.
  uint64_t elements() const;
};

struct NamedArray {
  std::string name;
  BorrowedArray array;
};

/// The batch of a program's inputs, in any order. Integers of any type are taken if their values fit the input's type, floats of any type
/// where the input is float; an integer array feeds a float input, too. BadInput for an input that is missing, unknown or given twice, for
/// other sizes, and for values out of range: the message names the input, the axis and both sizes, or the value and its place.
Result<Batch> batchFrom(const BatchShape &shape, const std::vector<NamedArray> &arrays);

/// The elements of an array of floats, as a source for a variable of this shape. BadInput if the shapes differ or the array has integers.
Result<ElementSource> sourceOf(const BorrowedArray &array, const std::string &variable, const std::vector<int64_t> &shape);

/// Copies consecutive row-major elements, from number `first` on, to an array of float32 or float64.
void copyInto(const BorrowedArray &array, uint64_t first, const double *values, size_t count);
void copyInto(const BorrowedArray &array, uint64_t first, const float *values, size_t count);

} // namespace npar::engine
