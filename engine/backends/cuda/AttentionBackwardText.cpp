// The gradients of attention as PTX: that of queries passes along the keys, those of keys and values along heads and queries; both compute
// the probabilities anew.
#include "engine/backends/cuda/AttentionWriter.h"

#include "engine/program/Elements.h"

#include <limits>

namespace npar::engine::cuda {

using program::ElementType;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Operands of the gradient's step, in their order.
enum Operands { Q, K, V, Out, Dout, Lse, Dq, Dk, Dv };

class BackwardWriter : public AttentionWriter {
public:
  using AttentionWriter::AttentionWriter;

protected:
  ElementType resultType() const { return kind.unfinished ? sumsType() : kind.type; }
  Operand headOf(const Operand &number) { return kernel.get(Kind::Bits64, "cvt.u64.u32", number); }
  /// The logarithm of a query's sum; plus infinity where it saw nothing, so that its probabilities are 0.
  Operand lseOf(const Matrix &lse, const Operand &row) {
    Operand value = loadElement(kernel, sumsType(), at(rowOf(lse, row)));
    return sums.choose(kernel, sums.compare(kernel, "eq", value, sums.number(-infinity)), sums.number(infinity), value);
  }
  Operand dotOf(const Matrix &out, const Matrix &dout, const Operand &row);
  /// exp(scale * score - lse).
  Operand probability(const Operand &score, const Operand &factor, const Operand &lse) {
    return exponential(sums.subtract(kernel, sums.multiply(kernel, score, factor), lse));
  }
  /// Products of one row, as it lies, with all rows of a tile in shared memory.
  std::vector<Operand> across(const Matrix &matrix, const Operand &row, const Operand &tiles, int64_t columns);
};

/// The sum over a query's dout * out, by fma in 16 lanes.
Operand BackwardWriter::dotOf(const Matrix &out, const Matrix &dout, const Operand &row) {
  constexpr int64_t lanes = 16;
  Operand left = rowOf(dout, row), right = rowOf(out, row);
  std::vector<Operand> sum;
  for (int64_t lane = 0; lane < lanes; ++lane)
    sum.push_back(sums.set(kernel, 0));
  auto add = [&](int64_t lane, const Operand &column) {
    kernel.put(sum[size_t(lane)], "fma.rn." + sums.type(), element(dout, left, column), element(out, right, column), sum[size_t(lane)]);
  };
  int64_t whole = kind.values / lanes * lanes;
  kernel.loop("0", std::to_string(whole), std::to_string(lanes), [&](const Operand &first) {
    for (int64_t lane = 0; lane < lanes; ++lane)
      add(lane, integer("add.s32", first, std::to_string(lane)));
  });
  for (int64_t column = whole; column < kind.values; ++column)
    add(column - whole, kernel.get(Kind::Bits32, "mov.b32", std::to_string(column)));
  for (size_t by = lanes / 2; by > 0; by /= 2)
    for (size_t i = 0; i < by; ++i)
      sum[i] = sums.add(kernel, sum[i], sum[i + by]);
  return sum[0];
}

std::vector<Operand> BackwardWriter::across(const Matrix &matrix, const Operand &row, const Operand &tiles, int64_t columns) {
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

/// A block has a tile of queries, a thread a key, then sums of dq.
class QueryGradientWriter final : public BackwardWriter {
public:
  using BackwardWriter::BackwardWriter;
  std::string text() override;

private:
  void meetKeys(const Rows &keys);

  Matrix k, v;
  Rows queries;
  Operand queryTile, doutTile, gradients, dqSums, lses, dots;
};

std::string QueryGradientWriter::text() {
  Operand head = headOf(kernel.get(Kind::Bits32, "mov.u32", "%ctaid.y")), none = kernel.get(Kind::Bits64, "mov.b64", "0");
  Matrix q = matrix(Q, kind.type, head), out = matrix(Out, kind.type, head), dout = matrix(Dout, kind.type, head);
  Matrix lse = matrix(Lse, sumsType(), head), dq = matrix(Dq, resultType(), head);
  k = matrix(K, kind.type, none), v = matrix(V, kind.type, none);
  queryTile = sharedRows(tile * kind.width), doutTile = sharedRows(tile * kind.values), gradients = sharedRows(tile * attentionBlock);
  dqSums = sharedRows(tile * kind.width), lses = sharedRows(tile), dots = sharedRows(tile);
  inTile(queryRuns(), [&](const Rows &rows) {
    queries = rows;
    fetch(q, rows, kind.width, queryTile);
    fetch(dout, rows, kind.values, doutTile);
    share(tile * kind.width, [&](const Operand &index) { store(place(dqSums, index), sums.set(kernel, 0)); });
    kernel.when(less(thread, rows.count), [&] {
      Operand row = integer("add.s32", rows.at, thread);
      store(place(lses, thread), lseOf(lse, row));
      store(place(dots, thread), dotOf(out, dout, row));
    });
    kernel.meet();
    eachBlock(keyRuns(), [&](const Rows &keys) {
      if (!kind.causal)
        return meetKeys(keys);
      kernel.when(less(keys.position, integer("add.s32", rows.position, rows.count)), [&] { meetKeys(keys); });
    });
    auto bytes = static_cast<int64_t>(program::sizeOf(resultType()));
    shareTable(tile, kind.width, [&](const Operand &row, const Operand &column) {
      kernel.when(less(row, rows.count), [&] {
        Operand to = kernel.address(rowOf(dq, integer("add.s32", rows.at, row)), kernel.widen(column), bytes);
        finish(resultType(), to, load(place(dqSums, row, kind.width, column)), scale());
      });
    });
  });
  return kernel.text();
}

void QueryGradientWriter::meetKeys(const Rows &keys) {
  kernel.when(less(thread, keys.count), [&] {
    Operand row = integer("add.s32", keys.at, thread), position = integer("add.s32", keys.position, thread), factor = scale();
    std::vector<Operand> scores = across(k, row, queryTile, kind.width), dp = across(v, row, doutTile, kind.values);
    for (int r = 0; r < tile; ++r) {
      Operand gradient = sums.set(kernel, 0), number = kernel.get(Kind::Bits32, "mov.b32", std::to_string(r));
      Operand sees = less(number, queries.count);
      if (kind.causal)
        sees = kernel.get(Kind::Predicate, "and.pred", sees,
                          kernel.get(Kind::Predicate, "setp.le.s32", position, integer("add.s32", queries.position, number)));
      kernel.when(sees, [&] {
        Operand p = probability(scores[size_t(r)], factor, load(lses, r * sums.bytes()));
        Operand ds = sums.multiply(kernel, p, sums.subtract(kernel, dp[size_t(r)], load(dots, r * sums.bytes())));
        kernel.put(gradient, "mov." + sums.type(), roundElement(kernel, kind.type, ds));
      });
      store(place(gradients, thread), gradient, r * attentionBlock * sums.bytes());
    }
  });
  kernel.meet();
  shareTable(tile, kind.width, [&](const Operand &row, const Operand &column) {
    Operand to = place(dqSums, row, kind.width, column), sum = load(to);
    addInOrder({sum}, keys.count, [&](const Operand &key) -> std::vector<std::pair<Operand, Operand>> {
      return {{load(place(gradients, row, attentionBlock, key)), element(k, rowOf(k, integer("add.s32", keys.at, key)), column)}};
    });
    store(to, sum);
  });
  kernel.meet();
}

/// A block has a tile of keys, a thread a query, then sums of dk and dv.
class KeyGradientWriter final : public BackwardWriter {
public:
  using BackwardWriter::BackwardWriter;
  std::string text() override;

private:
  void meetQueries(const Rows &queries, const Operand &head);
  void addTo(const Operand &to, int64_t columns, const Operand &weights, const Matrix &matrix, const Rows &queries);
  void finishRows(const Matrix &to, int64_t columns, const Operand &from, const Operand &factor);

  Rows keys;
  Operand keyTile, valueTile, probabilities, gradients, dkSums, dvSums;
};

std::string KeyGradientWriter::text() {
  Operand none = kernel.get(Kind::Bits64, "mov.b64", "0");
  Matrix k = matrix(K, kind.type, none), v = matrix(V, kind.type, none);
  Matrix dk = matrix(Dk, resultType(), none), dv = matrix(Dv, resultType(), none);
  Operand heads = kernel.narrow(parameter(offsetof(AttentionParameters, heads)));
  keyTile = sharedRows(tile * kind.width), valueTile = sharedRows(tile * kind.values);
  probabilities = sharedRows(tile * attentionBlock), gradients = sharedRows(tile * attentionBlock);
  dkSums = sharedRows(tile * kind.width), dvSums = sharedRows(tile * kind.values);
  inTile(keyRuns(), [&](const Rows &rows) {
    keys = rows;
    fetch(k, rows, kind.width, keyTile);
    fetch(v, rows, kind.values, valueTile);
    share(tile * kind.width, [&](const Operand &index) { store(place(dkSums, index), sums.set(kernel, 0)); });
    share(tile * kind.values, [&](const Operand &index) { store(place(dvSums, index), sums.set(kernel, 0)); });
    kernel.meet();
    kernel.loop("0", heads, "1", [&](const Operand &head) {
      eachBlock(queryRuns(), [&](const Rows &queries) {
        if (!kind.causal)
          return meetQueries(queries, head);
        kernel.when(less(rows.position, integer("add.s32", queries.position, queries.count)), [&] { meetQueries(queries, head); });
      });
    });
    finishRows(dk, kind.width, dkSums, scale());
    finishRows(dv, kind.values, dvSums, sums.set(kernel, 1));
  });
  return kernel.text();
}

void KeyGradientWriter::meetQueries(const Rows &queries, const Operand &number) {
  Operand head = headOf(number);
  Matrix q = matrix(Q, kind.type, head), dout = matrix(Dout, kind.type, head);
  kernel.when(less(thread, queries.count), [&] {
    Matrix out = matrix(Out, kind.type, head), lse = matrix(Lse, sumsType(), head);
    Operand row = integer("add.s32", queries.at, thread), position = integer("add.s32", queries.position, thread), factor = scale();
    Operand ownLse = lseOf(lse, row), dot = dotOf(out, dout, row);
    std::vector<Operand> scores = across(q, row, keyTile, kind.width), dp = across(dout, row, valueTile, kind.values);
    for (int r = 0; r < tile; ++r) {
      Operand p = sums.set(kernel, 0), ds = sums.set(kernel, 0), key = kernel.get(Kind::Bits32, "mov.b32", std::to_string(r));
      Operand sees = less(key, keys.count);
      if (kind.causal)
        sees = kernel.get(Kind::Predicate, "and.pred", sees,
                          kernel.get(Kind::Predicate, "setp.le.s32", integer("add.s32", keys.position, key), position));
      kernel.when(sees, [&] {
        Operand exact = probability(scores[size_t(r)], factor, ownLse);
        Operand gradient = sums.multiply(kernel, exact, sums.subtract(kernel, dp[size_t(r)], dot));
        kernel.put(p, "mov." + sums.type(), roundElement(kernel, kind.type, exact));
        kernel.put(ds, "mov." + sums.type(), roundElement(kernel, kind.type, gradient));
      });
      store(place(probabilities, thread), p, r * attentionBlock * sums.bytes());
      store(place(gradients, thread), ds, r * attentionBlock * sums.bytes());
    }
  });
  kernel.meet();
  addTo(dvSums, kind.values, probabilities, dout, queries);
  addTo(dkSums, kind.width, gradients, q, queries);
  kernel.meet();
}

/// sums[key, column] go on along the queries of the block.
void KeyGradientWriter::addTo(const Operand &sumsOfTile, int64_t columns, const Operand &weights, const Matrix &matrix,
                              const Rows &queries) {
  shareTable(tile, columns, [&](const Operand &row, const Operand &column) {
    Operand to = place(sumsOfTile, row, columns, column), sum = load(to);
    addInOrder({sum}, queries.count, [&](const Operand &query) -> std::vector<std::pair<Operand, Operand>> {
      return {{load(place(weights, row, attentionBlock, query)),
               element(matrix, rowOf(matrix, integer("add.s32", queries.at, query)), column)}};
    });
    store(to, sum);
  });
}

void KeyGradientWriter::finishRows(const Matrix &to, int64_t columns, const Operand &from, const Operand &factor) {
  auto bytes = static_cast<int64_t>(program::sizeOf(resultType()));
  shareTable(tile, columns, [&](const Operand &row, const Operand &column) {
    kernel.when(less(row, keys.count), [&] {
      Operand address = kernel.address(rowOf(to, integer("add.s32", keys.at, row)), kernel.widen(column), bytes);
      finish(resultType(), address, load(place(from, row, columns, column)), factor);
    });
  });
}

} // namespace

std::string queryGradientText(const AttentionKind &kind) { return QueryGradientWriter(kind).text(); }
std::string keyGradientText(const AttentionKind &kind) { return KeyGradientWriter(kind).text(); }

} // namespace npar::engine::cuda
