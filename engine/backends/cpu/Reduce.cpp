// Reductions between ranks: added in ascending member order, whatever the blocking or the number of workers (RULES.md#N5).
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/backends/cpu/Workers.h"
#include "engine/numbers/Convert.h"

#include <algorithm>
#include <cstring>

namespace npar::engine {

namespace {

constexpr uint64_t blockElements = 1024;
constexpr uint64_t partElements = 1 << 16;

/// One block at a time through the stack: every source is read before any target is written, so targets may be sources.
template <typename T, typename Op>
void reduceRange(const void *const *sources, size_t sourceCount, void *const *targets, size_t targetCount, uint64_t begin, uint64_t end,
                 Op op) {
  alignas(64) T sum[blockElements];
  for (uint64_t at = begin; at < end; at += blockElements) {
    uint64_t n = std::min(blockElements, end - at);
    std::memcpy(sum, static_cast<const T *>(sources[0]) + at, n * sizeof(T));
    for (size_t i = 1; i < sourceCount; ++i) {
      const T *source = static_cast<const T *>(sources[i]) + at;
      for (uint64_t j = 0; j < n; ++j)
        sum[j] = op(sum[j], source[j]);
    }
    for (size_t i = 0; i < targetCount; ++i)
      std::memcpy(static_cast<T *>(targets[i]) + at, sum, n * sizeof(T));
  }
}

/// 16-bit floats: in float32, rounded at the end, or after each addition for RoundedSum.
template <typename Narrow, typename Op>
void reduceNarrow(const void *const *sources, size_t sourceCount, void *const *targets, size_t targetCount, uint64_t begin, uint64_t end,
                  Op op) {
  alignas(64) float sum[blockElements];
  alignas(64) Narrow rounded[blockElements];
  for (uint64_t at = begin; at < end; at += blockElements) {
    uint64_t n = std::min(blockElements, end - at);
    for (size_t i = 0; i < sourceCount; ++i) {
      const Narrow *source = static_cast<const Narrow *>(sources[i]) + at;
      for (uint64_t j = 0; j < n; ++j)
        sum[j] = i == 0 ? static_cast<float>(source[j]) : op(sum[j], static_cast<float>(source[j]));
    }
    for (uint64_t j = 0; j < n; ++j)
      rounded[j] = Narrow(sum[j]);
    for (size_t i = 0; i < targetCount; ++i)
      std::memcpy(static_cast<Narrow *>(targets[i]) + at, rounded, n * sizeof(Narrow));
  }
}

template <typename Narrow>
void reduceNarrow(program::ReduceOp op, const void *const *sources, size_t sourceCount, void *const *targets, size_t targetCount,
                  uint64_t begin, uint64_t end) {
  auto reduce = [&](auto combine) { reduceNarrow<Narrow>(sources, sourceCount, targets, targetCount, begin, end, combine); };
  switch (op) {
  case program::ReduceOp::Sum:
    return reduce([](float a, float b) { return a + b; });
  case program::ReduceOp::RoundedSum:
    return reduce([](float a, float b) { return static_cast<float>(Narrow(a + b)); });
  case program::ReduceOp::Max:
    return reduce([](float a, float b) { return a > b || a != a ? a : b; });
  }
}

template <typename T>
void reduceRange(program::ReduceOp op, const void *const *sources, size_t sourceCount, void *const *targets, size_t targetCount,
                 uint64_t begin, uint64_t end) {
  auto reduce = [&](auto combine) { reduceRange<T>(sources, sourceCount, targets, targetCount, begin, end, combine); };
  switch (op) {
  case program::ReduceOp::Sum:
  case program::ReduceOp::RoundedSum:
    return reduce([](T a, T b) { return static_cast<T>(a + b); });
  case program::ReduceOp::Max: // NaN wins, so that it is seen
    return reduce([](T a, T b) { return a > b || a != a ? a : b; });
  }
}

} // namespace

void CpuBackend::reduce(program::ElementType type, program::ReduceOp op, const DeviceAddress *from, size_t sourceCount,
                        const DeviceAddress *to, size_t targetCount, uint64_t count) {
  auto *sources = reinterpret_cast<const void *const *>(from); // here an address is a pointer
  auto *targets = reinterpret_cast<void *const *>(to);
  auto range = [&](uint64_t begin, uint64_t end) {
    withType(type, [&](auto element) {
      using T = decltype(element);
      if constexpr (isNarrowFloat<T>)
        reduceNarrow<T>(op, sources, sourceCount, targets, targetCount, begin, end);
      else
        reduceRange<T>(op, sources, sourceCount, targets, targetCount, begin, end);
    });
  };
  uint64_t parts = spread.threads > 1 ? (count + partElements - 1) / partElements : 1;
  if (parts <= 1)
    return range(0, count);
  forEachPart(static_cast<int64_t>(parts), [&](int64_t i) { range(i * partElements, std::min(count, (i + 1) * partElements)); });
}

} // namespace npar::engine
