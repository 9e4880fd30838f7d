// A kind of attention as cuDNN is asked for it: what of a program's attentions it can be, and the graph of operations that it fuses.
#pragma once

#include "engine/backends/cuda/library/CudnnGraph.h"
#include "engine/backends/cuda/ptx/AttentionText.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::engine::cuda {

/// Sizes and places of the operands, which are q, k, v, out and lse, or of a gradient q, k, v, out, dout, lse, dq, dk and dv: [sample,
/// head, row, column], in elements. Columns have no gaps, lse has none at all.
struct LibraryAttentionShape {
  struct Strides {
    int64_t sample = 0, head = 0, row = 0;
  };
  program::ElementType type;
  bool gradient, causal;
  double scale;
  int64_t samples, heads, keyHeads, rows, keys, features, values;
  std::vector<Strides> strides;

  size_t operands() const { return gradient ? 9 : 5; }
  size_t lse() const { return gradient ? 5 : 4; }
  /// The sizes of an operand: samples, heads, rows and columns.
  DnnSizes sizes(size_t operand) const;
  /// Number of elements from an operand's first to its last.
  int64_t span(size_t operand) const;
  /// One line that no other shape has.
  std::string words() const;
};

/// The largest workspace of a plan, in bytes, without its operands.
constexpr uint64_t mostAttentionWorkspace = uint64_t{512} << 20;

/// Maps a program's attention to the library's. One loop of its batch becomes the samples, one the heads that have keys of their own (size
/// 1 if no loop does), and the others become launches. A gradient in a fixed order stores a matrix of queries by keys for each head, so
/// samples whose matrices need more than `mostAttentionWorkspace` are split into several launches too.
struct LibraryAttention {
  LibraryAttentionShape shape;
  AttentionLoop samples, heads;
  std::vector<AttentionLoop> around;
};
/// `alignments`: in bytes, of each operand's address. BadInput with the reason why npar's own kernel computes it: "has type float32".
Result<LibraryAttention> libraryAttention(const program::Program &program, const program::Attention &attention,
                                          const std::vector<uint32_t> &alignments);

/// Returns the alignment in bytes of each operand of each attention: the largest that holds in every step with that attention.
std::vector<std::vector<uint32_t>> alignmentsOfAttentions(const program::Program &program);

/// The numbers of an execution's other operands. The operands of the shape have the numbers 1, 2 and so on.
enum LibraryAttentionNumber : int64_t { ScaleNumber = 100, HiddenNumber, OneNumber, SumsNumber };
/// Float32 [sample, head, row] that a gradient has in memory for itself.
inline uint64_t sumsBytes(const LibraryAttentionShape &shape) {
  return shape.gradient ? static_cast<uint64_t>(shape.samples * shape.heads * shape.rows) * sizeof(float) : 0;
}
/// Softmax attention from its definition; its gradient from q, k, v, out, dout and lse as by FlashAttention-2 (Dao, 2023). cuDNN knows
/// these graphs by their pattern: a product more or in another order is one that it has no kernel for.
Result<Handle> describeAttention(CudnnGraph &graph, const LibraryAttentionShape &shape, Handle library);

} // namespace npar::engine::cuda
