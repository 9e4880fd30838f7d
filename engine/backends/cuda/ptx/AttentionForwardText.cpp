// Attention forward as PTX: a block has a tile of queries and passes along the keys, 256 at a time; a thread has a key, then a sum.
#include "engine/backends/cuda/ptx/AttentionWriter.h"

#include "engine/program/Elements.h"

namespace npar::engine::cuda {

using program::ElementType;

namespace {

constexpr int lanes = 16; ///< of a row's maximum and sum (SoftmaxKernels.h)

class ForwardWriter final : public AttentionWriter {
public:
  using AttentionWriter::AttentionWriter;
  std::string text() override;

private:
  Operand visible(const Operand &row, const Rows &keys);
  /// Scores in blocks were scaled before they were changed.
  Operand scaleOfScores() { return kind.scored ? sums.set(kernel, 1) : scale(); }
  void begin();
  void attend(const Rows &keys);
  void takeScores(const Rows &keys);
  void takeMaxima(const Rows &keys);
  void takePowers(const Rows &keys);
  void takeValues(const Rows &keys, const Operand &seen);
  void finishRows();
  void eachRow(const EachIndex &body) {
    kernel.when(less(thread, std::to_string(tile)), [&] { body(thread); });
  }
  void eachLane(const std::function<void(const Operand &row, const Operand &lane)> &body);
  Operand tree(const Operand &row, const std::function<Operand(const Operand &, const Operand &)> &join);
  Operand logarithm(const Operand &x);

  Matrix q, k, v, out, lse, before, after;
  Rows queries;
  Operand queryTile, scores, outs, parts, maxima, totals, decays;
};

std::string ForwardWriter::text() {
  Operand head = ownHead();
  Operand none = kernel.get(Kind::Bits64, "mov.b64", "0");
  int next = 3;
  q = matrix(0, kind.type, head), k = matrix(1, kind.type, none), v = matrix(2, kind.type, none);
  if (kind.continues)
    before = matrix(next++, sumsType(), head);
  Operand first;
  if (kind.placed)
    first = kernel.get(Kind::Bits32, "ld.global.b32", at(matrix(next++, ElementType::I32, none).base));
  if (kind.unfinished)
    after = matrix(next, sumsType(), head);
  else
    out = matrix(next, kind.type, head), lse = matrix(next + 1, sumsType(), head);
  queryTile = sharedRows(tile * kind.width), scores = sharedRows(tile * attentionBlock), outs = sharedRows(tile * kind.values);
  parts = sharedRows(tile * lanes), maxima = sharedRows(tile), totals = sharedRows(tile), decays = sharedRows(tile);
  inTile(Sequence::Queries, [&](const Rows &rows) {
    queries = rows;
    if (kind.placed)
      queries.position = integer("add.s32", rows.position, first);
    begin();
    eachBlock(Sequence::Keys, [&](const Rows &keys) {
      if (!kind.causal)
        return attend(keys);
      Operand last = integer("add.s32", queries.position, queries.count); // the position after the tile's last
      kernel.when(less(keys.position, last), [&] { attend(keys); });
    });
    finishRows();
  });
  return kernel.text();
}

/// The number of keys of a block that a row of the tile sees.
Operand ForwardWriter::visible(const Operand &row, const Rows &keys) {
  if (!kind.causal)
    return keys.count;
  Operand position = integer("add.s32", queries.position, row);
  Operand seen = integer("add.s32", integer("sub.s32", position, keys.position), "1");
  return integer("max.s32", integer("min.s32", seen, keys.count), "0");
}

void ForwardWriter::begin() {
  if (!kind.scored)
    fetch(q, queries, kind.width, queryTile);
  shareTable(tile, kind.values, [&](const Operand &row, const Operand &column) {
    Operand value = sums.set(kernel, 0);
    if (kind.continues)
      kernel.when(less(row, queries.count), [&] {
        kernel.put(value, "mov." + sums.type(), element(before, rowOf(before, integer("add.s32", queries.at, row)), column));
      });
    store(place(outs, row, kind.values, column), value);
  });
  eachRow([&](const Operand &row) {
    Operand most = sums.set(kernel, -infinity), total = sums.set(kernel, 0);
    if (kind.continues)
      kernel.when(less(row, queries.count), [&] {
        Operand state = rowOf(before, integer("add.s32", queries.at, row));
        kernel.put(most, "ld.global." + sums.type(), at(state, kind.values * sums.bytes()));
        kernel.put(total, "ld.global." + sums.type(), at(state, (kind.values + 1) * sums.bytes()));
      });
    store(place(maxima, row), most);
    store(place(totals, row), total);
  });
  kernel.meet();
}

void ForwardWriter::attend(const Rows &keys) {
  Operand seen = visible(integer("sub.s32", queries.count, "1"), keys);
  takeScores(keys);
  kernel.meet();
  takeMaxima(keys);
  takePowers(keys);
  takeValues(keys, seen);
  kernel.meet();
}

/// Computes the products of the thread's key with all queries of the tile, or reads the scores that the program has changed.
void ForwardWriter::takeScores(const Rows &keys) {
  kernel.when(less(thread, keys.count), [&] {
    std::vector<Operand> products;
    if (kind.scored)
      for (int r = 0; r < tile; ++r)
        products.push_back(loadFloat(inBlock(offsetof(ScoreSlab, changed), integer("add.s32", tileAt, std::to_string(r)), thread)));
    else
      products = across(k, integer("add.s32", keys.at, thread), queryTile, kind.width);
    Operand to = place(scores, thread);
    for (int r = 0; r < tile; ++r)
      store(to, products[size_t(r)], r * attentionBlock * sums.bytes());
  });
}

void ForwardWriter::eachLane(const std::function<void(const Operand &, const Operand &)> &body) {
  kernel.when(less(thread, std::to_string(tile * lanes)), [&] { body(integer("shr.u32", thread, "4"), integer("and.b32", thread, "15")); });
}

/// Lane i takes in lane i + 8, then i + 4, i + 2, i + 1.
Operand ForwardWriter::tree(const Operand &row, const std::function<Operand(const Operand &, const Operand &)> &join) {
  Operand from = place(parts, integer("mul.lo.s32", row, std::to_string(lanes)));
  std::vector<Operand> all;
  for (int lane = 0; lane < lanes; ++lane)
    all.push_back(load(from, lane * sums.bytes()));
  for (size_t by = lanes / 2; by > 0; by /= 2)
    for (size_t i = 0; i < by; ++i)
      all[i] = join(all[i], all[i + by]);
  return all[0];
}

void ForwardWriter::takeMaxima(const Rows &keys) {
  auto larger = [&](const Operand &x, const Operand &most) { return sums.choose(kernel, sums.compare(kernel, "gt", x, most), x, most); };
  eachLane([&](const Operand &row, const Operand &lane) {
    Operand most = sums.set(kernel, -infinity), factor = scaleOfScores();
    kernel.loop(lane, visible(row, keys), std::to_string(lanes), [&](const Operand &key) {
      Operand x = sums.multiply(kernel, load(place(scores, row, attentionBlock, key)), factor);
      kernel.put(most, "mov." + sums.type(), larger(x, most));
    });
    store(place(parts, thread), most);
  });
  kernel.meet();
  eachRow([&](const Operand &row) {
    Operand found = tree(row, [&](const Operand &most, const Operand &x) { return larger(x, most); });
    Operand old = load(place(maxima, row)), most = larger(found, old);
    Operand nothing = sums.compare(kernel, "eq", most, sums.number(-infinity));
    Operand finite = sums.choose(kernel, nothing, sums.number(0), most);
    store(place(decays, row), exponential(sums.subtract(kernel, old, finite)));
    store(place(maxima, row), most);
  });
  kernel.meet();
}

void ForwardWriter::takePowers(const Rows &keys) {
  Operand factor = scaleOfScores();
  kernel.loop("0", std::to_string(tile), "1", [&](const Operand &row) {
    Operand to = place(scores, row, attentionBlock, thread), power = sums.set(kernel, 0);
    kernel.when(less(thread, visible(row, keys)), [&] {
      Operand most = load(place(maxima, row)), nothing = sums.compare(kernel, "eq", most, sums.number(-infinity));
      Operand finite = sums.choose(kernel, nothing, sums.number(0), most);
      Operand x = sums.subtract(kernel, sums.multiply(kernel, load(to), factor), finite);
      kernel.put(power, "mov." + sums.type(), exponential(x));
    });
    store(to, power);
  });
  kernel.meet();
  eachLane([&](const Operand &row, const Operand &lane) {
    Operand sum = sums.set(kernel, 0);
    kernel.loop(lane, visible(row, keys), std::to_string(lanes),
                [&](const Operand &key) { kernel.put(sum, "add.rn." + sums.type(), sum, load(place(scores, row, attentionBlock, key))); });
    store(place(parts, thread), sum);
  });
  kernel.meet();
  eachRow([&](const Operand &row) {
    Operand sum = tree(row, [&](const Operand &a, const Operand &b) { return sums.add(kernel, a, b); });
    Operand kept = sums.multiply(kernel, load(place(totals, row)), load(place(decays, row)));
    store(place(totals, row), sums.add(kernel, kept, sum));
  });
  if (program::isNarrow(kind.type) || kind.drops) {
    kernel.loop("0", std::to_string(tile), "1", [&](const Operand &row) {
      Operand to = place(scores, row, attentionBlock, thread), power = load(to);
      if (kind.drops)
        kernel.when(less(thread, visible(row, keys)), [&] {
          Operand kept = loadFloat(inBlock(offsetof(ScoreSlab, factors), integer("add.s32", tileAt, row), thread));
          kernel.put(power, "mul.rn." + sums.type(), power, kept);
        });
      store(to, roundElement(kernel, kind.type, power));
    });
    kernel.meet();
  }
}

void ForwardWriter::takeValues(const Rows &keys, const Operand &seen) {
  shareTable(tile, kind.values, [&](const Operand &row, const Operand &column) {
    Operand product = sums.set(kernel, 0);
    addInOrder({product}, seen, [&](const Operand &key) -> std::vector<std::pair<Operand, Operand>> {
      return {{load(place(scores, row, attentionBlock, key)), element(v, rowOf(v, integer("add.s32", keys.at, key)), column)}};
    });
    Operand to = place(outs, row, kind.values, column);
    store(to, sums.fma(kernel, load(to), load(place(decays, row)), product));
  });
}

/// As engine/attention/Attention.cpp has it, of a positive normal number; of 0, infinity and NaN as there.
Operand ForwardWriter::logarithm(const Operand &x) {
  Floats f64{true};
  Operand bits = kernel.get(Kind::Bits64, "mov.b64", x);
  Operand exponent = integer("sub.s32", kernel.narrow(kernel.get(Kind::Bits64, "shr.u64", bits, "52")), "1022");
  Operand fraction = kernel.get(Kind::Bits64, "and.b64", bits, "0xFFFFFFFFFFFFF");
  Operand m = kernel.get(Kind::Float64, "mov.b64", kernel.get(Kind::Bits64, "or.b64", fraction, "0x3FE0000000000000"));
  Operand small = f64.compare(kernel, "lt", m, f64.number(0.70710678118654752));
  m = f64.choose(kernel, small, f64.add(kernel, m, m), m);
  exponent = kernel.get(Kind::Bits32, "selp.b32", integer("sub.s32", exponent, "1"), exponent, small);
  Operand z = kernel.get(Kind::Float64, "div.rn.f64", f64.subtract(kernel, m, f64.number(1)), f64.add(kernel, m, f64.number(1)));
  Operand square = f64.multiply(kernel, z, z), sum = f64.set(kernel, 0);
  for (int i = 23; i >= 1; i -= 2)
    sum = f64.add(kernel, f64.multiply(kernel, sum, square), f64.number(1.0 / i));
  Operand ofMantissa = f64.multiply(kernel, f64.add(kernel, z, z), sum);
  Operand ofExponent = f64.multiply(kernel, kernel.get(Kind::Float64, "cvt.rn.f64.s32", exponent), f64.number(0.69314718055994531));
  Operand result = f64.add(kernel, ofMantissa, ofExponent);
  Operand ordinary = kernel.get(Kind::Predicate, "and.pred", f64.compare(kernel, "gt", x, f64.number(0)),
                                f64.compare(kernel, "lt", x, f64.number(infinity)));
  Operand other = f64.choose(kernel, f64.compare(kernel, "eq", x, f64.number(0)), f64.number(-infinity), x);
  return f64.choose(kernel, ordinary, result, other);
}

void ForwardWriter::finishRows() {
  auto bytes = static_cast<int64_t>(program::sizeOf(kind.unfinished ? sumsType() : kind.type));
  const Matrix &to = kind.unfinished ? after : out;
  shareTable(tile, kind.values, [&](const Operand &row, const Operand &column) {
    kernel.when(less(row, queries.count), [&] {
      Operand address = kernel.address(rowOf(to, integer("add.s32", queries.at, row)), kernel.widen(column), bytes);
      Operand value = load(place(outs, row, kind.values, column));
      if (kind.unfinished)
        return storeElement(kernel, sumsType(), at(address), value);
      Operand total = load(place(totals, row)), none = sums.compare(kernel, "eq", total, sums.number(0));
      Operand part = sums.choose(kernel, none, sums.number(0), kernel.get(sums.kind(), "rcp.rn." + sums.type(), total));
      finish(kind.type, address, value, part);
    });
  });
  kernel.when(less(thread, queries.count), [&] {
    Operand row = integer("add.s32", queries.at, thread), most = load(place(maxima, thread)), total = load(place(totals, thread));
    if (kind.unfinished) {
      Operand state = rowOf(after, row);
      kernel.run("st.global." + sums.type(), at(state, kind.values * sums.bytes()), most);
      return kernel.run("st.global." + sums.type(), at(state, (kind.values + 1) * sums.bytes()), total);
    }
    auto wide = [&](const Operand &x) { return sums.wide ? x : kernel.get(Kind::Float64, "cvt.f64.f32", x); };
    Operand sum = Floats{true}.add(kernel, wide(most), logarithm(wide(total)));
    storeElement(kernel, sumsType(), at(rowOf(lse, row)), sums.wide ? sum : kernel.get(Kind::Float32, "cvt.rn.f32.f64", sum));
  });
}

} // namespace

std::string forwardText(const AttentionKind &kind) { return ForwardWriter(kind).text(); }

} // namespace npar::engine::cuda
