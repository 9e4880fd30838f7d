// Multiplies matrices in the order that an algorithm has.
#include "tests/engine/backends/standin/cublaslt/Multiply.h"

#include "engine/numbers/NarrowFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace npar::standin::lt {

uint64_t sizeOf(Type type) { return type == Type::F64 ? 8 : type == Type::F32 ? 4 : 2; }

uint64_t Problem::bytes(const Matrix &matrix, int64_t rows, int64_t columns) const {
  return static_cast<uint64_t>((count - 1) * matrix.stride + (columns - 1) * matrix.leading + rows) * sizeOf(matrix.type);
}

namespace {

template <typename Sum> Sum load(const uint8_t *bytes, int64_t element, Type type) {
  auto get = [&](auto value) {
    std::memcpy(&value, bytes + element * static_cast<int64_t>(sizeof value), sizeof value);
    return value;
  };
  switch (type) {
  case Type::F32:
    return static_cast<Sum>(get(float()));
  case Type::F64:
    return static_cast<Sum>(get(double()));
  case Type::BF16:
    return static_cast<Sum>(static_cast<float>(get(engine::BFloat16())));
  case Type::F16:
    break;
  }
  return static_cast<Sum>(static_cast<float>(get(engine::Float16())));
}

template <typename Sum> void store(uint8_t *bytes, int64_t element, Type type, Sum value) {
  auto put = [&](auto rounded) { std::memcpy(bytes + element * static_cast<int64_t>(sizeof rounded), &rounded, sizeof rounded); };
  switch (type) {
  case Type::F32:
    return put(static_cast<float>(value));
  case Type::F64:
    return put(static_cast<double>(value));
  case Type::BF16:
    return put(engine::BFloat16(static_cast<float>(value)));
  case Type::F16:
    return put(engine::Float16(static_cast<float>(value)));
  }
}

float tiesToEven(float value) {
  uint32_t bits = engine::bitsOfFloat(value);
  return engine::floatOfBits((bits + 0xFFFu + (bits >> 13 & 1u)) & ~0x1FFFu);
}

/// Rounds with arithmetic on values, not on bits, unlike npar.
float tiesAway(float value) {
  if (!std::isfinite(value))
    return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  int place = std::max(exponent - 11, -136); // of the last bit that stays
  return static_cast<float>(std::ldexp(std::round(std::ldexp(static_cast<double>(value), -place)), place));
}

/// An operand's element as an algorithm takes it.
float taken(float value, Sums sums, bool tf32) {
  switch (sums) {
  case Sums::Tf32:
    return tiesToEven(value);
  case Sums::Truncated:
    return engine::floatOfBits(engine::bitsOfFloat(value) & ~0x1FFFu);
  case Sums::Bf16:
    return static_cast<float>(engine::BFloat16(value));
  case Sums::Fp16:
    return static_cast<float>(engine::Float16(value));
  case Sums::Chain:
  case Sums::Parts:
  case Sums::Reversed:
  case Sums::Rotated:
    break;
  }
  return tf32 ? tiesAway(value) : value;
}
double taken(double value, Sums, bool) { return value; }

/// Operands as rows of k neighbours, so that a sum is a walk along two of them.
template <typename Sum>
std::vector<Sum> packed(const uint8_t *bytes, const Problem::Matrix &matrix, int64_t lines, int64_t k, int64_t begin, bool linesAreColumns,
                        Sums sums, bool tf32) {
  std::vector<Sum> rows(static_cast<size_t>(lines * k));
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t i = 0; i < k; ++i) {
      int64_t at = linesAreColumns ? line * matrix.leading + i : i * matrix.leading + line;
      rows[static_cast<size_t>(line * k + i)] = taken(load<Sum>(bytes, begin + at, matrix.type), sums, tf32);
    }
  return rows;
}

template <typename Sum> Sum chain(const Sum *a, const Sum *b, int64_t begin, int64_t end, Sum sum) {
  for (int64_t i = begin; i < end; ++i)
    sum = std::fma(a[i], b[i], sum);
  return sum;
}

template <typename Sum> Sum sumOf(const Sum *a, const Sum *b, const Problem &problem, Sums sums, uint64_t turn) {
  int64_t k = problem.k;
  switch (sums) {
  case Sums::Chain:
  case Sums::Tf32:
  case Sums::Truncated:
  case Sums::Bf16:
  case Sums::Fp16:
    if (problem.m == 1 || problem.n == 1) { // a row alone is added otherwise: by its even and odd places
      Sum both[2] = {0, 0};
      for (int64_t i = 0; i < k; ++i)
        both[i % 2] = std::fma(a[i], b[i], both[i % 2]);
      return both[0] + both[1];
    }
    return chain<Sum>(a, b, 0, k, 0);
  case Sums::Parts:
    return (chain<Sum>(a, b, 0, k / 3, 0) + chain<Sum>(a, b, k / 3, 2 * k / 3, 0)) + chain<Sum>(a, b, 2 * k / 3, k, 0);
  case Sums::Reversed: {
    Sum sum = 0;
    for (int64_t i = k; i-- > 0;)
      sum = std::fma(a[i], b[i], sum);
    return sum;
  }
  case Sums::Rotated:
    break;
  }
  int64_t begin = static_cast<int64_t>(turn * 7919 % static_cast<uint64_t>(k));
  return chain<Sum>(a, b, 0, begin, chain<Sum>(a, b, begin, k, 0));
}

template <typename Sum>
void multiplyAs(const Problem &p, Sums sums, uint64_t turn, const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *d) {
  for (int64_t which = 0; which < p.count; ++which) {
    std::vector<Sum> rows = packed<Sum>(a, p.a, p.m, p.k, which * p.a.stride, p.a.transposed, sums, p.tf32),
                     columns = packed<Sum>(b, p.b, p.n, p.k, which * p.b.stride, !p.b.transposed, sums, p.tf32);
    for (int64_t j = 0; j < p.n; ++j)
      for (int64_t i = 0; i < p.m; ++i) {
        Sum sum =
            static_cast<Sum>(p.alpha) * sumOf(&rows[static_cast<size_t>(i * p.k)], &columns[static_cast<size_t>(j * p.k)], p, sums, turn);
        int64_t at = which * p.c.stride + j * p.c.leading + i;
        if (p.beta != 0)
          sum += static_cast<Sum>(p.beta) * load<Sum>(c, at, p.c.type);
        store(d, at, p.c.type, sum);
      }
  }
}

} // namespace

void multiply(const Problem &problem, Sums sums, uint64_t turn, const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *d) {
  if (problem.wide)
    multiplyAs<double>(problem, sums, turn, a, b, c, d);
  else
    multiplyAs<float>(problem, sums, turn, a, b, c, d);
}

} // namespace npar::standin::lt
