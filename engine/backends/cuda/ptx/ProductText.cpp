// Matrix products as PTX: a block keeps a tile of A and one of B in shared memory while each thread continues 4 x 4 sums.
#include "engine/backends/cuda/ptx/ProductText.h"

#include "engine/backends/cuda/ptx/Numbers.h"
#include "engine/program/Elements.h"
#include "engine/program/Words.h"

#include <functional>
#include <optional>
#include <tuple>

namespace npar::engine::cuda {

using program::ElementType;

namespace {

/// Rows and columns of a thread: every sixteenth of the tile.
constexpr int side = 4, sideDistance = 16;
/// Distance from k to k + 1 in shared memory, chosen so that neither way of writing a tile has bank conflicts.
constexpr int pitch = productTile + 1;

/// Places of a walked operand: of its rows of the tile (columns of B), of the k that are being multiplied, and its windows.
struct WalkedSide {
  PlaceTable lines, depth;
  WalkedPlaces windows;
};

/// One of the two operands: where its rows of the tile (columns of B) begin, and its place in shared memory.
struct Side {
  Operand base, across, along, count, begin, memory;
  std::optional<WalkedSide> walked = {};
};

constexpr int parameterAt(size_t bytes) { return static_cast<int>(bytes / 8); }

class ProductKernel {
public:
  explicit ProductKernel(const ProductKind &kind)
      : kind(kind), sums(sumsOf(kind.type)), inPairs(program::addsInPairs(kind.type)), depth(inPairs ? 32 : 16),
        kernel(kind.name(), parameterAt(kind.isWalked() ? sizeof(WalkedProductParameters) : sizeof(ProductParameters)), productThreads) {}
  std::string text();

private:
  /// Rows of a sample, from `begin` to before `end`.
  struct Range {
    Operand begin, end;
  };
  Operand parameter(size_t bytes) { return kernel.parameter(parameterAt(bytes)); }
  Operand pointer(size_t bytes) { return kernel.get(Kind::Bits64, "cvta.to.global.u64", parameter(bytes)); }
  Operand loopSize(size_t loop) { return kernel.narrow(parameter(offsetof(P, loops) + loop * sizeof(P::Loop))); }
  void setOperands();
  void setPlaces();
  void moveAlong(size_t loop, const Operand &index);
  void multiplyBatch();
  void multiplyGroups();
  void addSamples();
  Range rangeOf(const Operand &sample, const Operand &group, const Operand &rows);
  void keepingOperands(const PtxKernel::Body &body);
  void clear();
  void addUp(const Operand &begin, const Operand &end);
  void fetch(const Side &from, const Operand &k0, const Operand &end);
  Operand elementOffset(const Side &from, const Operand &place, const Operand &kk, const Operand &row, const Operand &deep,
                        Operand &exists);
  std::array<Operand, side> row(const Operand &place, int64_t bytes);
  void multiplyChain(const Operand &limit);
  void multiplyPairs();
  void finish(const Range &rows);
  void each(const std::function<void(int, int)> &body) {
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j)
        body(i, j);
  }

  using P = ProductParameters;
  static constexpr size_t groupLoop = 0, sampleLoop = 1;
  ProductKind kind;
  Floats sums;
  bool inPairs; ///< even and odd k are two chains (TileKernels.h)
  int depth;
  PtxKernel kernel;
  Operand thread, tx, ty, m, n, k;
  Side a, b;
  Operand c;                       ///< where C begins
  std::optional<PlaceTable> cRows; ///< if the product is walked
  Operand sum[side][side];
};

std::string ProductKernel::text() {
  setOperands();
  if (kind.isWalked())
    setPlaces();
  switch (kind.grouping) {
  case program::Grouping::None:
    multiplyBatch();
    break;
  case program::Grouping::Rows:
    multiplyGroups();
    break;
  case program::Grouping::Depth:
    addSamples();
    break;
  }
  return kernel.text();
}

void ProductKernel::setOperands() {
  thread = kernel.get(Kind::Bits32, "mov.u32", "%tid.x");
  tx = kernel.get(Kind::Bits32, "and.b32", thread, "15"), ty = kernel.get(Kind::Bits32, "shr.u32", thread, "4");
  auto begin = [&](const char *block) { return kernel.get(Kind::Bits32, "shl.b32", kernel.get(Kind::Bits32, "mov.u32", block), "6"); };
  m = kernel.narrow(parameter(offsetof(P, m))), n = kernel.narrow(parameter(offsetof(P, n))), k = kernel.narrow(parameter(offsetof(P, k)));
  int tileBytes = depth * pitch * sums.bytes();
  const char *rows = "%ctaid.y", *columns = "%ctaid.x";
  if (kind.isWalked())
    std::swap(rows, columns);
  a = {pointer(offsetof(P, a)), parameter(offsetof(P, aRow)), parameter(offsetof(P, aColumn)), m, begin(rows), kernel.shared(tileBytes)};
  b = {pointer(offsetof(P, b)), parameter(offsetof(P, bColumn)), parameter(offsetof(P, bRow)), n, begin(columns), kernel.shared(tileBytes)};
  c = pointer(offsetof(P, c));
  each([&](int i, int j) { sum[i][j] = kernel.fresh(sums.kind()); });
}

/// Fills the tables of rows and columns.
void ProductKernel::setPlaces() {
  using W = WalkedProductParameters;
  auto table = [&](int lines, size_t bytes, int positions, int windows) {
    return PlaceTable(kernel, lines, parameterAt(bytes), positions, windows);
  };
  const WalkKind &walk = kind.walk;
  a.walked = {table(productTile, offsetof(W, aRows), walk.m, walk.a), table(depth, offsetof(W, aDepth), walk.k, walk.a),
              WalkedPlaces(kernel, parameterAt(offsetof(W, aWindows)), walk.a)};
  b.walked = {table(productTile, offsetof(W, bColumns), walk.n, walk.b), table(depth, offsetof(W, bDepth), walk.k, walk.b),
              WalkedPlaces(kernel, parameterAt(offsetof(W, bWindows)), walk.b)};
  cRows = table(productTile, offsetof(W, cRows), walk.m, 0);
  a.walked->lines.fill(thread, 0, a.begin);
  b.walked->lines.fill(thread, productTile, b.begin);
  cRows->fill(thread, 2 * productTile, a.begin);
  kernel.meet();
}

/// Moves the operands to an index of a loop of the batch.
void ProductKernel::moveAlong(size_t loop, const Operand &index) {
  auto elementBytes = static_cast<int64_t>(program::sizeOf(kind.type)), resultBytes = static_cast<int64_t>(program::sizeOf(kind.result));
  size_t strides = offsetof(P, loops) + loop * sizeof(P::Loop);
  Operand wide = kernel.widen(index);
  a.base = kernel.address(a.base, kernel.times(wide, parameter(strides + offsetof(P::Loop, a))), elementBytes);
  b.base = kernel.address(b.base, kernel.times(wide, parameter(strides + offsetof(P::Loop, b))), elementBytes);
  c = kernel.address(c, kernel.times(wide, parameter(strides + offsetof(P::Loop, c))), resultBytes);
}

void ProductKernel::multiplyBatch() {
  Operand index = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.z");
  for (size_t loop = 0; loop < productLoops; ++loop) {
    Operand size = loopSize(loop), rest = kernel.get(Kind::Bits32, "div.u32", index, size);
    moveAlong(loop, kernel.get(Kind::Bits32, "sub.s32", index, kernel.get(Kind::Bits32, "mul.lo.s32", rest, size)));
    index = rest;
  }
  clear();
  addUp("0", k);
  finish({"0", m});
}

/// Each group that has rows of the tile multiplies the tile and stores its own rows. Rows of no group become 0.
void ProductKernel::multiplyGroups() {
  Operand sample = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.z");
  moveAlong(sampleLoop, sample);
  clear();
  finish({"0", m});
  kernel.loop("0", loopSize(groupLoop), "1", [&](const Operand &group) {
    Range rows = rangeOf(sample, group, m);
    Operand tileEnd = kernel.get(Kind::Bits32, "add.s32", a.begin, std::to_string(productTile));
    rows.begin = kernel.get(Kind::Bits32, "max.s32", rows.begin, a.begin),
    rows.end = kernel.get(Kind::Bits32, "min.s32", rows.end, tileEnd);
    kernel.when(kernel.get(Kind::Predicate, "setp.lt.s32", rows.begin, rows.end), [&] {
      keepingOperands([&] {
        moveAlong(groupLoop, group);
        clear();
        addUp("0", k);
        finish(rows);
      });
    });
  });
}

/// The chains of a group continue from sample to sample.
void ProductKernel::addSamples() {
  Operand group = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.z");
  moveAlong(groupLoop, group);
  clear();
  kernel.loop("0", loopSize(sampleLoop), "1", [&](const Operand &sample) {
    Range rows = rangeOf(sample, group, k);
    keepingOperands([&] {
      moveAlong(sampleLoop, sample);
      addUp(rows.begin, rows.end);
    });
  });
  finish({"0", m});
}

/// The rows of a group in a sample. They are data: what is outside the sample's rows is cut off.
ProductKernel::Range ProductKernel::rangeOf(const Operand &sample, const Operand &group, const Operand &rows) {
  Operand groups = parameter(offsetof(P, loops) + groupLoop * sizeof(P::Loop));
  Operand place = kernel.plus(kernel.times(kernel.widen(sample), groups), kernel.widen(group));
  auto bound = [&](size_t of, const Operand &least) {
    Operand value = kernel.get(Kind::Bits32, "ld.global.b32", at(kernel.address(pointer(of), place, sizeof(int32_t))));
    return kernel.get(Kind::Bits32, "min.s32", kernel.get(Kind::Bits32, "max.s32", value, least), rows);
  };
  Operand begin = bound(offsetof(P, first), "0");
  return {begin, bound(offsetof(P, last), begin)};
}

/// After the body the operands are where they were before.
void ProductKernel::keepingOperands(const PtxKernel::Body &body) {
  auto before = std::tuple(a, b, c);
  body();
  std::tie(a, b, c) = before;
}

void ProductKernel::clear() {
  each([&](int i, int j) { kernel.put(sum[i][j], "mov." + sums.type(), sums.number(0)); });
}

/// Continues the sums over [begin, end) of k.
void ProductKernel::addUp(const Operand &begin, const Operand &end) {
  kernel.loop(begin, end, std::to_string(depth), [&](const Operand &k0) {
    if (kind.isWalked()) {
      a.walked->depth.fill(thread, 0, k0);
      b.walked->depth.fill(thread, productTile, k0);
      kernel.meet();
    }
    fetch(a, k0, end);
    fetch(b, k0, end);
    kernel.meet();
    if (inPairs)
      multiplyPairs();
    else
      multiplyChain(kernel.get(Kind::Bits32, "min.s32", kernel.get(Kind::Bits32, "sub.s32", end, k0), std::to_string(depth)));
    kernel.meet();
  });
}

/// A tile into shared memory, with 0 beyond the ends. Neighbouring threads take neighbours in memory.
void ProductKernel::fetch(const Side &from, const Operand &k0, const Operand &end) {
  auto elementBytes = static_cast<int64_t>(program::sizeOf(kind.type));
  Operand together = kernel.get(Kind::Predicate, "setp.eq.s64", from.along, "1");
  std::string shift = std::to_string(depth == 32 ? 5 : 4), mask = std::to_string(depth - 1);
  for (int round = 0; round < depth * productTile / productThreads; ++round) {
    Operand number = kernel.get(Kind::Bits32, "add.s32", thread, std::to_string(round * productThreads));
    auto either = [&](const std::string &yes, const std::string &yesBy, const std::string &no, const std::string &noBy) {
      return kernel.get(Kind::Bits32, "selp.b32", kernel.get(Kind::Bits32, yes, number, yesBy), kernel.get(Kind::Bits32, no, number, noBy),
                        together);
    };
    Operand place = either("shr.u32", shift, "and.b32", "63"), kk = either("and.b32", mask, "shr.u32", "6");
    Operand row = kernel.get(Kind::Bits32, "add.s32", from.begin, place), deep = kernel.get(Kind::Bits32, "add.s32", k0, kk);
    Operand inside = kernel.get(Kind::Predicate, "and.pred", kernel.get(Kind::Predicate, "setp.lt.s32", row, from.count),
                                kernel.get(Kind::Predicate, "setp.lt.s32", deep, end));
    Operand offset = elementOffset(from, place, kk, row, deep, inside);
    Operand value = loadElement(kernel, kind.type, at(kernel.address(from.base, offset, elementBytes)), inside);
    if (kind.tf32)
      value = roundToTf32(kernel, value);
    Operand to = kernel.get(Kind::Bits32, "mad.lo.s32", kk, std::to_string(pitch), place);
    kernel.run("st.shared." + sums.type(), at(kernel.get(Kind::Bits32, "mad.lo.s32", to, std::to_string(sums.bytes()), from.memory)),
               value);
  }
}

/// The elements from the operand's first to that of a row and a k; `place` and `kk` are these, counted from those of the tile. `exists`
/// becomes false if the element does not exist.
Operand ProductKernel::elementOffset(const Side &from, const Operand &place, const Operand &kk, const Operand &row, const Operand &deep,
                                     Operand &exists) {
  if (from.walked)
    return from.walked->windows.offset(from.walked->lines.place(place), from.walked->depth.place(kk), exists);
  return kernel.plus(kernel.times(kernel.widen(row), from.across), kernel.times(kernel.widen(deep), from.along));
}

/// Every sixteenth element of a row of a tile.
std::array<Operand, side> ProductKernel::row(const Operand &place, int64_t bytes) {
  std::array<Operand, side> values;
  for (int i = 0; i < side; ++i)
    values[size_t(i)] = kernel.get(sums.kind(), "ld.shared." + sums.type(), at(place, bytes + i * sideDistance * sums.bytes()));
  return values;
}

/// One chain of fma in ascending k.
void ProductKernel::multiplyChain(const Operand &limit) {
  std::string bytes = std::to_string(sums.bytes());
  Operand ofA = kernel.get(Kind::Bits32, "mad.lo.s32", ty, bytes, a.memory),
          ofB = kernel.get(Kind::Bits32, "mad.lo.s32", tx, bytes, b.memory);
  kernel.loop("0", limit, "1", [&](const Operand &) {
    std::array<Operand, side> left = row(ofA, 0), right = row(ofB, 0);
    each([&](int i, int j) { kernel.put(sum[i][j], "fma.rn." + sums.type(), left[size_t(i)], right[size_t(j)], sum[i][j]); });
    for (const Operand &place : {ofA, ofB})
      kernel.put(place, "add.s32", place, std::to_string(pitch * sums.bytes()));
  });
}

/// A group of 32 k: even and odd ones are two chains, with denormals flushed, and their sum is added.
void ProductKernel::multiplyPairs() {
  Operand ofA = kernel.get(Kind::Bits32, "mad.lo.s32", ty, "4", a.memory), ofB = kernel.get(Kind::Bits32, "mad.lo.s32", tx, "4", b.memory);
  Operand chains[2][side][side];
  for (auto &chain : chains)
    each([&](int i, int j) { chain[i][j] = sums.set(kernel, 0); });
  kernel.loop("0", std::to_string(depth), "2", [&](const Operand &) {
    for (int odd = 0; odd < 2; ++odd) {
      std::array<Operand, side> left = row(ofA, odd * pitch * 4), right = row(ofB, odd * pitch * 4);
      each([&](int i, int j) { kernel.put(chains[odd][i][j], "fma.rn.ftz.f32", left[size_t(i)], right[size_t(j)], chains[odd][i][j]); });
    }
    for (const Operand &place : {ofA, ofB})
      kernel.put(place, "add.s32", place, std::to_string(2 * pitch * 4));
  });
  each([&](int i, int j) {
    Operand both = kernel.get(Kind::Float32, "add.rn.ftz.f32", chains[0][i][j], chains[1][i][j]);
    kernel.put(sum[i][j], "add.rn.ftz.f32", sum[i][j], both);
  });
}

/// Stores the sums of these rows.
void ProductKernel::finish(const Range &rows) {
  auto bytes = static_cast<int64_t>(program::sizeOf(kind.result));
  Operand stride = parameter(offsetof(P, cRow)), row = kernel.get(Kind::Bits32, "add.s32", a.begin, ty),
          column = kernel.get(Kind::Bits32, "add.s32", b.begin, tx);
  for (int i = 0; i < side; ++i) {
    Operand r = kernel.get(Kind::Bits32, "add.s32", row, std::to_string(i * sideDistance));
    Operand begin = cRows ? cRows->place(kernel.get(Kind::Bits32, "add.s32", ty, std::to_string(i * sideDistance))).offset
                          : kernel.times(kernel.widen(r), stride);
    Operand place = kernel.address(c, kernel.plus(begin, kernel.widen(column)), bytes);
    Operand inRows = kernel.get(Kind::Predicate, "setp.lt.s32", r, rows.end);
    if (rows.begin != "0")
      inRows = kernel.get(Kind::Predicate, "and.pred", inRows, kernel.get(Kind::Predicate, "setp.ge.s32", r, rows.begin));
    for (int j = 0; j < side; ++j) {
      Operand inColumns =
          kernel.get(Kind::Predicate, "setp.lt.s32", kernel.get(Kind::Bits32, "add.s32", column, std::to_string(j * sideDistance)), n);
      kernel.when(kernel.get(Kind::Predicate, "and.pred", inRows, inColumns), [&] {
        std::string to = at(place, j * sideDistance * bytes);
        Operand value = kind.accumulate ? sums.add(kernel, sum[i][j], loadElement(kernel, kind.result, to)) : sum[i][j];
        storeElement(kernel, kind.result, to, value);
      });
    }
  }
}

} // namespace

std::string ProductKind::name() const {
  std::string digits;
  for (int count : {walk.m, walk.n, walk.k, walk.a, walk.b})
    digits += std::to_string(count);
  return "product_" + std::string(tf32 ? "tf32" : program::wordOf(type)) + "_" + std::string(program::wordOf(result)) +
         (accumulate ? "_add" : "") + (grouping == program::Grouping::None ? "" : std::string("_by_") + program::wordOf(grouping)) +
         (isWalked() ? "_walk_" + digits : "");
}

std::string productText(const ProductKind &kind) { return ProductKernel(kind).text(); }

} // namespace npar::engine::cuda
