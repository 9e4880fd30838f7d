// Softmax attention and its gradients in the order of engine/attention as PTX: the bits of the processor, whatever the tiles.
#pragma once

#include "engine/program/Elements.h"
#include "engine/program/Program_generated.h"

#include <array>
#include <string>
#include <vector>

namespace npar::engine::cuda {

/// The first three are all that attention needs. Where a program changes scores these find theirs in blocks in memory (ScoreText.h), as
/// QueryScores makes them for the first (32 queries by up to 256 keys) and KeyScores for the gradients (32 keys by queries), with the
/// gradients of probabilities; of those Probabilities makes probabilities and gradients of changed scores.
enum class AttentionPass { Forward, QueryGradient, KeyGradient, QueryScores, KeyScores, Probabilities };

/// What the text of a kernel depends on. `type`: of all operands but lse and states; flags as in Program.fbs, table Attention.
struct AttentionKind {
  AttentionPass pass;
  program::ElementType type;
  int64_t width, values;
  bool causal, placed, continues, unfinished;
  bool scored = false, drops = false; ///< scores are in blocks in memory; so are factors of probabilities

  /// Forward or QueryGradient, without changed scores.
  static AttentionKind of(const program::Attention &attention);
  /// "attention_f32_64x64_causal", one for each kind.
  std::string name() const;
  /// Rows of queries (KeyGradient: of keys) of a block.
  int tile() const { return program::isWide(type) ? 4 : 8; }
  /// Bytes of shared memory that a block needs, at most `mostShared`.
  int64_t sharedBytes() const;
};
constexpr int64_t mostShared = 48 << 10;

/// Some blocks of scores in memory: the same `count` of each unit, which is a head of an index of the batch (KeyGradient: all its heads). A
/// launch has parts of a band or block, then bands or blocks, then units.
struct ScoreSlab {
  uint64_t blocks, bands; ///< of the part of the sequence that is done, in device memory: ScoreBlock, ScoreBand
  int64_t count, first;   ///< and the first unit
  uint64_t memory;
  int64_t bytes, columns; ///< from one block to the next, and of all its tables of scores
  /// Their places in a block: scores, changed scores, factors, gradients, and the probabilities that are multiplied by v.
  int64_t scores, changed, factors, gradients, probabilities;
};
/// Neighbours in memory and in the sequence: rows of q and keys, or keys and rows of q.
struct ScoreBlock {
  int32_t rowAt, rows, rowPosition, columnAt, columns, columnPosition, pad[2];
};
/// Blocks that have all that some queries (or keys) meet: from `first` on.
struct ScoreBand {
  int32_t first, blocks, at, count, position, pad[3];
};
/// Rows of a block.
constexpr int scoreBlockRows = 32;

constexpr int attentionThreads = 256, attentionOperands = 9, attentionLoops = 3;

/// The parameters of a kernel, in this order. Operands as the program's step has them, strides in elements; the batch's loops, the first
/// one innermost. `runs`, in device memory: how many runs of queries there are and of each where it begins in memory, how long it is and
/// its position, then the same of keys (PositionRun); numbers of 64 bits. A launch has tiles, heads (KeyGradient: 1) and indices of the
/// batch; a run's last tile may be partly filled, and no tile holds rows of two runs.
struct AttentionParameters {
  uint64_t operands[attentionOperands], runs;
  struct Strides {
    int64_t row, head;
  } strides[attentionOperands];
  int64_t heads, rows;
  uint64_t scale; ///< bits of the sums' type
  struct Loop {
    int64_t size, strides[attentionOperands];
  } loops[attentionLoops];
  ScoreSlab slab; ///< for kernels whose scores are in blocks
};
constexpr int attentionParameterCount = sizeof(AttentionParameters) / 8;

/// A loop over the batch, with the strides of all operands in elements.
struct AttentionLoop {
  int64_t size = 1;
  std::vector<int64_t> strides;
};

std::string attentionText(const AttentionKind &kind);

} // namespace npar::engine::cuda
