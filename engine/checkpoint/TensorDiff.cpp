// Blocks that are equal byte for byte need no second look; of the others every element is compared.
#include "engine/checkpoint/TensorDiff.h"

#include "engine/safetensors/StoredType.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace npar::engine {

namespace {

constexpr uint64_t diffedAtOnce = uint64_t{1} << 18; ///< elements

/// The bits of a floating number of `size` bytes as an integer that ascends with the number: neighbours differ by 1, -0 is next to 0.
int64_t ordered(const uint8_t *bytes, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, size);
  uint64_t sign = uint64_t{1} << (8 * size - 1);
  return bits & sign ? -static_cast<int64_t>(bits & ~sign) - 1 : static_cast<int64_t>(bits);
}

uint64_t distance(int64_t a, int64_t b) {
  return a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b) : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
}

std::vector<int64_t> placeOf(uint64_t index, const std::vector<int64_t> &shape) {
  std::vector<int64_t> place(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    place[d] = static_cast<int64_t>(index % static_cast<uint64_t>(shape[d]));
    index /= static_cast<uint64_t>(shape[d]);
  }
  return place;
}

/// One tensor of both stores, in one shape.
class Comparison {
public:
  Comparison(const StoreEntry &left, const StoreEntry &right)
      : left(left), right(right), leftType(findStoredType(left.type)), rightType(findStoredType(right.type)),
        sameType(left.type == right.type), numbers(leftType->floating && rightType->floating) {
    result.elements = StoredTensor{left.type, left.shape, 0, 0}.elements();
    if (sameType && numbers)
      result.ulps = 0;
  }

  /// Types whose values cannot be compared with each other: integers of another size, say.
  bool comparable() const { return sameType || numbers; }

  void add(uint64_t first, uint64_t count, const std::vector<uint8_t> &a, const std::vector<uint8_t> &b) {
    size_t unit = leftType->bits / 8;
    if (sameType && std::memcmp(a.data(), b.data(), count * unit) == 0)
      return;
    if (!numbers)
      return addBytes(first, count, a, b);
    values[0].resize(count), values[1].resize(count);
    widen(left.type, a.data(), count, values[0].data());
    widen(right.type, b.data(), count, values[1].data());
    for (uint64_t i = 0; i < count; ++i) {
      double x = values[0][i], y = values[1][i];
      if (sameType ? std::memcmp(&a[i * unit], &b[i * unit], unit) == 0 : x == y || (std::isnan(x) && std::isnan(y)))
        continue;
      found(first + i, x, y);
      if (!std::isfinite(x) || !std::isfinite(y)) {
        ++result.notNumbers;
        continue;
      }
      double difference = std::abs(x - y), scale = std::max(std::abs(x), std::abs(y));
      result.largest = std::max(result.largest, difference);
      result.relative = std::max(result.relative, scale > 0 ? difference / scale : 0);
      if (sameType)
        result.ulps = std::max(*result.ulps, distance(ordered(&a[i * unit], unit), ordered(&b[i * unit], unit)));
    }
  }
  ValueDifference result;

private:
  void addBytes(uint64_t first, uint64_t count, const std::vector<uint8_t> &a, const std::vector<uint8_t> &b) {
    size_t unit = std::max<size_t>(1, leftType->bits / 8); // a packed type is compared in bytes
    for (uint64_t i = 0; i < count; ++i)
      if (std::memcmp(&a[i * unit], &b[i * unit], unit) != 0)
        found(first + i, a[i * unit], b[i * unit]);
  }
  void found(uint64_t index, double x, double y) {
    if (result.differing++ == 0)
      result.first = index, result.left = x, result.right = y, result.place = placeOf(index, left.shape);
  }

  const StoreEntry &left, &right;
  const StoredType *leftType, *rightType;
  bool sameType, numbers;
  std::vector<double> values[2];
};

/// Nothing when the types cannot be compared.
Result<std::optional<ValueDifference>> compareTensor(const TensorStore &left, const TensorStore &right, const std::string &name,
                                                     const std::function<void(uint64_t)> &progress) {
  const StoreEntry &a = left.tensors().at(name), &b = right.tensors().at(name);
  Comparison comparison(a, b);
  if (!comparison.comparable() || findStoredType(a.type)->bits % 8)
    return std::optional<ValueDifference>();
  const uint64_t leftUnit = findStoredType(a.type)->bits / 8, rightUnit = findStoredType(b.type)->bits / 8;
  std::vector<uint8_t> bytes[2];
  for (uint64_t first = 0; first < comparison.result.elements; first += diffedAtOnce) {
    uint64_t count = std::min(diffedAtOnce, comparison.result.elements - first);
    bytes[0].resize(count * leftUnit), bytes[1].resize(count * rightUnit);
    if (Status status = left.read(name, first, count, bytes[0].data()); !status.ok())
      return status;
    if (Status status = right.read(name, first, count, bytes[1].data()); !status.ok())
      return status;
    comparison.add(first, count, bytes[0], bytes[1]);
    if (progress)
      progress(count * leftUnit);
  }
  return std::optional(comparison.result);
}

} // namespace

Result<StoreDifference> compareStores(const TensorStore &left, const TensorStore &right,
                                      const std::function<bool(const std::string &)> &which,
                                      const std::function<void(uint64_t)> &progress) {
  using Kind = TensorDifference::Kind;
  StoreDifference result;
  auto add = [&](Kind kind, const std::string &name, const StoreEntry &a, const StoreEntry &b, const ValueDifference &values = {}) {
    result.tensors.push_back({kind, name, a, b, values});
  };
  for (const auto &[name, entry] : left.tensors()) {
    if (which && !which(name))
      continue;
    auto other = right.tensors().find(name);
    if (other == right.tensors().end()) {
      add(Kind::OnlyLeft, name, entry, {});
      continue;
    }
    if (entry.shape != other->second.shape) {
      add(Kind::Shape, name, entry, other->second);
      continue;
    }
    Result<std::optional<ValueDifference>> values = compareTensor(left, right, name, progress);
    if (!values.ok())
      return values.status();
    if (!*values) {
      add(Kind::Shape, name, entry, other->second);
      continue;
    }
    ++result.compared;
    if ((*values)->differing)
      add(Kind::Values, name, entry, other->second, **values);
    else if (entry.type != other->second.type)
      result.otherType.push_back(name);
  }
  for (const auto &[name, entry] : right.tensors())
    if ((!which || which(name)) && !left.tensors().count(name))
      add(Kind::OnlyRight, name, {}, entry);
  std::stable_sort(result.tensors.begin(), result.tensors.end(),
                   [](const TensorDifference &a, const TensorDifference &b) { return a.name < b.name; });
  return result;
}

} // namespace npar::engine
