// bf16 products by the tile instruction TDPBF16PS: 2 x 2 tiles of C, 16 rows of 16 float32 each.
//
// Panels of A: per group of 32 k, 32 rows of 64 bytes. Panels of B: per group two tiles of 16 rows, a row being a pair of neighbours in k
// for 16 columns.
#include "engine/product/TileKernels.h"

#include <algorithm>
#include <immintrin.h>

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16")

namespace npar::engine {

namespace {

constexpr int side = 16, group = 32, panelRows = 32, panelColumns = 32;
static_assert(panelRows <= mostTileRows);
/// Elements of a tile of A or B.
constexpr int64_t tileElements = side * group;

struct alignas(64) TileShapes {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {side, side, side, side, side, side, side, side};
};

void begin() {
  static const TileShapes shapes;
  _tile_loadconfig(&shapes);
}
void end() { _tile_release(); }

/// C in tiles 0 to 3, A in 4 and 5, B in 6 and 7.
void multiplyTall(int64_t depth, const uint16_t *a, const uint16_t *b, float *sums, int64_t stride, bool first) {
  const int64_t row = stride * int64_t(sizeof(float));
  if (first) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, sums, row);
    _tile_loadd(1, sums + side, row);
    _tile_loadd(2, sums + side * stride, row);
    _tile_loadd(3, sums + side * stride + side, row);
  }
  for (int64_t k = 0; k < depth; k += group, a += 2 * tileElements, b += 2 * tileElements) {
    _tile_loadd(6, b, 64);
    _tile_loadd(4, a, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + tileElements, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + tileElements, 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, row);
  _tile_stored(1, sums + side, row);
  _tile_stored(2, sums + side * stride, row);
  _tile_stored(3, sums + side * stride + side, row);
}

/// Requires at most 16 rows.
void multiplyFlat(int64_t depth, const uint16_t *a, const uint16_t *b, float *sums, int64_t stride, bool first) {
  const int64_t row = stride * int64_t(sizeof(float));
  if (first) {
    _tile_zero(0);
    _tile_zero(1);
  } else {
    _tile_loadd(0, sums, row);
    _tile_loadd(1, sums + side, row);
  }
  for (int64_t k = 0; k < depth; k += group, a += 2 * tileElements, b += 2 * tileElements) {
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + tileElements, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
  }
  _tile_stored(0, sums, row);
  _tile_stored(1, sums + side, row);
}

void multiply(int64_t depth, const void *aPanel, bool, const void *bPanel, void *tile, int64_t stride, int usedRows, bool first) {
  auto *a = static_cast<const uint16_t *>(aPanel), *b = static_cast<const uint16_t *>(bPanel);
  auto kernel = usedRows > side ? multiplyTall : multiplyFlat;
  kernel(depth, a, b, static_cast<float *>(tile), stride, first);
}

// --- packing --------------------------------------------------------------------------------------------------------------------------

/// 16 words from each of 16 rows.
inline void transpose(__m512i (&rows)[side]) {
  const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i high = _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8);
#pragma GCC unroll 4
  for (int done = 1; done < side; done *= 2) {
    __m512i next[side];
#pragma GCC unroll 16
    for (int i = 0; i < side / 2; ++i) {
      next[2 * i] = _mm512_permutex2var_epi32(rows[i], low, rows[i + side / 2]);
      next[2 * i + 1] = _mm512_permutex2var_epi32(rows[i], high, rows[i + side / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < side; ++i)
      rows[i] = next[i];
  }
}

/// 32 neighbours at most of one row of memory; nothing is read beyond `count`.
inline __m512i loadSome(const uint16_t *from, int64_t count) {
  if (count >= 32)
    return _mm512_loadu_si512(from);
  return count <= 0 ? _mm512_setzero_si512() : _mm512_maskz_loadu_epi16(__mmask32((uint64_t(1) << count) - 1), from);
}
inline __m256i loadHalf(const uint16_t *from, int64_t count) {
  if (count >= 16)
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
  return count <= 0 ? _mm256_setzero_si256() : _mm256_maskz_loadu_epi16(__mmask16((1u << count) - 1), from);
}

/// Uses masks of ones, because GCC 12 warns about undefined vectors in the forms without masks.
inline __m512i wide(__m256i half) { return _mm512_maskz_cvtepu16_epi32(0xffff, half); }

/// Two rows of memory, 16 neighbours each, as 16 pairs.
inline __m512i pairUp(__m256i even, __m256i odd) { return _mm512_or_si512(wide(even), _mm512_maskz_slli_epi32(0xffff, wide(odd), 16)); }

/// Memory whose rows run along k: `lines` of them from `line`, `depth` of k from `k`, as squares [line 16][k 32].
/// The square of tile t and group g goes to squares + g * stride + t * tileElements; `Turned`: as [pair 16][line 16].
template <bool Turned>
void packAlong(const Operand &from, int64_t line, int64_t lines, int64_t k, int64_t depth, int width, uint16_t *panels) {
  int64_t groups = (depth + group - 1) / group;
  for (int64_t top = 0; top < (lines + width - 1) / width * width; top += side) {
    uint16_t *panel = panels + top / width * width * groups * group + top % width * group;
    for (int64_t g = 0; g < groups; ++g) {
      __m512i square[side];
#pragma GCC unroll 16
      for (int i = 0; i < side; ++i) {
        const uint16_t *row = static_cast<const uint16_t *>(from.data) + (line + top + i) * from.stride + k + g * group;
        square[i] = loadSome(row, top + i < lines ? depth - g * group : 0);
      }
      if (Turned)
        transpose(square);
      uint16_t *to = panel + g * width * group;
#pragma GCC unroll 16
      for (int i = 0; i < side; ++i)
        _mm512_store_si512(to + i * group, square[i]);
    }
  }
}

/// Memory whose rows run across k: pairs of rows. `Turned`: as [column 16][k 32], else [pair 16][column 16].
template <bool Turned>
void packAcross(const Operand &from, int64_t first, int64_t count, int64_t k, int64_t depth, int width, uint16_t *panels) {
  int64_t groups = (depth + group - 1) / group;
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t left = 0; left < (count + width - 1) / width * width; left += side) {
      __m512i square[side];
#pragma GCC unroll 16
      for (int i = 0; i < side; ++i) {
        int64_t at = g * group + 2 * i;
        const uint16_t *row = static_cast<const uint16_t *>(from.data) + (k + at) * from.stride + first + left;
        __m256i even = loadHalf(row, at < depth ? count - left : 0);
        __m256i odd = loadHalf(row + from.stride, at + 1 < depth ? count - left : 0);
        square[i] = pairUp(even, odd);
      }
      if (Turned)
        transpose(square);
      uint16_t *to = panels + left / width * width * groups * group + left % width * group + g * width * group;
#pragma GCC unroll 16
      for (int i = 0; i < side; ++i)
        _mm512_store_si512(to + i * group, square[i]);
    }
}

void packA(const Operand &a, int64_t row, int64_t rows, int64_t k, int64_t depth, void *panels) {
  auto *to = static_cast<uint16_t *>(panels);
  if (a.transposed)
    packAcross<true>(a, row, rows, k, depth, panelRows, to);
  else
    packAlong<false>(a, row, rows, k, depth, panelRows, to);
}

void packB(const Operand &b, int64_t k, int64_t depth, int64_t column, int64_t columns, void *panels) {
  auto *to = static_cast<uint16_t *>(panels);
  if (b.transposed)
    packAlong<true>(b, column, columns, k, depth, panelColumns, to);
  else
    packAcross<false>(b, column, columns, k, depth, panelColumns, to);
}

// --- few rows ---------------------------------------------------------------------------------------------------------------------------

// C is computed transposed: rows of B, along k as in memory, are the first operand, and A's few rows the second. A product of two numbers
// does not depend on their order, so neither do the sums' order and bits.

/// Pairs of neighbours in k, those of all rows side by side.
void pairThin(const Operand &a, int64_t rows, int64_t depth, int64_t padded, void *factors) {
  auto *data = static_cast<const uint16_t *>(a.data);
  auto *to = static_cast<uint16_t *>(factors);
  for (int64_t k = 0; k < padded; ++k)
    for (int64_t r = 0; r < rows; ++r)
      to[(k / 2 * rows + r) * 2 + k % 2] = k < depth ? data[a.transposed ? k * a.stride + r : r * a.stride + k] : 0;
}

/// Fetches 16 lines into the first-level cache, and a little further into the second: by then the hardware has detected the sequence.
inline void fetchLines(const char *from) {
  constexpr int64_t further = 512;
#pragma GCC unroll 16
  for (int line = 0; line < side; ++line) {
    _mm_prefetch(from + line * 64, _MM_HINT_T0);
    _mm_prefetch(from + line * 64 + further, _MM_HINT_T1);
  }
}

/// Computes sums over all k for 16 columns, of which `columns` exist: [column 16][row]. Tiles access 16 rows of B at once, each a short
/// one, which the hardware prefetcher cannot predict. If such a block fits into the first-level cache, the next one is fetched line by line
/// in memory order.
void multiplyColumns(int64_t rows, int64_t depth, const uint16_t *factors, int64_t padded, const uint16_t *b, int64_t stride,
                     int64_t columns, float *turned) {
  constexpr int64_t mostFetched = 32 << 10;
  const int64_t pairs = rows * int64_t(sizeof(float)), bytes = stride * int64_t(sizeof(uint16_t));
  const bool fetches = padded - stride < group && stride <= padded && side * bytes <= mostFetched;
  const char *next = reinterpret_cast<const char *>(b) + side * bytes;
  _tile_zero(0);
  for (int64_t k = 0; k < padded; k += group, next += side * group * int64_t(sizeof(uint16_t))) {
    alignas(64) uint16_t edge[tileElements];
    const uint16_t *from = b + k;
    int64_t step = bytes;
    if (columns < side || k + group > depth) {
      for (int64_t c = 0; c < side; ++c)
        _mm512_store_si512(edge + c * group, loadSome(b + c * stride + k, c < columns ? depth - k : 0));
      from = edge, step = group * int64_t(sizeof(uint16_t));
      asm volatile("" ::: "memory"); // GCC is not told that loading a tile reads what was stored
    }
    if (fetches)
      fetchLines(next);
    _tile_loadd(5, factors + k * rows, pairs);
    _tile_loadd(4, from, step);
    _tile_dpbf16ps(0, 4, 5);
  }
  _tile_stored(0, turned, pairs);
}

void multiplyThin(int64_t rows, int64_t depth, const void *factors, int64_t padded, const Operand &b, int64_t column, int64_t columns,
                  void *tiles) {
  TileShapes shapes;
  for (int tile : {0, 5})
    shapes.rowBytes[tile] = uint16_t(rows * int64_t(sizeof(float)));
  _tile_loadconfig(&shapes);
  const uint16_t *from = static_cast<const uint16_t *>(b.data) + column * b.stride;
  auto *sums = static_cast<float *>(tiles);
  for (int64_t j = 0; j < columns; j += side) {
    alignas(64) float turned[side * side];
    multiplyColumns(rows, depth, static_cast<const uint16_t *>(factors), padded, from + j * b.stride, b.stride,
                    std::min<int64_t>(columns - j, side), turned);
    float *to = sums + j / panelColumns * panelColumns * rows + j % panelColumns;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < side; ++c)
        to[r * panelColumns + c] = turned[c * rows + r];
  }
  _tile_release();
}

/// Sums that only have to be rounded. They hold no denormals, which the instruction would flush.
void finishRounded(const ProductTarget &target, const float *tile, int64_t row, int64_t column, int usedRows, int usedColumns) {
  uint16_t *to = static_cast<uint16_t *>(target.data) + row * target.stride + column;
  auto used = __mmask32((uint64_t(1) << usedColumns) - 1);
  for (int r = 0; r < usedRows; ++r, tile += panelColumns, to += target.stride)
    _mm512_mask_storeu_epi16(to, used, __m512i(_mm512_cvtne2ps_pbh(_mm512_load_ps(tile + side), _mm512_load_ps(tile))));
}

/// A whole 32 x 32 tile of sums has the shape that AVX-512's tiles of 14 x 32 have, but more rows: it is finished in parts.
void finish(const ProductTarget &target, const void *tile, int64_t row, int64_t column, int usedRows, int usedColumns) {
  auto *sums = static_cast<const float *>(tile);
  if (target.type == ProductResult::BF16 && !target.accumulate)
    return finishRounded(target, sums, row, column, usedRows, usedColumns);
  const TileKernels &wide = avx512Kernels(ProductType::F32);
  for (int top = 0; top < usedRows; top += wide.rows)
    wide.finish(target, sums + top * panelColumns, row + top, column, std::min(wide.rows, usedRows - top), usedColumns);
}

} // namespace

const TileKernels &tilesKernels() {
  static constexpr TileKernels kernels{panelRows, panelColumns, group,   2,       768,     2048,  512, 256,   packA, packB,
                                       multiply,  finish,       nullptr, nullptr, nullptr, begin, end, false, false};
  return kernels;
}

TileKernels thinTilesKernels() {
  TileKernels kernels = avx512Kernels(ProductType::BF16);
  kernels.widenThin = pairThin, kernels.multiplyThin = multiplyThin;
  return kernels;
}

} // namespace npar::engine

#pragma GCC pop_options
