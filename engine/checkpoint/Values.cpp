// Walks stored tensors in blocks, so that looking at them needs little memory.
#include "engine/checkpoint/Values.h"

#include "engine/numbers/NarrowFloat.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace npar::engine {

using program::ElementType;

namespace {

constexpr uint64_t block = uint64_t{1} << 16;

/// The coordinates of the element at a row-major index, in words: `[0, 3]`.
std::string indexText(uint64_t index, const std::vector<int64_t> &shape) {
  std::vector<int64_t> place(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    auto size = static_cast<uint64_t>(shape[i]);
    place[i] = static_cast<int64_t>(index % size);
    index /= size;
  }
  return shapeText(place);
}

std::string numberText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value); // tells float32 values apart
  if (std::isfinite(value) && std::stod(text) != value && static_cast<double>(static_cast<float>(value)) != value)
    std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

const char *nameOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return "float16";
  case ElementType::BF16:
    return "bfloat16";
  case ElementType::F64:
    return "float64";
  case ElementType::F32:
  case ElementType::I32: // written as float32
  case ElementType::U8:
    break;
  }
  return "float32";
}

bool fits(double value, ElementType type) {
  auto narrow = static_cast<float>(value);
  switch (type) {
  case ElementType::F64:
    return std::isfinite(value);
  case ElementType::F16:
    return std::isfinite(static_cast<float>(program::Float16(narrow)));
  case ElementType::BF16:
    return std::isfinite(static_cast<float>(program::BFloat16(narrow)));
  case ElementType::F32:
  case ElementType::I32:
  case ElementType::U8:
    break;
  }
  return std::isfinite(narrow);
}

} // namespace

Result<std::optional<std::string>> firstUnfit(const SafetensorsFile &file, const StoredTensor &tensor, ElementType type) {
  for (uint64_t begin = 0, count = tensor.elements(); begin < count; begin += block) {
    Result<std::vector<double>> values = file.read<double>(tensor, begin, std::min(block, count - begin));
    if (!values.ok())
      return values.status();
    for (size_t i = 0; i < values->size(); ++i)
      if (double value = (*values)[i]; !fits(value, type))
        return std::optional(numberText(value) + " at " + indexText(begin + i, tensor.shape) +
                             (std::isfinite(value) ? std::string(", beyond ") + nameOf(type) : ""));
  }
  return std::optional<std::string>();
}

Result<std::optional<std::string>> firstDifference(const SafetensorsFile &file, const StoredTensor &one, const StoredTensor &other) {
  for (uint64_t begin = 0, count = one.elements(); begin < count; begin += block) {
    uint64_t size = std::min(block, count - begin);
    Result<std::vector<double>> left = file.read<double>(one, begin, size), right = file.read<double>(other, begin, size);
    if (!left.ok() || !right.ok())
      return left.ok() ? right.status() : left.status();
    for (size_t i = 0; i < size; ++i)
      if (double a = (*left)[i], b = (*right)[i]; !(a == b))
        return std::optional(numberText(a) + " and " + numberText(b) + " at " + indexText(begin + i, one.shape));
  }
  return std::optional<std::string>();
}

} // namespace npar::engine
