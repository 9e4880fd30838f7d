// The parts that the kernels of attention have in common: operands of one index of the batch, tiles of runs, ordered sums, exp.
#pragma once

#include "engine/backends/cuda/ptx/AttentionText.h"
#include "engine/backends/cuda/ptx/Numbers.h"

#include <limits>

namespace npar::engine::cuda {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Keys (or queries) that a block looks at together, one for each of its threads: 256 keys are part of attention's definition.
constexpr int attentionBlock = attentionThreads;

class AttentionWriter {
public:
  explicit AttentionWriter(const AttentionKind &kind);
  virtual ~AttentionWriter() = default;
  virtual std::string text() = 0;

protected:
  /// A tile of a sequence, or a block of it: where it begins in memory, how many rows it has, the position of the first (32 bits).
  struct Rows {
    Operand at, count, position;
  };
  using EachIndex = std::function<void(const Operand &)>;

  Operand parameter(size_t bytes) { return kernel.parameter(static_cast<int>(bytes / 8)); }
  /// The rows of an operand of `type` for the head (64 bits), as a base address and the bytes from row to row.
  struct Matrix {
    program::ElementType type;
    Operand base, rowBytes;
  };
  Matrix matrix(int operand, program::ElementType type, const Operand &head);
  Operand rowOf(const Matrix &matrix, const Operand &row) {
    return kernel.plus(matrix.base, kernel.times(kernel.widen(row), matrix.rowBytes));
  }
  /// An element of a row, widened to the sums' type.
  Operand element(const Matrix &matrix, const Operand &rowAddress, const Operand &column);
  program::ElementType sumsType() const { return program::widened(kind.type); }

  enum class Sequence { Queries, Keys };
  /// Finds the tile of queries or keys that has the number of this block. Calls `body` if it exists.
  void inTile(Sequence which, const std::function<void(const Rows &)> &body);
  /// Loops over the blocks of `attentionBlock` rows of all runs, in order. If scores are in blocks, loops over those of the tile's band and
  /// sets `blockMemory`.
  void eachBlock(Sequence which, const std::function<void(const Rows &)> &body);
  /// The head of a block of threads that has one, 64 bits.
  Operand ownHead();
  Operand ofSlab(size_t bytes) { return parameter(offsetof(AttentionParameters, slab) + bytes); }
  /// A number of a list in memory that the slab names.
  Operand field(const Operand &entry, size_t bytes) {
    return kernel.get(Kind::Bits32, "ld.global.b32", at(entry, static_cast<int64_t>(bytes)));
  }
  Operand entryOf(size_t list, const Operand &number, int64_t bytes);
  /// The address of block `number` of a unit; both have 32 bits.
  Operand blockAt(const Operand &unit, const Operand &number);
  /// The address of the thread's element in a row of a block, in the table whose place is that field of the slab.
  Operand inBlock(size_t table, const Operand &row, const Operand &column);
  Operand loadFloat(const Operand &address) { return kernel.get(sums.kind(), "ld.global." + sums.type(), at(address)); }
  void storeFloat(const Operand &address, const Operand &value) { kernel.run("st.global." + sums.type(), at(address), value); }
  /// Products of one row in global memory with all rows of a tile in shared memory.
  std::vector<Operand> across(const Matrix &matrix, const Operand &row, const Operand &tiles, int64_t columns);
  /// All threads take turns: index = thread, thread + 256, .. below `count`.
  void share(int64_t count, const EachIndex &body) { kernel.loop(thread, std::to_string(count), std::to_string(attentionThreads), body); }
  /// The same with row = index / columns and column.
  void shareTable(int64_t rows, int64_t columns, const std::function<void(const Operand &row, const Operand &column)> &body);
  /// A tile's rows into shared memory, with 0 beyond its count.
  void fetch(const Matrix &matrix, const Rows &rows, int64_t columns, const Operand &memory);

  /// memory[index] and so on, of the sums' type in shared memory; index of 32 bits.
  Operand place(const Operand &memory, const Operand &index) {
    return kernel.get(Kind::Bits32, "mad.lo.s32", index, std::to_string(sums.bytes()), memory);
  }
  Operand place(const Operand &memory, const Operand &row, int64_t columns, const Operand &column) {
    return place(memory, kernel.get(Kind::Bits32, "mad.lo.s32", row, std::to_string(columns), column));
  }
  Operand load(const Operand &place, int64_t bytes = 0) { return kernel.get(sums.kind(), "ld.shared." + sums.type(), at(place, bytes)); }
  void store(const Operand &place, const Operand &value, int64_t bytes = 0) {
    kernel.run("st.shared." + sums.type(), at(place, bytes), value);
  }
  Operand sharedRows(int64_t elements) { return kernel.shared(static_cast<int>(elements * sums.bytes())); }

  /// sums[n] + a chain over i = 0, 1, .. < limit of the products `factors(i)[n]`, as TileKernels.h defines it for the type.
  using Factors = std::function<std::vector<std::pair<Operand, Operand>>(const Operand &)>;
  void addInOrder(const std::vector<Operand> &to, const Operand &limit, const Factors &factors);
  Operand exponential(Operand x);
  Operand less(const Operand &a, const Operand &b) { return kernel.get(Kind::Predicate, "setp.lt.s32", a, b); }
  Operand integer(const char *instruction, const Operand &a, const Operand &b) { return kernel.get(Kind::Bits32, instruction, a, b); }
  Operand scale();
  /// Adds 0 after the product with a factor, so that no zero is negative; rounds and stores.
  void finish(program::ElementType type, const Operand &address, const Operand &sum, const Operand &factor);

  AttentionKind kind;
  Floats sums;
  PtxKernel kernel;
  int tile;
  Operand thread, batch[attentionLoops];
  Operand unit, unitHead;                             ///< scored: in the slab, and the head that it is, 32 bits
  Operand bandFirst, bandBlocks, tileAt, blockMemory; ///< scored: of a tile's band; where in the band the tile begins

private:
  void inTileOf(const Operand &list, const std::function<void(const Rows &)> &body);
  void inTileOfBand(const std::function<void(const Rows &)> &body);
  void eachBlockOf(const Operand &list, const std::function<void(const Rows &)> &body);
  void eachBlockOfBand(const std::function<void(const Rows &)> &body);
  Operand queryRuns() { return kernel.get(Kind::Bits64, "cvta.to.global.u64", parameter(offsetof(AttentionParameters, runs))); }
  Operand keyRuns();
};

std::string forwardText(const AttentionKind &kind);
std::string queryGradientText(const AttentionKind &kind);
std::string keyGradientText(const AttentionKind &kind);
std::string scoresText(const AttentionKind &kind);
std::string probabilitiesText(const AttentionKind &kind);

} // namespace npar::engine::cuda
