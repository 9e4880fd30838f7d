// Blocks of scores on their way to a caller's modifier.
#pragma once

#include "engine/attention/Attention.h"

#include <algorithm>

namespace npar::engine {

template <class T> void multiplyScores(const ScoreBlock &block, T scale) {
  bool keysLieTogether = block.keyStride == 1;
  int64_t rows = keysLieTogether ? block.queries : block.keys, columns = keysLieTogether ? block.keys : block.queries;
  int64_t stride = keysLieTogether ? block.queryStride : block.keyStride;
  for (int64_t r = 0; r < rows; ++r) {
    T *row = static_cast<T *>(block.scores) + r * stride;
    std::transform(row, row + columns, row, [scale](T x) { return x * scale; });
  }
}

inline void scaleScores(const ScoreBlock &block, const AttentionShape &shape) {
  if (shape.type == ProductType::F64)
    multiplyScores<double>(block, shape.scale);
  else
    multiplyScores<float>(block, float(shape.scale));
}

} // namespace npar::engine
