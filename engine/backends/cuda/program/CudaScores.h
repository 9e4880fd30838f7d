// Attention whose scores a program changes, on a GPU: scores go to memory block by block, where the program's kernels change them.
#pragma once

#include "engine/backends/cuda/driver/ThreadWork.h"
#include "engine/backends/cuda/program/KernelTexts.h"
#include "engine/backends/cuda/program/ScoreBlocks.h"
#include "engine/backends/cuda/ptx/KernelText.h"
#include "engine/backends/cuda/ptx/ScoreText.h"

namespace npar::engine::cuda {

/// An attention's blocks, and what is launched for them.
class CudaScores {
public:
  CudaScores(const program::Attention &attention, const CudaDevice &device);
  ~CudaScores();
  CudaScores(const CudaScores &) = delete;

  /// Kernels of attention, as `functions` are to have them, and those around scores.
  static std::vector<AttentionKind> kinds(const program::Attention &attention);
  std::vector<ScoreStepKind> steps() const;

  /// Another piece of the sequence that a rank may have; `source` is the one that the keys are.
  Status addPiece(const std::vector<program::SequenceRun> &queries, const std::vector<program::SequenceRun> &keys, int64_t source);
  /// The loops of one launch, the first one innermost.
  void setLoops(const std::vector<AttentionLoop> &loops);
  uint64_t memoryBytes() const { return sumBytes + blockMemory; }
  /// The program's kernels, and their entries; refuses what cannot be launched.
  Status take(const std::vector<GpuKernel> &kernels, const std::vector<Handle> &entries);
  void setFunctions(std::vector<Handle> ofAttention, KernelEntries ofSteps);

  /// For the batch's indices of one launch. `operands`: all of the step's, in their order; `parameters`: as for kernels without blocks,
  /// with the operands that are neither data nor slopes; `context`: the kernels'.
  /// `memory`: of the stream, `memoryBytes`.
  void start(size_t piece, const DevicePointer *operands, const AttentionParameters &parameters, DevicePointer context,
             DevicePointer memory, ThreadWork &work) const;

private:
  /// Bands by queries, or by keys, of one piece of the sequence.
  struct Pass {
    ScoreBlocks blocks;
    DevicePointer memory = 0, bandMemory = 0;
    bool byQueries = true;
  };
  struct Piece {
    std::vector<Pass> passes;
    int64_t firstKey = 0; ///< among all keys of a ring
  };
  /// A datum or slope: its operand, and its place in a block.
  struct Datum {
    size_t operand = 0;
    int64_t elementBytes = 4, head = 0, query = 0, key = 0, keys = 0, entries = 0;
    bool hasQuery = false, hasKey = false;
    int64_t at = -1, also = -1; ///< of slopes, `also` is the place of their entries or sums of rows
    int64_t sumsAt = 0, sums = 0;
  };
  struct ScoreKernel {
    uint32_t number = 0;
    size_t buffers = 0; ///< that it takes
    const GpuKernel *lines = nullptr;
    Handle entry = nullptr;
  };
  struct Run; ///< of `start`

  Datum read(const program::AttentionDatum &datum, size_t operand) const;
  void layOut();
  int64_t groupUnits(const Pass &pass) const { return pass.byQueries ? 1 : heads; }
  int64_t blocksTogether() const;
  int64_t unitsTogether(const Pass &pass, const ScorePart &part) const;
  /// Strides of a block's rows and columns, and what of them a block has.
  int64_t rowsOf(const Datum &datum) const { return gradient ? datum.key : datum.query; }
  int64_t columnsOf(const Datum &datum) const { return gradient ? datum.query : datum.key; }
  int64_t blockRows(const Datum &datum) const { return (gradient ? datum.hasKey : datum.hasQuery) ? program::scoreRows : 1; }
  int64_t blockColumns(const Datum &datum) const { return (gradient ? datum.hasQuery : datum.hasKey) ? columns : 1; }

  const CudaDevice &device;
  bool gradient, drops, ring, causal, placed;
  int64_t heads, rows, keys, columns, elementBytes, floatBytes;
  int attentionTile;
  ScoreSight sight;
  std::vector<ScoreKernel> kernels;
  std::vector<Datum> data, slopes;
  std::vector<AttentionLoop> loops;
  int64_t units = 1; ///< of a launch
  /// Size of a block, and places in it.
  int64_t blockBytes = 0, rowsAt = 0, columnsAt = 0, firstTable = 0, secondTable = 0;
  ScoreSlab tables = {};
  std::vector<int64_t> places;
  DevicePointer placeMemory = 0;
  uint64_t sumBytes = 0, blockMemory = 0;
  std::vector<Piece> pieces;
  std::vector<Handle> functions;
  KernelEntries stepFunctions;
};

} // namespace npar::engine::cuda
