// Kernels of scores for the processor, as a compiler could have made them: two biases and a table, times a scalar, and a window and a
// pattern of hidden keys; the same as CudaScoresTest.cpp writes for a GPU. The seed of their context is the number of columns.
#include <cstdint>
#include <limits>

namespace {

int32_t entryOf(int32_t i, int32_t j) { return (i - 3 * j) & 15; }
bool isHidden(int32_t i, int32_t j) { return ((i + 2 * j) & 7) == 0 || i - j > 40 || j - i > 50; }

/// The first parameters of all kernels.
template <class T, bool ofKeys> struct Block {
  Block(void *const *buffers, const int64_t *context, int64_t row, int64_t column)
      : at(row * context[2] + column), query(ofKeys ? column : row), key(ofKeys ? row : column), score(of(buffers, 0)[at]),
        i(static_cast<const int32_t *>(buffers[1])[query]), j(static_cast<const int32_t *>(buffers[2])[key]), pair(of(buffers, 3)[at]),
        ofQuery(of(buffers, 4)[query]), ofKey(of(buffers, 5)[key]), scalar(of(buffers, 6)[0]), entry(entryOf(i, j)),
        inTable(of(buffers, 7)[entry]) {}
  static const T *of(void *const *buffers, int number) { return static_cast<const T *>(buffers[number]); }

  int64_t at, query, key;
  T score;
  int32_t i, j;
  T pair, ofQuery, ofKey, scalar;
  int32_t entry;
  T inTable;
};

template <class T, bool ofKeys> void change(void *const *buffers, const int64_t *context, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row)
    for (int64_t column = 0; column < context[2]; ++column) {
      Block<T, ofKeys> b(buffers, context, row, column);
      T sum = (b.pair + (b.ofQuery + b.ofKey) * b.scalar) + b.inTable;
      static_cast<T *>(buffers[8])[b.at] = isHidden(b.i, b.j) ? -std::numeric_limits<T>::infinity() : b.score + sum * T(0.0625);
      static_cast<T *>(buffers[9])[b.at] = ((b.i + b.j) & 3) == 0 ? T(0) : T(1.5);
    }
}

template <class T> void slopes(void *const *buffers, const int64_t *context, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row)
    for (int64_t column = 0; column < context[2]; ++column) {
      Block<T, true> b(buffers, context, row, column);
      T given = static_cast<const T *>(buffers[8])[b.at], d = isHidden(b.i, b.j) ? T(0) : given, part = d * T(0.0625);
      T all[] = {d, part, part * b.scalar, part * b.scalar, part * (b.ofQuery + b.ofKey), part};
      for (int i = 0; i < 6; ++i)
        static_cast<T *>(buffers[9 + i])[b.at] = all[i];
      static_cast<int32_t *>(buffers[15])[b.at] = b.entry;
    }
}

} // namespace

#define NPAR_SCORE_KERNEL(NAME, FUNCTION)                                                                                                  \
  extern "C" void NAME(void *const *buffers, const int64_t *context, int64_t begin, int64_t end) { FUNCTION(buffers, context, begin, end); }

NPAR_SCORE_KERNEL(queries_f32, (change<float, false>))
NPAR_SCORE_KERNEL(queries_f64, (change<double, false>))
NPAR_SCORE_KERNEL(keys_f32, (change<float, true>))
NPAR_SCORE_KERNEL(keys_f64, (change<double, true>))
NPAR_SCORE_KERNEL(slopes_f32, slopes<float>)
NPAR_SCORE_KERNEL(slopes_f64, slopes<double>)
