// The parts that the kernels of attention have in common.
#include "engine/backends/cuda/ptx/AttentionWriter.h"

#include "engine/program/Attentions.h"
#include "engine/program/Elements.h"
#include "engine/program/Words.h"

namespace npar::engine::cuda {

using program::ElementType;

AttentionKind AttentionKind::of(const program::Attention &a) {
  AttentionPass pass = a.gradient() ? AttentionPass::QueryGradient : AttentionPass::Forward;
  return {pass, a.type(), a.features(), a.values(), a.causal(), program::isPlaced(a), a.continues(), a.unfinished()};
}

std::string AttentionKind::name() const {
  const char *passes[] = {"attention", "attention_dq", "attention_dkv", "attention_scores", "attention_key_scores", "attention_p"};
  return std::string(passes[static_cast<int>(pass)]) + "_" + program::wordOf(type) + "_" + std::to_string(width) + "x" +
         std::to_string(values) + (causal ? "_causal" : "") + (placed ? "_placed" : "") + (continues ? "_continues" : "") +
         (unfinished ? "_unfinished" : "") + (scored ? "_scored" : "") + (drops ? "_drops" : "");
}

int64_t AttentionKind::sharedBytes() const {
  int64_t rows = tile(), bytes = static_cast<int64_t>(program::sizeOf(program::widened(type)));
  switch (pass) {
  case AttentionPass::Forward:
    return rows * bytes * (width + values + attentionBlock + 16 + 3) + 256;
  case AttentionPass::QueryGradient:
    return rows * bytes * (2 * width + values + attentionBlock + 2) + 256;
  case AttentionPass::QueryScores:
    return rows * bytes * width + 256;
  case AttentionPass::KeyScores:
    return rows * bytes * (width + values) + 256;
  case AttentionPass::Probabilities:
    return 0;
  case AttentionPass::KeyGradient:
    break;
  }
  return rows * bytes * 2 * (width + values + attentionBlock) + 256;
}

AttentionWriter::AttentionWriter(const AttentionKind &kind)
    : kind(kind), sums(sumsOf(kind.type)), kernel(kind.name(), attentionParameterCount, attentionThreads), tile(kind.tile()) {
  using P = AttentionParameters;
  thread = kernel.get(Kind::Bits32, "mov.u32", "%tid.x");
  Operand index = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.z");
  if (kind.scored) {
    unit = index;
    index = integer("add.s32", unit, kernel.narrow(ofSlab(offsetof(ScoreSlab, first))));
    if (kind.pass != AttentionPass::KeyGradient) {
      Operand heads = kernel.narrow(parameter(offsetof(P, heads))), rest = integer("div.u32", index, heads);
      unitHead = integer("sub.s32", index, integer("mul.lo.s32", rest, heads));
      index = rest;
    }
  }
  for (size_t i = 0; i < attentionLoops; ++i) {
    Operand size = kernel.narrow(parameter(offsetof(P, loops) + i * sizeof(P::Loop)));
    Operand rest = integer("div.u32", index, size);
    batch[i] = kernel.widen(integer("sub.s32", index, integer("mul.lo.s32", rest, size)));
    index = rest;
  }
}

AttentionWriter::Matrix AttentionWriter::matrix(int operand, ElementType type, const Operand &head) {
  using P = AttentionParameters;
  auto number = static_cast<size_t>(operand);
  auto bytes = static_cast<int64_t>(program::sizeOf(type));
  size_t strides = offsetof(P, strides) + number * sizeof(P::Strides);
  Operand element = kernel.times(head, parameter(strides + offsetof(P::Strides, head)));
  for (size_t i = 0; i < attentionLoops; ++i)
    element = kernel.plus(
        element, kernel.times(batch[i], parameter(offsetof(P, loops) + i * sizeof(P::Loop) + offsetof(P::Loop, strides) + number * 8)));
  Operand base = kernel.get(Kind::Bits64, "cvta.to.global.u64", parameter(offsetof(P, operands) + number * 8));
  return {type, kernel.address(base, element, bytes), kernel.times(parameter(strides + offsetof(P::Strides, row)), std::to_string(bytes))};
}

Operand AttentionWriter::element(const Matrix &matrix, const Operand &rowAddress, const Operand &column) {
  return loadElement(kernel, matrix.type,
                     at(kernel.address(rowAddress, kernel.widen(column), static_cast<int64_t>(program::sizeOf(matrix.type)))));
}

Operand AttentionWriter::keyRuns() {
  Operand queries = queryRuns();
  Operand count = kernel.get(Kind::Bits64, "ld.global.b64", at(queries));
  return kernel.plus(kernel.address(queries, count, 24), "8");
}

Operand AttentionWriter::ownHead() {
  return kernel.get(Kind::Bits64, "cvt.u64.u32", kind.scored ? unitHead : kernel.get(Kind::Bits32, "mov.u32", "%ctaid.y"));
}

void AttentionWriter::inTile(Sequence which, const std::function<void(const Rows &)> &body) {
  kind.scored ? inTileOfBand(body) : inTileOf(which == Sequence::Queries ? queryRuns() : keyRuns(), body);
}

void AttentionWriter::eachBlock(Sequence which, const std::function<void(const Rows &)> &body) {
  kind.scored ? eachBlockOfBand(body) : eachBlockOf(which == Sequence::Queries ? queryRuns() : keyRuns(), body);
}

Operand AttentionWriter::entryOf(size_t list, const Operand &number, int64_t bytes) {
  return kernel.address(kernel.get(Kind::Bits64, "cvta.to.global.u64", ofSlab(list)), kernel.widen(number), bytes);
}

Operand AttentionWriter::blockAt(const Operand &ofUnit, const Operand &number) {
  Operand memory = kernel.get(Kind::Bits64, "cvta.to.global.u64", ofSlab(offsetof(ScoreSlab, memory)));
  Operand before = kernel.times(kernel.widen(ofUnit), ofSlab(offsetof(ScoreSlab, count)));
  return kernel.plus(memory, kernel.times(kernel.plus(before, kernel.widen(number)), ofSlab(offsetof(ScoreSlab, bytes))));
}

Operand AttentionWriter::inBlock(size_t table, const Operand &row, const Operand &column) {
  Operand columns = kernel.narrow(ofSlab(offsetof(ScoreSlab, columns)));
  Operand element = kernel.get(Kind::Bits32, "mad.lo.s32", row, columns, column);
  return kernel.address(kernel.plus(blockMemory, ofSlab(table)), kernel.widen(element), sums.bytes());
}

void AttentionWriter::inTileOfBand(const std::function<void(const Rows &)> &body) {
  Operand band = entryOf(offsetof(ScoreSlab, bands), kernel.get(Kind::Bits32, "mov.u32", "%ctaid.y"), sizeof(ScoreBand));
  bandFirst = field(band, offsetof(ScoreBand, first)), bandBlocks = field(band, offsetof(ScoreBand, blocks));
  tileAt = integer("mul.lo.s32", kernel.get(Kind::Bits32, "mov.u32", "%ctaid.x"), std::to_string(tile));
  Operand count = field(band, offsetof(ScoreBand, count));
  Operand begin = integer("add.s32", field(band, offsetof(ScoreBand, at)), tileAt);
  Operand position = integer("add.s32", field(band, offsetof(ScoreBand, position)), tileAt);
  kernel.when(less(tileAt, count), [&] {
    body({begin, integer("min.s32", integer("sub.s32", count, tileAt), std::to_string(tile)), position});
  });
}

void AttentionWriter::eachBlockOfBand(const std::function<void(const Rows &)> &body) {
  using Block = ScoreBlock;
  bool rows = kind.pass == AttentionPass::QueryGradient; // that a block's rows are what the band meets
  kernel.loop(bandFirst, integer("add.s32", bandFirst, bandBlocks), "1", [&](const Operand &number) {
    Operand entry = entryOf(offsetof(ScoreSlab, blocks), number, sizeof(Block));
    blockMemory = blockAt(unit, number);
    body({field(entry, rows ? offsetof(Block, rowAt) : offsetof(Block, columnAt)),
          field(entry, rows ? offsetof(Block, rows) : offsetof(Block, columns)),
          field(entry, rows ? offsetof(Block, rowPosition) : offsetof(Block, columnPosition))});
  });
}

std::vector<Operand> AttentionWriter::across(const Matrix &matrix, const Operand &row, const Operand &tiles, int64_t columns) {
  Operand address = rowOf(matrix, row);
  std::vector<Operand> products;
  for (int r = 0; r < tile; ++r)
    products.push_back(sums.set(kernel, 0));
  addInOrder(products, std::to_string(columns), [&](const Operand &column) {
    Operand own = element(matrix, address, column), others = place(tiles, column);
    std::vector<std::pair<Operand, Operand>> pairs;
    for (int r = 0; r < tile; ++r)
      pairs.emplace_back(load(others, r * columns * sums.bytes()), own);
    return pairs;
  });
  return products;
}

void AttentionWriter::inTileOf(const Operand &list, const std::function<void(const Rows &)> &body) {
  Operand number = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.x"), found = kernel.get(Kind::Bits32, "mov.b32", "0");
  Rows rows{kernel.get(Kind::Bits32, "mov.b32", "0"), kernel.get(Kind::Bits32, "mov.b32", "0"), kernel.get(Kind::Bits32, "mov.b32", "0")};
  Operand runs = kernel.narrow(kernel.get(Kind::Bits64, "ld.global.b64", at(list)));
  std::string most = std::to_string(tile);
  kernel.loop("0", runs, "1", [&](const Operand &run) {
    Operand entry = kernel.address(list, kernel.widen(run), 24);
    auto field = [&](int64_t bytes) { return kernel.narrow(kernel.get(Kind::Bits64, "ld.global.b64", at(entry, bytes))); };
    Operand begin = integer("mul.lo.s32", number, most), count = field(16);
    Operand here = kernel.get(Kind::Predicate, "and.pred", less(begin, count), kernel.get(Kind::Predicate, "setp.ge.s32", number, "0"));
    kernel.when(here, [&] {
      kernel.put(found, "mov.b32", "1");
      kernel.put(rows.at, "add.s32", field(8), begin);
      kernel.put(rows.position, "add.s32", field(24), begin);
      kernel.put(rows.count, "min.s32", integer("sub.s32", count, begin), most);
    });
    // Less than no tile is left once it was found.
    Operand tiles = integer("div.s32", integer("add.s32", count, std::to_string(tile - 1)), most);
    kernel.put(number, "sub.s32", number, tiles);
  });
  kernel.when(kernel.get(Kind::Predicate, "setp.ne.s32", found, "0"), [&] { body(rows); });
}

void AttentionWriter::eachBlockOf(const Operand &list, const std::function<void(const Rows &)> &body) {
  Operand runs = kernel.narrow(kernel.get(Kind::Bits64, "ld.global.b64", at(list)));
  kernel.loop("0", runs, "1", [&](const Operand &run) {
    Operand entry = kernel.address(list, kernel.widen(run), 24);
    auto field = [&](int64_t bytes) { return kernel.narrow(kernel.get(Kind::Bits64, "ld.global.b64", at(entry, bytes))); };
    Operand first = field(8), count = field(16), position = field(24);
    kernel.loop("0", count, std::to_string(attentionBlock), [&](const Operand &begin) {
      body({integer("add.s32", first, begin), integer("min.s32", integer("sub.s32", count, begin), std::to_string(attentionBlock)),
            integer("add.s32", position, begin)});
    });
  });
}

void AttentionWriter::shareTable(int64_t rows, int64_t columns, const std::function<void(const Operand &, const Operand &)> &body) {
  share(rows * columns, [&](const Operand &index) {
    Operand row = integer("div.u32", index, std::to_string(columns));
    body(row, integer("sub.s32", index, integer("mul.lo.s32", row, std::to_string(columns))));
  });
}

void AttentionWriter::fetch(const Matrix &matrix, const Rows &rows, int64_t columns, const Operand &memory) {
  auto bytes = static_cast<int64_t>(program::sizeOf(matrix.type));
  shareTable(tile, columns, [&](const Operand &row, const Operand &column) {
    Operand from = kernel.address(rowOf(matrix, integer("add.s32", rows.at, row)), kernel.widen(column), bytes);
    store(place(memory, row, columns, column), loadElement(kernel, matrix.type, at(from), less(row, rows.count)));
  });
}

void AttentionWriter::addInOrder(const std::vector<Operand> &to, const Operand &limit, const Factors &factors) {
  auto addTo = [&](const std::vector<Operand> &chain, const char *fma, const Operand &i) {
    auto pairs = factors(i);
    for (size_t n = 0; n < to.size(); ++n)
      kernel.put(chain[n], fma + sums.type(), pairs[n].first, pairs[n].second, chain[n]);
  };
  if (!program::addsInPairs(kind.type))
    return kernel.loop("0", limit, "1", [&](const Operand &i) { addTo(to, "fma.rn.", i); });
  std::vector<Operand> even, odd;
  for (size_t n = 0; n < to.size(); ++n)
    even.push_back(kernel.fresh(Kind::Float32)), odd.push_back(kernel.fresh(Kind::Float32));
  kernel.loop("0", limit, "32", [&](const Operand &group) {
    for (size_t n = 0; n < to.size(); ++n)
      kernel.put(even[n], "mov.f32", constant(0.0f)), kernel.put(odd[n], "mov.f32", constant(0.0f));
    Operand end = integer("min.s32", integer("add.s32", group, "32"), limit);
    kernel.loop(group, end, "2", [&](const Operand &i) {
      addTo(even, "fma.rn.ftz.", i);
      Operand next = integer("add.s32", i, "1");
      kernel.when(less(next, end), [&] { addTo(odd, "fma.rn.ftz.", next); });
    });
    for (size_t n = 0; n < to.size(); ++n)
      kernel.put(to[n], "add.rn.ftz.f32", to[n], kernel.get(Kind::Float32, "add.rn.ftz.f32", even[n], odd[n]));
  });
}

/// As engine/attention/SoftmaxKernels.inc has it, where no instruction multiplies by powers of two.
Operand AttentionWriter::exponential(Operand x) {
  static const double floatTerms[] = {0x1.6a241ap-10, 0x1.1239f2p-7, 0x1.5558f2p-5, 0x1.555492p-3, 0x1.fffffcp-2};
  static const double doubleTerms[] = {1.6059043836821613e-10, 2.08767569878681e-9,   2.505210838544172e-8,  2.755731922398589e-7,
                                       2.7557319223985893e-6,  2.48015873015873e-5,   1.984126984126984e-4,  1.388888888888889e-3,
                                       8.333333333333333e-3,   4.1666666666666664e-2, 1.6666666666666666e-1, 0.5};
  bool wide = sums.wide;
  std::vector<double> terms = wide ? std::vector<double>(std::begin(doubleTerms), std::end(doubleTerms))
                                   : std::vector<double>(std::begin(floatTerms), std::end(floatTerms));
  Operand least = sums.number(wide ? -746.0 : -104.0), most = sums.number(wide ? 710.0 : 89.0);
  Operand shifter = sums.number(wide ? 0x1.8p52 : 0x1.8p23);
  x = sums.choose(kernel, sums.compare(kernel, "lt", x, least), least, x); // NaN stays
  x = sums.choose(kernel, sums.compare(kernel, "gt", x, most), most, x);
  Operand shifted = sums.fma(kernel, x, sums.number(1.44269504088896340736), shifter);
  Operand n = sums.subtract(kernel, shifted, shifter);
  Operand r = sums.fma(kernel, n, sums.number(wide ? -0x1.62e42fefap-1 : -0x1.62ep-1), x);
  r = sums.fma(kernel, n, sums.number(wide ? -0x1.cf79abc9e3b39p-40 : -0x1.0bfbe8e8p-15), r);
  Operand p = sums.set(kernel, terms[0]);
  for (size_t i = 1; i < terms.size(); ++i)
    p = sums.fma(kernel, p, r, sums.number(terms[i]));
  p = sums.fma(kernel, sums.fma(kernel, p, r, sums.number(1)), r, sums.number(1));
  // p * 2^n by two factors; the low bits of n + shifter are n.
  Kind word = wide ? Kind::Bits64 : Kind::Bits32;
  std::string bits = wide ? "64" : "32", mantissa = wide ? "52" : "23", bias = wide ? "1023" : "127";
  Operand number = kernel.get(word, "mov.b" + bits, shifted);
  number = kernel.get(word, "sub.s" + bits, number, wide ? "0x4338000000000000" : "0x4b400000");
  Operand half = kernel.get(word, "shr.s" + bits, number, "1");
  for (const Operand &part : {half, kernel.get(word, "sub.s" + bits, number, half)}) {
    Operand power = kernel.get(word, "shl.b" + bits, kernel.get(word, "add.s" + bits, part, bias), mantissa);
    p = sums.multiply(kernel, p, kernel.get(sums.kind(), "mov.b" + bits, power));
  }
  return p;
}

Operand AttentionWriter::scale() {
  Operand bits = parameter(offsetof(AttentionParameters, scale));
  return sums.wide ? kernel.get(Kind::Float64, "mov.b64", bits) : kernel.get(Kind::Float32, "mov.b32", kernel.narrow(bits));
}

void AttentionWriter::finish(ElementType type, const Operand &address, const Operand &sum, const Operand &factor) {
  storeElement(kernel, type, at(address), sums.add(kernel, sums.multiply(kernel, sum, factor), sums.number(0)));
}

std::string attentionText(const AttentionKind &kind) {
  switch (kind.pass) {
  case AttentionPass::Forward:
    return forwardText(kind);
  case AttentionPass::QueryGradient:
    return queryGradientText(kind);
  case AttentionPass::QueryScores:
  case AttentionPass::KeyScores:
    return scoresText(kind);
  case AttentionPass::Probabilities:
    return probabilitiesText(kind);
  case AttentionPass::KeyGradient:
    break;
  }
  return keyGradientText(kind);
}

} // namespace npar::engine::cuda
