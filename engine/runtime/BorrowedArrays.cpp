// Reads and writes strided arrays element by element, and checks what feeds an input.
#include "engine/runtime/BorrowedArrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

namespace npar::engine {
namespace {

/// Calls with(value of the C++ type of the array's elements).
template <typename With> auto withArrayType(ArrayType type, With with) {
  switch (type) {
  case ArrayType::F64:
    return with(double{});
  case ArrayType::F32:
    return with(float{});
  case ArrayType::F16:
    return with(Float16{});
  case ArrayType::BF16:
    return with(BFloat16{});
  case ArrayType::I64:
    return with(int64_t{});
  case ArrayType::I32:
    return with(int32_t{});
  case ArrayType::I16:
    return with(int16_t{});
  case ArrayType::I8:
    return with(int8_t{});
  case ArrayType::U64:
    return with(uint64_t{});
  case ArrayType::U32:
    return with(uint32_t{});
  case ArrayType::U16:
    return with(uint16_t{});
  case ArrayType::U8:
  case ArrayType::Bool:
    break;
  }
  return with(uint8_t{});
}

template <typename T> constexpr bool isFloat = std::is_floating_point_v<T> || isNarrowFloat<T>;

bool isFloatType(ArrayType type) {
  return withArrayType(type, [](auto element) { return isFloat<decltype(element)>; });
}

/// Visits consecutive row-major elements by their offsets from the array's first, in elements.
class Walk {
public:
  Walk(const BorrowedArray &array, uint64_t first) : array(array), index(array.shape.size()) {
    for (size_t d = index.size(); d-- > 0;) {
      auto size = static_cast<uint64_t>(array.shape[d]);
      index[d] = static_cast<int64_t>(first % size);
      first /= size;
      offset += index[d] * array.strides[d];
    }
  }
  int64_t place() const { return offset; }
  void next() {
    for (size_t d = index.size(); d-- > 0;) {
      offset += array.strides[d];
      if (++index[d] < array.shape[d])
        return;
      offset -= index[d] * array.strides[d];
      index[d] = 0;
    }
  }

private:
  const BorrowedArray &array;
  std::vector<int64_t> index;
  int64_t offset = 0;
};

template <typename To, typename From> To converted(From value) {
  if constexpr (isNarrowFloat<From> || isNarrowFloat<To>)
    return static_cast<To>(static_cast<float>(value));
  else
    return static_cast<To>(value);
}

/// Copies elements [first, first + count) in row-major order, converted.
template <typename To> void readElements(const BorrowedArray &array, uint64_t first, uint64_t count, To *to) {
  withArrayType(array.type, [&](auto element) {
    using From = decltype(element);
    const auto *from = static_cast<const From *>(array.data);
    if (array.isRowMajor()) {
      if constexpr (std::is_same_v<To, From>)
        std::memcpy(to, from + first, count * sizeof(To));
      else
        std::transform(from + first, from + first + count, to, [](From value) { return converted<To>(value); });
      return;
    }
    Walk walk(array, first);
    for (uint64_t i = 0; i < count; ++i, walk.next())
      to[i] = converted<To>(from[walk.place()]);
  });
}

template <typename From> void writeElements(const BorrowedArray &array, uint64_t first, const From *from, size_t count) {
  withArrayType(array.type, [&](auto element) {
    using To = decltype(element);
    if constexpr (std::is_floating_point_v<To>) {
      auto *to = static_cast<To *>(array.data);
      if (array.isRowMajor()) {
        std::transform(from, from + count, to + first, [](From value) { return static_cast<To>(value); });
        return;
      }
      Walk walk(array, first);
      for (size_t i = 0; i < count; ++i, walk.next())
        to[walk.place()] = static_cast<To>(from[i]);
    }
  });
}

Status checkSizes(const InputShape &input, const BorrowedArray &array) {
  if (array.shape.size() != input.shape.size())
    return Status::badInput("input '" + input.name + "' takes " + input.typeText() + ", and the array has " +
                            std::to_string(array.shape.size()) + " dimensions");
  for (size_t d = 0; d < array.shape.size(); ++d)
    if (array.shape[d] != input.shape[d])
      return Status::badInput("input '" + input.name + "' takes " + input.typeText() + ", and the array's size along '" +
                              (d < input.axes.size() ? input.axes[d] : std::to_string(d)) + "' is " + std::to_string(array.shape[d]));
  return {};
}

/// The first integer that the input's type cannot hold; nothing if all fit.
template <typename T> Status checkRange(const InputShape &input, const BorrowedArray &array) {
  Status status;
  withArrayType(array.type, [&](auto element) {
    using From = decltype(element);
    if constexpr (std::is_integral_v<From> && std::is_integral_v<T>) {
      if constexpr (sizeof(From) < sizeof(T) && (std::is_signed_v<T> || std::is_unsigned_v<From>))
        return;
      constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
      const auto *from = static_cast<const From *>(array.data);
      Walk walk(array, 0);
      for (uint64_t i = 0, n = array.elements(); i < n; ++i, walk.next()) {
        From value = from[walk.place()];
        bool below = std::is_signed_v<From> && static_cast<int64_t>(value) < static_cast<int64_t>(least);
        bool above = value > 0 && static_cast<uint64_t>(value) > static_cast<uint64_t>(most);
        if (below || above) {
          uint64_t sample = input.elementsOfSample();
          status = Status::badInput("input '" + input.name + "' has the value " + std::to_string(value) + " in sample " +
                                    std::to_string(i / sample) + " of the batch" + input.positionText(i % sample) + ", but " +
                                    program::rowOf(input.type).word + " holds " + std::to_string(least) + " to " + std::to_string(most));
          return;
        }
      }
    }
  });
  return status;
}

Result<InputValues> valuesOf(const InputShape &input, const BorrowedArray &array) {
  TRY_STATUS(checkSizes(input, array));
  if (input.isInteger() && isFloatType(array.type))
    return Status::badInput("input '" + input.name + "' takes integers, " + input.typeText() + ", and the array has " + wordOf(array.type) +
                            ": convert it to integers");
  return withInputType(input.type, [&](auto element) -> Result<InputValues> {
    using T = decltype(element);
    TRY_STATUS(checkRange<T>(input, array));
    std::vector<T> values(array.elements());
    readElements(array, 0, values.size(), values.data());
    return InputValues(std::move(values));
  });
}

} // namespace

const char *wordOf(ArrayType type) {
  static const char *const words[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool"};
  return words[static_cast<size_t>(type)];
}

size_t sizeOf(ArrayType type) {
  return withArrayType(type, [](auto element) { return sizeof(element); });
}

std::vector<int64_t> BorrowedArray::rowMajor(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

bool BorrowedArray::isRowMajor() const {
  std::vector<int64_t> wanted = rowMajor(shape);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && strides[d] != wanted[d])
      return false;
  return true;
}

uint64_t BorrowedArray::elements() const {
  uint64_t count = 1;
  for (int64_t size : shape)
    count *= static_cast<uint64_t>(size);
  return count;
}

Result<Batch> batchFrom(const BatchShape &shape, const std::vector<NamedArray> &arrays) {
  std::vector<const BorrowedArray *> given(shape.inputs.size(), nullptr);
  for (const NamedArray &each : arrays) {
    auto found = std::find_if(shape.inputs.begin(), shape.inputs.end(), [&](const InputShape &input) { return input.name == each.name; });
    if (found == shape.inputs.end())
      return Status::badInput("the program has no input '" + each.name + "': it has " + shape.names());
    const BorrowedArray *&place = given[static_cast<size_t>(found - shape.inputs.begin())];
    if (place)
      return Status::badInput("input '" + each.name + "' is given twice");
    place = &each.array;
  }
  Batch batch;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i])
      return Status::badInput("no array feeds input '" + shape.inputs[i].name + "', " + shape.inputs[i].typeText());
    TRY(InputValues values, valuesOf(shape.inputs[i], *given[i]));
    batch.push_back(std::move(values));
  }
  return batch;
}

Result<ElementSource> sourceOf(const BorrowedArray &array, const std::string &variable, const std::vector<int64_t> &shape) {
  auto text = [](const std::vector<int64_t> &sizes) {
    std::string all;
    for (int64_t size : sizes)
      all += (all.empty() ? "" : ", ") + std::to_string(size);
    return "[" + all + "]";
  };
  if (array.shape != shape)
    return Status::badInput("'" + variable + "' has the shape " + text(shape) + ", and the array " + text(array.shape));
  if (!isFloatType(array.type))
    return Status::badInput("'" + variable + "' has floats, and the array " + wordOf(array.type) + ": convert it to floats");
  if (array.type == ArrayType::F64)
    return ElementSource{program::ElementType::F64, [array](uint64_t first, uint64_t count, uint8_t *elements) {
                           readElements(array, first, count, reinterpret_cast<double *>(elements));
                           return Status();
                         }};
  return ElementSource{program::ElementType::F32, [array](uint64_t first, uint64_t count, uint8_t *elements) {
                         readElements(array, first, count, reinterpret_cast<float *>(elements));
                         return Status();
                       }};
}

void copyInto(const BorrowedArray &array, uint64_t first, const double *values, size_t count) {
  writeElements(array, first, values, count);
}
void copyInto(const BorrowedArray &array, uint64_t first, const float *values, size_t count) { writeElements(array, first, values, count); }

} // namespace npar::engine
