// Matrix products as PTX: a block keeps a tile of A and one of B in shared memory while each thread continues 4 x 4 sums.
#include "engine/backends/cuda/ptx/ProductText.h"

#include "engine/backends/cuda/ptx/Numbers.h"
#include "engine/program/Elements.h"
#include "engine/program/Words.h"

#include <functional>

namespace npar::engine::cuda {

using program::ElementType;

namespace {

/// Rows and columns of a thread: every sixteenth of the tile.
constexpr int side = 4, sideDistance = 16;
/// Distance from k to k + 1 in shared memory, chosen so that neither way of writing a tile has bank conflicts.
constexpr int pitch = productTile + 1;

/// One of the two operands: where its rows of the tile (columns of B) begin, and its place in shared memory.
struct Side {
  Operand base, across, along, count, begin, memory;
};

class ProductKernel {
public:
  explicit ProductKernel(const ProductKind &kind)
      : kind(kind), sums(sumsOf(kind.type)), inPairs(program::addsInPairs(kind.type)), depth(inPairs ? 32 : 16),
        kernel(kind.name(), productParameterCount, productThreads) {}
  std::string text();

private:
  Operand parameter(size_t bytes) { return kernel.parameter(static_cast<int>(bytes / 8)); }
  void moveAlongBatch(Side &a, Side &b, Operand &c);
  void fetch(const Side &from, const Operand &k0, const Operand &k);
  std::array<Operand, side> row(const Operand &place, int64_t bytes);
  void multiplyChain(const Side &a, const Side &b, const Operand &limit);
  void multiplyPairs(const Side &a, const Side &b);
  void finish(const Operand &c, const Operand &m, const Operand &n, const Operand &row, const Operand &column);
  void each(const std::function<void(int, int)> &body) {
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j)
        body(i, j);
  }

  ProductKind kind;
  Floats sums;
  bool inPairs; ///< even and odd k are two chains (TileKernels.h)
  int depth;
  PtxKernel kernel;
  Operand thread, tx, ty;
  Operand sum[side][side];
};

std::string ProductKernel::text() {
  using P = ProductParameters;
  thread = kernel.get(Kind::Bits32, "mov.u32", "%tid.x");
  tx = kernel.get(Kind::Bits32, "and.b32", thread, "15"), ty = kernel.get(Kind::Bits32, "shr.u32", thread, "4");
  auto begin = [&](const char *block) { return kernel.get(Kind::Bits32, "shl.b32", kernel.get(Kind::Bits32, "mov.u32", block), "6"); };
  Operand m = kernel.narrow(parameter(offsetof(P, m))), n = kernel.narrow(parameter(offsetof(P, n)));
  Operand k = kernel.narrow(parameter(offsetof(P, k)));
  int tileBytes = depth * pitch * sums.bytes();
  Side a{parameter(offsetof(P, a)), parameter(offsetof(P, aRow)), parameter(offsetof(P, aColumn)), m,
         begin("%ctaid.y"),         kernel.shared(tileBytes)};
  Side b{parameter(offsetof(P, b)), parameter(offsetof(P, bColumn)), parameter(offsetof(P, bRow)), n,
         begin("%ctaid.x"),         kernel.shared(tileBytes)};
  Operand c = parameter(offsetof(P, c));
  moveAlongBatch(a, b, c);
  each([&](int i, int j) { sum[i][j] = sums.set(kernel, 0); });
  kernel.loop("0", k, std::to_string(depth), [&](const Operand &k0) {
    fetch(a, k0, k);
    fetch(b, k0, k);
    kernel.meet();
    if (inPairs)
      multiplyPairs(a, b);
    else
      multiplyChain(a, b, kernel.get(Kind::Bits32, "min.s32", kernel.get(Kind::Bits32, "sub.s32", k, k0), std::to_string(depth)));
    kernel.meet();
  });
  finish(c, m, n, kernel.get(Kind::Bits32, "add.s32", a.begin, ty), kernel.get(Kind::Bits32, "add.s32", b.begin, tx));
  return kernel.text();
}

void ProductKernel::moveAlongBatch(Side &a, Side &b, Operand &c) {
  using P = ProductParameters;
  Operand index = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.z");
  auto elementBytes = static_cast<int64_t>(program::sizeOf(kind.type)), resultBytes = static_cast<int64_t>(program::sizeOf(kind.result));
  for (size_t i = 0; i < productLoops; ++i) {
    size_t loop = offsetof(P, loops) + i * sizeof(P::Loop);
    Operand size = kernel.narrow(parameter(loop)), rest = kernel.get(Kind::Bits32, "div.u32", index, size);
    Operand here = kernel.get(Kind::Bits32, "sub.s32", index, kernel.get(Kind::Bits32, "mul.lo.s32", rest, size));
    Operand wide = kernel.widen(here);
    a.base = kernel.address(a.base, kernel.times(wide, parameter(loop + offsetof(P::Loop, a))), elementBytes);
    b.base = kernel.address(b.base, kernel.times(wide, parameter(loop + offsetof(P::Loop, b))), elementBytes);
    c = kernel.address(c, kernel.times(wide, parameter(loop + offsetof(P::Loop, c))), resultBytes);
    index = rest;
  }
  for (Operand *base : {&a.base, &b.base, &c})
    *base = kernel.get(Kind::Bits64, "cvta.to.global.u64", *base);
}

/// A tile into shared memory, with 0 beyond the ends. Neighbouring threads take neighbours in memory.
void ProductKernel::fetch(const Side &from, const Operand &k0, const Operand &k) {
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
                                kernel.get(Kind::Predicate, "setp.lt.s32", deep, k));
    Operand offset = kernel.plus(kernel.times(kernel.widen(row), from.across), kernel.times(kernel.widen(deep), from.along));
    Operand value = loadElement(kernel, kind.type, at(kernel.address(from.base, offset, elementBytes)), inside);
    if (kind.tf32)
      value = roundToTf32(kernel, value);
    Operand to = kernel.get(Kind::Bits32, "mad.lo.s32", kk, std::to_string(pitch), place);
    kernel.run("st.shared." + sums.type(), at(kernel.get(Kind::Bits32, "mad.lo.s32", to, std::to_string(sums.bytes()), from.memory)),
               value);
  }
}

/// Every sixteenth element of a row of a tile.
std::array<Operand, side> ProductKernel::row(const Operand &place, int64_t bytes) {
  std::array<Operand, side> values;
  for (int i = 0; i < side; ++i)
    values[size_t(i)] = kernel.get(sums.kind(), "ld.shared." + sums.type(), at(place, bytes + i * sideDistance * sums.bytes()));
  return values;
}

/// One chain of fma in ascending k.
void ProductKernel::multiplyChain(const Side &a, const Side &b, const Operand &limit) {
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
void ProductKernel::multiplyPairs(const Side &a, const Side &b) {
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

void ProductKernel::finish(const Operand &c, const Operand &m, const Operand &n, const Operand &row, const Operand &column) {
  auto bytes = static_cast<int64_t>(program::sizeOf(kind.result));
  Operand stride = parameter(offsetof(ProductParameters, cRow));
  for (int i = 0; i < side; ++i) {
    Operand r = kernel.get(Kind::Bits32, "add.s32", row, std::to_string(i * sideDistance));
    Operand place = kernel.address(c, kernel.plus(kernel.times(kernel.widen(r), stride), kernel.widen(column)), bytes);
    Operand inRows = kernel.get(Kind::Predicate, "setp.lt.s32", r, m);
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
  return "product_" + std::string(tf32 ? "tf32" : program::wordOf(type)) + "_" + std::string(program::wordOf(result)) +
         (accumulate ? "_add" : "");
}

std::string productText(const ProductKind &kind) { return ProductKernel(kind).text(); }

} // namespace npar::engine::cuda
