// Softmax attention and its gradients in the order of engine/attention as PTX: the bits of the processor, whatever the tiles.
#pragma once

#include "engine/program/Program_generated.h"

#include <array>
#include <string>

namespace npar::engine::cuda {

enum class AttentionPass { Forward, QueryGradient, KeyGradient };

/// What the text of a kernel depends on. `type`: of all operands but lse and states; flags as in Program.fbs, table Attention.
struct AttentionKind {
  AttentionPass pass;
  program::ElementType type;
  int64_t width, values;
  bool causal, placed, continues, unfinished;

  /// "attention_f32_64x64_causal", one for each kind.
  std::string name() const;
  /// Rows of queries (KeyGradient: of keys) of a block.
  int tile() const { return type == program::ElementType::F64 ? 4 : 8; }
  /// Of shared memory, which has `mostShared`.
  int64_t sharedBytes() const;
};
constexpr int64_t mostShared = 48 << 10;

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
};
constexpr int attentionParameterCount = sizeof(AttentionParameters) / 8;

std::string attentionText(const AttentionKind &kind);

} // namespace npar::engine::cuda
