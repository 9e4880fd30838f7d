// Changes the scores of attentions by the program's kernels: makes blocks of data for them, and adds up slopes.
#pragma once

#include "engine/attention/Attention.h"
#include "engine/backends/cpu/BatchLoops.h"
#include "engine/backends/cpu/KernelObject.h"
#include "engine/program/Attentions.h"

#include <functional>

namespace npar::engine {

struct ScoreKernel {
  KernelFunction function = nullptr;
  int64_t extent = 0;
};
/// Returns the kernel of a number; returns none if the program is only measured.
using KernelTable = std::function<ScoreKernel(uint32_t)>;

/// The changes to the scores of one attention of a program; does nothing without kernels.
class Scores {
public:
  Scores() = default;
  Scores(const program::Attention &attention, const KernelTable &kernels);
  bool change() const { return !kernels.empty(); }
  /// Number of buffers of a kernel, at most, and the number for which there is room.
  size_t buffers() const { return 6 + data.size() + 2 * slopes.size(); }
  static constexpr size_t mostBuffers = 64;
  /// Bytes of scratch memory per worker: blocks of data, and sums of slopes.
  uint64_t scratchBytes() const;

  /// An index of the batch loops of one step. `data` and `slopes` are where its operands begin for this index; `source`: which piece of the
  class Item {
  public:
    /// sequence the keys are; `firstPosition`: what is added to the positions of queries.
    Item(const Scores &scores, const AttentionShape &shape, void *const *data, void *const *slopes, const int64_t *context, int64_t source,
         int64_t firstPosition, void *scratch);
    ScoreModifier modifier() const;
    /// Writes the sums of slopes; after the gradient.
    void finish() const;

  private:
    static void modifyOf(const void *item, const ScoreBlock &block) { static_cast<const Item *>(item)->modify(block); }
    static void differentiateOf(const void *item, const ScoreBlock &block, void *gradients) {
      static_cast<const Item *>(item)->differentiate(block, gradients);
    }
    void modify(const ScoreBlock &block) const;
    void differentiate(const ScoreBlock &block, void *gradients) const;
    void place(const std::vector<PositionRun> &runs, int64_t shift, int64_t first, int64_t count, int32_t *to) const;
    void *block(size_t datum, const ScoreBlock &block) const;
    template <class T> void addUp(const ScoreBlock &block, size_t slope, const T *tile, const int32_t *entries, int64_t columns) const;
    template <class T> void finish(size_t slope) const;
    void run(const ScoreKernel &kernel, void *const *buffers, int64_t rows) const;

    const Scores &scores;
    const AttentionShape &shape;
    void *const *data, *const *slopes;
    const int64_t *context;
    int64_t firstKey; ///< the piece's first among all keys of a ring
    int64_t firstPosition;
    char *scratch;
  };

private:
  /// The fields of AttentionDatum (Program.fbs), with strides in elements.
  struct Datum {
    int64_t bytes, head, query, key, keys, entries;
    bool hasQuery, hasKey;
    size_t of;
    int64_t at = 0; ///< place of its block, or of its sums, in the scratch memory
  };
  static Datum read(const program::AttentionDatum &datum);
  /// Number of sums per head of a slope; 0 if it has queries and keys, and is added up in place.
  int64_t sumsOf(const Datum &slope) const;

  bool gradient = false, drops = false, ring = false;
  int64_t heads = 1, rows = 1, keys = 1, columns = 0, sumBytes = 4;
  std::vector<ScoreKernel> kernels;
  std::vector<Datum> data, slopes;
  int64_t queriesAt = 0, keysAt = 0, tilesAt = 0, bytes = 0; ///< places of positions and of tiles of slopes in the scratch memory; its size
};

} // namespace npar::engine
