// The attentions of a program on a GPU: npar's own kernels, with the bits of the processor.
#pragma once

#include "engine/backends/cuda/AttentionText.h"
#include "engine/backends/cuda/ThreadWork.h"
#include "engine/device/DeviceAddress.h"

namespace npar::engine::cuda {

class CudaAttentions {
public:
  CudaAttentions() = default;
  ~CudaAttentions();
  CudaAttentions(const CudaAttentions &) = delete;

  /// Loads the kernels that the program's attentions take. Refuses those whose scores the program changes, and heads that are wider than a
  /// block's shared memory.
  Status load(const program::Program &program, CudaDevice &device);
  /// Attention or its gradient for every index of the batch list, in the thread's stream. `context`: that of kernels, whose coordinates say
  /// which piece of the sequence is the rank's.
  void start(uint32_t attention, const DeviceAddress *buffers, const int64_t *context, ThreadWork &work) const;

private:
  struct Loop {
    int64_t size = 1, strides[attentionOperands] = {};
  };
  /// What differs between the pieces of the sequence that a rank may have.
  struct Piece {
    DevicePointer runs = 0;
    int64_t queryTiles = 0, keyTiles = 0;
  };
  struct Attention {
    AttentionParameters parameters = {};
    std::vector<Handle> functions; ///< forward, or the gradients of queries and of keys
    int64_t elementBytes[attentionOperands] = {};
    size_t operands = 0;
    std::vector<Loop> outer;                        ///< loops of the batch that are launches
    int64_t inner = 1;                              ///< indices of a launch
    std::vector<std::pair<uint32_t, int64_t>> axes; ///< mesh axes that deal the sequence out: numbers and sizes, major to minor
    std::vector<Piece> pieces;
    bool gradient = false;
    std::string words;
  };
  Status add(const program::Program &program, const program::Attention &attention, const std::string &what,
             std::vector<AttentionKind> &kinds);
  Status addPieces(const program::Program &program, const program::Attention &attention, int tile, Attention &to);
  void launch(const Attention &attention, const Piece &piece, const AttentionParameters &parameters, ThreadWork &work) const;

  CudaDevice *device = nullptr;
  std::vector<Attention> attentions;
};

} // namespace npar::engine::cuda
