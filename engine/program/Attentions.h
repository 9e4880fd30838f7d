// The operands of an attention step: how many there are, and what each holds (Program.fbs, table Attention).
#pragma once

#include "engine/program/Program_generated.h"

#include <vector>

namespace npar::program {

/// One operand for one index of the batch list: `heads` x `rows` rows of `columns` contiguous elements; `dense` ones have no gaps.
struct AttentionOperand {
  const char *name;
  int64_t heads, rows, columns;
  ElementType type;
  bool dense = false;
  /// Layout of a datum or slope, which has no entry in the attention's `strides`; null for the other operands.
  const AttentionDatum *datum = nullptr;
  /// Index of this operand's entry in `strides`, unless `datum` is set.
  uint32_t strides = 0;
};
/// The inputs, of which the last are `data`, and then the outputs of a step, of which the last are `slopes`.
struct AttentionOperands {
  std::vector<AttentionOperand> all;
  uint32_t inputs, data = 0, slopes = 0;
};
AttentionOperands attentionOperands(const Attention &attention);

/// Rows of a block of scores in a kernel, and the largest number of its columns. `scoreColumns` gives the columns for `count` rows or keys.
constexpr int64_t scoreRows = 32, mostScoreColumns = 256;
constexpr int64_t scoreColumns(int64_t count) { return count < mostScoreColumns ? (count + 31) / 32 * 32 : mostScoreColumns; }

/// True if the positions of rows and keys matter: with a causal mask, or with kernels of scores.
bool knowsPositions(const Attention &attention);
/// True if the input after v holds the position of the first row among the kept keys of the rows' own sequence.
bool isPlaced(const Attention &attention);
/// Number of pieces into which the sequence is split; the rows are one of them.
int64_t attentionPieces(const Program &program, const Attention &attention);
/// Rows [at, at + count) in memory have the positions `position`, `position` + 1, ... in the sequence.
struct SequenceRun {
  int64_t at, count, position;
};
/// The part of a sequence of `size` positions that piece number `piece` holds, ascending by position. `zigzag` is the number of zigzag
/// chunks, 0 for a sequence in its own order. Rows past the end of the sequence are included.
std::vector<SequenceRun> sequenceRuns(int64_t piece, int64_t rows, int64_t size, int64_t zigzag);

/// True if some row of an operand of `bytes` bytes is outside it. The attention's sizes must be valid.
bool reachesBeyond(const Attention &attention, uint32_t index, uint64_t bytes);

} // namespace npar::program
