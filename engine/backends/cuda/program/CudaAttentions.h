// The attentions of a program on a GPU: npar's own kernels, with the bits of the processor, or cuDNN where that is asked for.
#pragma once

#include "engine/backends/cuda/library/LibraryAttentions.h"
#include "engine/backends/cuda/program/CudaScores.h"
#include "engine/device/DeviceAddress.h"

namespace npar::engine::cuda {

/// Who attends: npar's own kernels; cuDNN wherever it can ("library").
enum class AttentionBy { Own, Library };
/// Looks it up by its keyword.
Result<AttentionBy> attentionBy(const std::string &word);

class CudaAttentions {
public:
  CudaAttentions() = default;
  ~CudaAttentions();
  CudaAttentions(const CudaAttentions &) = delete;

  /// Loads the kernels that the program's attentions take, and plans what the library takes. Refuses heads that are wider than a block's
  /// shared memory, and where the library is asked for, a machine without it.
  Status load(const program::Program &program, CudaDevice &device, AttentionBy by);
  /// The program's kernels and their entries, by which it changes scores. Refuses those that the processor would have to run.
  Status takeKernels(const std::vector<GpuKernel> &kernels, const std::vector<Handle> &entries);
  /// Bytes of device memory that scores and the library's plans need in each stream; 0: there are none.
  uint64_t roomBytes() const { return std::max(scoreBytes, workspaceBytes()); }
  /// Prepares this number of lanes to start attentions. Call it after `load`.
  Status prepare(uint32_t lanes) { return library ? library->prepare(lanes) : Status(); }
  /// Starts attention or its gradient for every index of the batch list, in the thread's stream. `context` is the context of kernels, which
  /// has `count` numbers; its coordinates determine the rank's piece of the sequence.
  void start(uint32_t attention, const DeviceAddress *buffers, const int64_t *context, size_t count, ThreadWork &work);
  uint64_t workspaceBytes() const { return library ? library->workspaceBytes() : 0; }
  /// Notes for the user about how attentions were planned.
  std::vector<std::string> remarks() const;

private:
  /// The values that differ between the pieces of the sequence that a rank may have.
  struct Piece {
    DevicePointer runs = 0;
    int64_t queryTiles = 0, keyTiles = 0;
  };
  struct Attention {
    AttentionParameters parameters = {};
    std::vector<AttentionKind> kinds;               ///< of its kernels: forward, or the gradients of queries and of keys
    std::vector<Handle> functions;                  ///< these kernels
    std::vector<int64_t> elementBytes;              ///< of each operand
    std::vector<size_t> bare;                       ///< operands that are neither data nor slopes
    std::vector<AttentionLoop> outer;               ///< loops of the batch that are launches
    std::vector<AttentionLoop> loops;               ///< those of a launch, the first one innermost
    int64_t inner = 1;                              ///< indices of a launch
    std::unique_ptr<CudaScores> scores;             ///< where the program changes them
    std::vector<std::pair<uint32_t, int64_t>> axes; ///< mesh axes that deal the sequence out: numbers and sizes, major to minor
    std::vector<Piece> pieces;
    bool gradient = false;
    std::string words;
    const LibraryAttentions::Plan *plan = nullptr; ///< null: npar's own kernels
    std::vector<AttentionLoop> around;             ///< loops that are launches of the library
    std::string why;                               ///< it is not the library's, where that was asked for
  };
  Status planLibrary(const program::Program &program);
  Status planLibrary(Attention &attention, const LibraryAttention &mapped);
  Status loadKernels();
  Status add(const program::Program &program, const program::Attention &attention, const std::string &what);
  Status addPieces(const program::Program &program, const program::Attention &attention, int tile, Attention &to);
  void addLoops(const program::Attention &attention, const std::vector<program::AttentionOperand> &operands, Attention &to) const;
  Code launch(const Attention &attention, const Piece &piece, const AttentionParameters &parameters, int64_t inner, Handle stream) const;

  CudaDevice *device = nullptr;
  std::vector<Attention> attentions;
  uint64_t scoreBytes = 0;
  std::unique_ptr<LibraryAttentions> library; ///< null: not asked for
};

} // namespace npar::engine::cuda
