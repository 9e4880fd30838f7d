// Sums in the order of a ring.
#include "tests/engine/backends/standin/nccl/Collective.h"

#include "engine/numbers/NarrowFloat.h"

#include <algorithm>
#include <cstring>

namespace npar::standin::nccl {

namespace {

template <typename T> T sum(T a, T b) { return a + b; }
template <typename Narrow> Narrow roundedSum(Narrow a, Narrow b) { return Narrow(static_cast<float>(a) + static_cast<float>(b)); }
engine::Float16 sum(engine::Float16 a, engine::Float16 b) { return roundedSum(a, b); }
engine::BFloat16 sum(engine::BFloat16 a, engine::BFloat16 b) { return roundedSum(a, b); }

/// The sums of `count` elements from `begin` on.
template <typename T> void addUp(const std::vector<const uint8_t *> &inputs, size_t begin, size_t count, uint8_t *output) {
  size_t processes = inputs.size(), part = (count + processes - 1) / processes;
  auto at = [&](size_t process, size_t i) {
    T element;
    std::memcpy(&element, inputs[process % processes] + (begin + i) * sizeof(T), sizeof(T));
    return element;
  };
  for (size_t i = 0; i < count; ++i) {
    size_t first = i / part + 1;
    T total = at(first, i);
    for (size_t step = 1; step < processes; ++step)
      total = sum(total, at(first + step, i));
    std::memcpy(output + i * sizeof(T), &total, sizeof(T));
  }
}

void addUp(Type type, const std::vector<const uint8_t *> &inputs, size_t begin, size_t count, uint8_t *output) {
  switch (type) {
  case Type::Float16:
    return addUp<engine::Float16>(inputs, begin, count, output);
  case Type::Float32:
    return addUp<float>(inputs, begin, count, output);
  case Type::Float64:
    return addUp<double>(inputs, begin, count, output);
  case Type::BFloat16:
    return addUp<engine::BFloat16>(inputs, begin, count, output);
  case Type::Int8:
    return addUp<int8_t>(inputs, begin, count, output);
  case Type::Uint8:
    return addUp<uint8_t>(inputs, begin, count, output);
  }
}

} // namespace

size_t sizeOf(int type) {
  switch (static_cast<Type>(type)) {
  case Type::Int8:
  case Type::Uint8:
    return 1;
  case Type::Float16:
  case Type::BFloat16:
    return 2;
  case Type::Float32:
    return 4;
  case Type::Float64:
    return 8;
  }
  return 0;
}

size_t Collective::inputBytes(int processes) const {
  return count * sizeOf(static_cast<int>(type)) * (kind == Kind::ReduceScatter ? static_cast<size_t>(processes) : 1);
}

size_t Collective::outputBytes(int processes) const {
  return count * sizeOf(static_cast<int>(type)) * (kind == Kind::AllGather ? static_cast<size_t>(processes) : 1);
}

void Collective::finish(const std::vector<const uint8_t *> &inputs, int process, uint8_t *output) const {
  std::vector<uint8_t> result(outputBytes(static_cast<int>(inputs.size())));
  size_t piece = inputBytes(1);
  if (kind == Kind::AllGather)
    for (size_t i = 0; i < inputs.size(); ++i)
      std::copy_n(inputs[i], piece, result.data() + i * piece);
  else
    addUp(type, inputs, kind == Kind::ReduceScatter ? static_cast<size_t>(process) * count : 0, count, result.data());
  std::copy(result.begin(), result.end(), output);
}

} // namespace npar::standin::nccl
