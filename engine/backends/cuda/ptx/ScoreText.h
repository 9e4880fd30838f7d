// The kernels that run before and after the program's kernels of scores, as PTX: positions and data of blocks of scores, sums of slopes.
//
// A block is one piece of memory: first the arrays of pointers that its kernels take, then positions, data as described in Program.fbs,
// table Attention, and tables of scores and slopes. The caller chooses their places.
#pragma once

#include "engine/backends/cuda/ptx/AttentionText.h"

namespace npar::engine::cuda {

/// The parameters of each kernel here, in this order; what it does not name it leaves. Strides and places in bytes; `at` and `also` are
/// places in a block. A launch has one block (Clear, Entries: more) of `attentionThreads`, then blocks of scores (or 1), then units.
struct ScoreParameters {
  /// These have the meaning of the fields of ScoreSlab.
  uint64_t blocks;
  int64_t count, first;
  uint64_t memory;
  int64_t bytes, columns;
  int64_t heads;
  struct Loop {
    int64_t size, stride;
  } loops[attentionLoops];
  /// Address of a datum, a slope, or the position at which rows begin (Place; 0 for none), and its distances from one head, row of the
  /// block and column of the block to the next.
  uint64_t base;
  int64_t head, row, column;
  int64_t at, also;
  /// Number of rows and columns of a datum in a block. Clear: of a slope. Entries: the number of entries, and 1.
  int64_t rowCount, columnCount;
  /// Numbers in memory: places in the block that its first pointers are to name, and how many. One below 0 is left out.
  uint64_t places;
  int64_t placeCount;
  /// Sums of slopes in F64: [units of the whole batch, sumCount].
  uint64_t sums;
  int64_t sumCount;
};
constexpr int scoreParameterCount = sizeof(ScoreParameters) / 8;

/// Place: positions of rows at `at` and of columns at `also`, and pointers. Point: pointers at `at`, and `also` if that is not below 0, to
/// a datum that all blocks of a head share. Cut: a datum's block, with 0 beyond what there is.
///
/// Slopes, of F32 or F64, in the order of backends/cpu/Scores.cpp. Clear, Pair: of queries by keys. Entries: a warp has an entry of a
/// table, `at` the block's numbers and `also` to which entry they go. Partial: sums of a block's rows at `also`, F64, which OfKeys adds up
/// for each key and OfAll for all. OfQueries: sums of columns.
enum class ScoreStep { Place, Point, Cut, Clear, Pair, Entries, Partial, OfQueries, OfKeys, OfAll };

/// `bytes` of an element: 8, 4, and of Cut 2 and 1 too; Place and Point have none. `causal` as in AttentionKind.
struct ScoreStepKind {
  ScoreStep step;
  int bytes;
  bool causal;
  std::string name() const;
};
std::string scoreStepText(const ScoreStepKind &kind);

} // namespace npar::engine::cuda
