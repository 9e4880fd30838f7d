// The gradients of attention as PTX. The gradient of queries passes along the keys, those of keys and values along heads and queries. Both
// recompute the probabilities.
#include "engine/backends/cuda/ptx/AttentionWriter.h"

#include "engine/program/Elements.h"

namespace npar::engine::cuda {

using program::ElementType;

namespace {

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
  /// A predicate: the query sees the key. Both are numbered from the first of `queries` and of `keys`.
  Operand sees(const Rows &queries, const Operand &query, const Rows &keys, const Operand &key);
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

Operand BackwardWriter::sees(const Rows &queries, const Operand &query, const Rows &keys, const Operand &key) {
  Operand both = kernel.get(Kind::Predicate, "and.pred", less(query, queries.count), less(key, keys.count));
  if (!kind.causal)
    return both;
  Operand ofKey = integer("add.s32", keys.position, key), ofQuery = integer("add.s32", queries.position, query);
  return kernel.get(Kind::Predicate, "and.pred", both, kernel.get(Kind::Predicate, "setp.le.s32", ofKey, ofQuery));
}

/// A block has a tile of queries, a thread a key, then sums of dq.
class QueryGradientWriter final : public BackwardWriter {
public:
  using BackwardWriter::BackwardWriter;
  std::string text() override;

private:
  void meetKeys(const Rows &keys);
  void takeGradients(const Rows &keys);
  void fetchGradients(const Rows &keys);

  Matrix k, v;
  Rows queries;
  Operand queryTile, doutTile, gradients, dqSums, lses, dots;
};

std::string QueryGradientWriter::text() {
  Operand head = ownHead(), none = kernel.get(Kind::Bits64, "mov.b64", "0");
  Matrix q = matrix(Q, kind.type, head), out = matrix(Out, kind.type, head), dout = matrix(Dout, kind.type, head);
  Matrix lse = matrix(Lse, sumsType(), head), dq = matrix(Dq, resultType(), head);
  k = matrix(K, kind.type, none), v = matrix(V, kind.type, none);
  queryTile = sharedRows(tile * kind.width), doutTile = sharedRows(tile * kind.values), gradients = sharedRows(tile * attentionBlock);
  dqSums = sharedRows(tile * kind.width), lses = sharedRows(tile), dots = sharedRows(tile);
  inTile(Sequence::Queries, [&](const Rows &rows) {
    queries = rows;
    share(tile * kind.width, [&](const Operand &index) { store(place(dqSums, index), sums.set(kernel, 0)); });
    if (!kind.scored) {
      fetch(q, rows, kind.width, queryTile);
      fetch(dout, rows, kind.values, doutTile);
      kernel.when(less(thread, rows.count), [&] {
        Operand row = integer("add.s32", rows.at, thread);
        store(place(lses, thread), lseOf(lse, row));
        store(place(dots, thread), dotOf(out, dout, row));
      });
    }
    kernel.meet();
    eachBlock(Sequence::Keys, [&](const Rows &keys) {
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

/// Computes the gradients of the scores of the thread's key and all queries.
void QueryGradientWriter::takeGradients(const Rows &keys) {
  kernel.when(less(thread, keys.count), [&] {
    Operand row = integer("add.s32", keys.at, thread), factor = scale();
    std::vector<Operand> scores = across(k, row, queryTile, kind.width), dp = across(v, row, doutTile, kind.values);
    for (int r = 0; r < tile; ++r) {
      Operand gradient = sums.set(kernel, 0), number = kernel.get(Kind::Bits32, "mov.b32", std::to_string(r));
      kernel.when(sees(queries, number, keys, thread), [&] {
        Operand p = probability(scores[size_t(r)], factor, load(lses, r * sums.bytes()));
        Operand ds = sums.multiply(kernel, p, sums.subtract(kernel, dp[size_t(r)], load(dots, r * sums.bytes())));
        kernel.put(gradient, "mov." + sums.type(), roundElement(kernel, kind.type, ds));
      });
      store(place(gradients, thread), gradient, r * attentionBlock * sums.bytes());
    }
  });
}

/// The same, of a block that has them, with 32 keys at most.
void QueryGradientWriter::fetchGradients(const Rows &keys) {
  shareTable(scoreBlockRows, tile, [&](const Operand &key, const Operand &query) {
    Operand gradient = sums.set(kernel, 0);
    kernel.when(sees(queries, query, keys, key), [&] {
      Operand exact = loadFloat(inBlock(offsetof(ScoreSlab, gradients), key, integer("add.s32", tileAt, query)));
      kernel.put(gradient, "mov." + sums.type(), roundElement(kernel, kind.type, exact));
    });
    store(place(gradients, query, attentionBlock, key), gradient);
  });
}

void QueryGradientWriter::meetKeys(const Rows &keys) {
  kind.scored ? fetchGradients(keys) : takeGradients(keys);
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
  void takeGradients(const Rows &queries, const Matrix &q, const Matrix &dout, const Operand &head);
  void fetchGradients(const Rows &queries);
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
  Operand indexInSlab = unit; // a unit of blocks is a head
  inTile(Sequence::Keys, [&](const Rows &rows) {
    keys = rows;
    if (!kind.scored) {
      fetch(k, rows, kind.width, keyTile);
      fetch(v, rows, kind.values, valueTile);
    }
    share(tile * kind.width, [&](const Operand &index) { store(place(dkSums, index), sums.set(kernel, 0)); });
    share(tile * kind.values, [&](const Operand &index) { store(place(dvSums, index), sums.set(kernel, 0)); });
    kernel.meet();
    kernel.loop("0", heads, "1", [&](const Operand &head) {
      if (kind.scored)
        unit = kernel.get(Kind::Bits32, "mad.lo.s32", indexInSlab, heads, head);
      eachBlock(Sequence::Queries, [&](const Rows &queries) {
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
  kind.scored ? fetchGradients(queries) : takeGradients(queries, q, dout, head);
  kernel.meet();
  addTo(dvSums, kind.values, probabilities, dout, queries);
  addTo(dkSums, kind.width, gradients, q, queries);
  kernel.meet();
}

/// Computes the gradients of the scores of the thread's query and all keys.
void KeyGradientWriter::takeGradients(const Rows &queries, const Matrix &q, const Matrix &dout, const Operand &head) {
  kernel.when(less(thread, queries.count), [&] {
    Matrix out = matrix(Out, kind.type, head), lse = matrix(Lse, sumsType(), head);
    Operand row = integer("add.s32", queries.at, thread), factor = scale();
    Operand ownLse = lseOf(lse, row), dot = dotOf(out, dout, row);
    std::vector<Operand> scores = across(q, row, keyTile, kind.width), dp = across(dout, row, valueTile, kind.values);
    for (int r = 0; r < tile; ++r) {
      Operand p = sums.set(kernel, 0), ds = sums.set(kernel, 0), key = kernel.get(Kind::Bits32, "mov.b32", std::to_string(r));
      kernel.when(sees(queries, thread, keys, key), [&] {
        Operand exact = probability(scores[size_t(r)], factor, ownLse);
        Operand gradient = sums.multiply(kernel, exact, sums.subtract(kernel, dp[size_t(r)], dot));
        kernel.put(p, "mov." + sums.type(), roundElement(kernel, kind.type, exact));
        kernel.put(ds, "mov." + sums.type(), roundElement(kernel, kind.type, gradient));
      });
      store(place(probabilities, thread), p, r * attentionBlock * sums.bytes());
      store(place(gradients, thread), ds, r * attentionBlock * sums.bytes());
    }
  });
}

/// The same, of a block that has them.
void KeyGradientWriter::fetchGradients(const Rows &queries) {
  kernel.when(less(thread, queries.count), [&] {
    for (int r = 0; r < tile; ++r) {
      Operand p = sums.set(kernel, 0), ds = sums.set(kernel, 0), key = kernel.get(Kind::Bits32, "mov.b32", std::to_string(r));
      kernel.when(sees(queries, thread, keys, key), [&] {
        Operand row = integer("add.s32", tileAt, key);
        auto rounded = [&](size_t table) { return roundElement(kernel, kind.type, loadFloat(inBlock(table, row, thread))); };
        kernel.put(p, "mov." + sums.type(), rounded(offsetof(ScoreSlab, probabilities)));
        kernel.put(ds, "mov." + sums.type(), rounded(offsetof(ScoreSlab, gradients)));
      });
      store(place(probabilities, thread), p, r * attentionBlock * sums.bytes());
      store(place(gradients, thread), ds, r * attentionBlock * sums.bytes());
    }
  });
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

/// A block has a block of scores, a thread a query: of changed scores and gradients of probabilities it makes probabilities, times their
/// factors, and gradients of the changed scores.
class ProbabilitiesWriter final : public BackwardWriter {
public:
  using BackwardWriter::BackwardWriter;
  std::string text() override;
};

std::string ProbabilitiesWriter::text() {
  using Block = ScoreBlock;
  Operand head = ownHead(), number = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.y");
  Matrix out = matrix(Out, kind.type, head), dout = matrix(Dout, kind.type, head), lse = matrix(Lse, sumsType(), head);
  Operand entry = entryOf(offsetof(ScoreSlab, blocks), number, sizeof(Block));
  blockMemory = blockAt(unit, number);
  Rows keys{field(entry, offsetof(Block, rowAt)), field(entry, offsetof(Block, rows)), field(entry, offsetof(Block, rowPosition))};
  Rows queries{field(entry, offsetof(Block, columnAt)), field(entry, offsetof(Block, columns)),
               field(entry, offsetof(Block, columnPosition))};
  kernel.when(less(thread, queries.count), [&] {
    Operand row = integer("add.s32", queries.at, thread), ownLse = lseOf(lse, row), dot = dotOf(out, dout, row);
    kernel.loop("0", keys.count, "1", [&](const Operand &key) {
      Operand p = sums.set(kernel, 0), ds = sums.set(kernel, 0);
      Operand gradient = inBlock(offsetof(ScoreSlab, gradients), key, thread);
      kernel.when(sees(queries, thread, keys, key), [&] {
        Operand score = loadFloat(inBlock(offsetof(ScoreSlab, changed), key, thread)), dp = loadFloat(gradient);
        Operand exact = exponential(sums.subtract(kernel, score, ownLse)), kept = exact;
        if (kind.drops) {
          Operand factor = loadFloat(inBlock(offsetof(ScoreSlab, factors), key, thread));
          kept = sums.multiply(kernel, exact, factor), dp = sums.multiply(kernel, dp, factor);
        }
        kernel.put(p, "mov." + sums.type(), kept);
        kernel.put(ds, "mov." + sums.type(), sums.multiply(kernel, exact, sums.subtract(kernel, dp, dot)));
      });
      storeFloat(inBlock(offsetof(ScoreSlab, probabilities), key, thread), p);
      storeFloat(gradient, ds);
    });
  });
  return kernel.text();
}

} // namespace

std::string probabilitiesText(const AttentionKind &kind) { return ProbabilitiesWriter(kind).text(); }
std::string queryGradientText(const AttentionKind &kind) { return QueryGradientWriter(kind).text(); }
std::string keyGradientText(const AttentionKind &kind) { return KeyGradientWriter(kind).text(); }

} // namespace npar::engine::cuda
