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
  /// Of data and slopes, which `strides` of the attention lack.
  const AttentionDatum *datum = nullptr;
  /// Of the others, which of `strides` is theirs.
  uint32_t strides = 0;
};
/// The inputs, of which the last are `data`, and then the outputs of a step, of which the last are `slopes`.
struct AttentionOperands {
  std::vector<AttentionOperand> all;
  uint32_t inputs, data = 0, slopes = 0;
};
AttentionOperands attentionOperands(const Attention &attention);

/// Rows of a block of scores in a kernel, and its columns where there are `count` in all.
constexpr int64_t scoreRows = 32, mostScoreColumns = 256;
constexpr int64_t scoreColumns(int64_t count) { return count < mostScoreColumns ? (count + 31) / 32 * 32 : mostScoreColumns; }

/// Whether it matters where rows and keys stand: for a causal mask, or for kernels of scores.
bool knowsPositions(const Attention &attention);
/// Whether the input after v says where the first of the rows stands among keys that were kept of the rows' own sequence.
bool isPlaced(const Attention &attention);
/// Of how many pieces the sequence consists that the rows are one of.
int64_t attentionPieces(const Program &program, const Attention &attention);
/// Rows [at, at + count) in memory that stand at `position` in the sequence, and so on.
struct SequenceRun {
  int64_t at, count, position;
};
/// What the piece with number `piece` has of a sequence of `size` that lies in zigzag order (0: in its own), in ascending order of
/// positions. Rows beyond its end stand there.
std::vector<SequenceRun> sequenceRuns(int64_t piece, int64_t rows, int64_t size, int64_t zigzag);

/// Whether some row of an operand of `bytes` bytes lies outside of it; the attention's sizes are good.
bool reachesBeyond(const Attention &attention, uint32_t index, uint64_t bytes);

} // namespace npar::program
