// The kernels that run before and after kernels of scores. A block of threads has a block of scores, or all blocks of a unit in turn.
#include "engine/backends/cuda/ptx/ScoreText.h"

#include "engine/backends/cuda/ptx/Numbers.h"

#include <cstddef>

namespace npar::engine::cuda {

namespace {

class ScoreWriter {
public:
  explicit ScoreWriter(const ScoreStepKind &kind);
  std::string text();

private:
  struct Block {
    Operand memory, rowAt, rows, rowPosition, columnAt, columns, columnPosition;
  };
  void place();
  void point();
  void cut();
  void clear();
  void pair();
  void addEntries();
  void addRows();
  void addColumns();
  void addKeys();
  void addAll();

  Operand parameter(size_t bytes) { return kernel.parameter(static_cast<int>(bytes / 8)); }
  Operand small(size_t bytes) { return kernel.narrow(parameter(bytes)); }
  Operand global(const Operand &address) { return kernel.get(Kind::Bits64, "cvta.to.global.u64", address); }
  Operand integer(const char *instruction, const Operand &a, const Operand &b) { return kernel.get(Kind::Bits32, instruction, a, b); }
  Operand less(const Operand &a, const Operand &b) { return kernel.get(Kind::Predicate, "setp.lt.s32", a, b); }
  Operand both(const Operand &a, const Operand &b) { return kernel.get(Kind::Predicate, "and.pred", a, b); }
  Operand word(const Operand &address) { return kernel.get(Kind::Bits32, "ld.global.b32", at(address)); }
  Operand double64(const Operand &address) { return kernel.get(Kind::Float64, "ld.global.f64", at(address)); }
  void share(const Operand &count, const std::function<void(const Operand &)> &body) {
    kernel.loop(thread, count, std::to_string(attentionThreads), body);
  }
  /// a[row][column] as (row, column).
  void split(const Operand &index, const Operand &columns, Operand &row, Operand &column) {
    row = integer("div.u32", index, columns);
    column = integer("sub.s32", index, integer("mul.lo.s32", row, columns));
  }
  Block block(const Operand &number);
  void eachBlock(const std::function<void(const Block &)> &body) {
    kernel.loop("0", small(offsetof(ScoreParameters, count)), "1", [&](const Operand &number) { body(block(number)); });
  }
  Block ownBlock() { return block(kernel.get(Kind::Bits32, "mov.u32", "%ctaid.y")); }
  /// The operand's generic address for the unit's head and index of the batch.
  Operand base();
  Operand times(const Operand &count, size_t stride) { return kernel.times(kernel.widen(count), parameter(stride)); }
  /// The first column whose query sees the key of a row.
  Operand firstSeen(const Block &block, const Operand &row);
  /// The address of a number in the block's table at `table`.
  Operand inTable(const Block &block, size_t table, const Operand &row, const Operand &column, int bytesOfNumber);
  Operand exact(const Operand &address) {
    return floats.wide ? double64(address)
                       : kernel.get(Kind::Float64, "cvt.f64.f32", kernel.get(Kind::Float32, "ld.global.f32", at(address)));
  }
  Operand sumOf(const Operand &number) {
    Operand index = kernel.plus(times(unitOfAll, offsetof(ScoreParameters, sumCount)), kernel.widen(number));
    return kernel.address(global(parameter(offsetof(ScoreParameters, sums))), index, 8);
  }
  /// Keeps a sum and writes it, rounded, to the slope's element `bytes` after its beginning.
  void keep(const Operand &sumAddress, const Operand &sum, const Operand &bytes) {
    kernel.run("st.global.f64", at(sumAddress), sum);
    Operand to = kernel.plus(global(base()), bytes);
    floats.wide ? kernel.run("st.global.f64", at(to), sum)
                : kernel.run("st.global.f32", at(to), kernel.get(Kind::Float32, "cvt.rn.f32.f64", sum));
  }
  void add(const Operand &sum, const Operand &more) { kernel.put(sum, "add.rn.f64", sum, more); }

  ScoreStepKind kind;
  Floats floats;
  PtxKernel kernel;
  Operand thread, unit, unitOfAll, head, batch[attentionLoops];
};

ScoreWriter::ScoreWriter(const ScoreStepKind &kind)
    : kind(kind), floats{kind.bytes == 8}, kernel(kind.name(), scoreParameterCount, attentionThreads) {
  using P = ScoreParameters;
  thread = kernel.get(Kind::Bits32, "mov.u32", "%tid.x");
  unit = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.z");
  unitOfAll = integer("add.s32", unit, small(offsetof(P, first)));
  Operand index;
  split(unitOfAll, small(offsetof(P, heads)), index, head);
  for (size_t i = 0; i < attentionLoops; ++i) {
    Operand rest;
    split(index, small(offsetof(P, loops) + i * sizeof(P::Loop)), rest, batch[i]);
    index = rest;
  }
}

ScoreWriter::Block ScoreWriter::block(const Operand &number) {
  using P = ScoreParameters;
  Operand before = kernel.times(kernel.widen(unit), parameter(offsetof(P, count)));
  Operand offset = kernel.times(kernel.plus(before, kernel.widen(number)), parameter(offsetof(P, bytes)));
  Operand entry = kernel.address(global(parameter(offsetof(P, blocks))), kernel.widen(number), sizeof(ScoreBlock));
  auto field = [&](size_t bytes) { return kernel.get(Kind::Bits32, "ld.global.b32", at(entry, static_cast<int64_t>(bytes))); };
  return {kernel.plus(global(parameter(offsetof(P, memory))), offset),
          field(offsetof(ScoreBlock, rowAt)),
          field(offsetof(ScoreBlock, rows)),
          field(offsetof(ScoreBlock, rowPosition)),
          field(offsetof(ScoreBlock, columnAt)),
          field(offsetof(ScoreBlock, columns)),
          field(offsetof(ScoreBlock, columnPosition))};
}

Operand ScoreWriter::base() {
  using P = ScoreParameters;
  Operand address = kernel.plus(parameter(offsetof(P, base)), times(head, offsetof(P, head)));
  for (size_t i = 0; i < attentionLoops; ++i)
    address = kernel.plus(address, times(batch[i], offsetof(P, loops) + i * sizeof(P::Loop) + offsetof(P::Loop, stride)));
  return address;
}

Operand ScoreWriter::firstSeen(const Block &block, const Operand &row) {
  if (!kind.causal)
    return "0";
  Operand key = integer("add.s32", block.rowPosition, row);
  return integer("max.s32", integer("sub.s32", key, block.columnPosition), "0");
}

Operand ScoreWriter::inTable(const Block &block, size_t table, const Operand &row, const Operand &column, int bytesOfNumber) {
  Operand index = kernel.get(Kind::Bits32, "mad.lo.s32", row, small(offsetof(ScoreParameters, columns)), column);
  return kernel.address(kernel.plus(block.memory, parameter(table)), kernel.widen(index), bytesOfNumber);
}

void ScoreWriter::place() {
  using P = ScoreParameters;
  Block own = ownBlock();
  Operand shift = kernel.get(Kind::Bits32, "mov.b32", "0"), isThere = parameter(offsetof(P, base));
  kernel.when(kernel.get(Kind::Predicate, "setp.ne.s64", isThere, "0"), [&] { kernel.put(shift, "ld.global.b32", at(global(base()))); });
  auto ascend = [&](size_t place, const Operand &all, const Operand &count, const Operand &first) {
    Operand to = kernel.plus(own.memory, parameter(place));
    share(all, [&](const Operand &i) {
      Operand value = kernel.get(Kind::Bits32, "selp.b32", integer("add.s32", first, i), "0", less(i, count));
      kernel.run("st.global.b32", at(kernel.address(to, kernel.widen(i), 4)), value);
    });
  };
  ascend(offsetof(P, at), std::to_string(scoreBlockRows), own.rows, integer("add.s32", own.rowPosition, shift));
  ascend(offsetof(P, also), small(offsetof(P, columns)), own.columns, own.columnPosition);
  Operand places = global(parameter(offsetof(P, places)));
  share(small(offsetof(P, placeCount)), [&](const Operand &i) {
    Operand wide = kernel.widen(i), place = kernel.get(Kind::Bits64, "ld.global.b64", at(kernel.address(places, wide, 8)));
    kernel.when(kernel.get(Kind::Predicate, "setp.ge.s64", place, "0"),
                [&] { kernel.run("st.global.b64", at(kernel.address(own.memory, wide, 8)), kernel.plus(own.memory, place)); });
  });
}

void ScoreWriter::point() {
  using P = ScoreParameters;
  Block own = ownBlock();
  Operand also = parameter(offsetof(P, also)), address = base();
  kernel.when(less(thread, "1"), [&] {
    kernel.run("st.global.b64", at(kernel.plus(own.memory, parameter(offsetof(P, at)))), address);
    kernel.when(kernel.get(Kind::Predicate, "setp.ge.s64", also, "0"),
                [&] { kernel.run("st.global.b64", at(kernel.plus(own.memory, also)), address); });
  });
}

void ScoreWriter::cut() {
  using P = ScoreParameters;
  Block own = ownBlock();
  Operand columns = small(offsetof(P, columnCount)), count = integer("mul.lo.s32", small(offsetof(P, rowCount)), columns);
  Operand from = global(base()), to = kernel.plus(own.memory, parameter(offsetof(P, at)));
  std::string bits = ".b" + std::to_string(8 * kind.bytes);
  Kind element = kind.bytes == 8 ? Kind::Bits64 : kind.bytes == 4 ? Kind::Bits32 : Kind::Bits16;
  share(count, [&](const Operand &index) {
    Operand row, column;
    split(index, columns, row, column);
    Operand value = kernel.get(element, "mov" + (kind.bytes == 1 ? ".b16" : bits), "0");
    kernel.when(both(less(row, own.rows), less(column, own.columns)), [&] {
      Operand place = kernel.plus(from, times(integer("add.s32", own.rowAt, row), offsetof(P, row)));
      place = kernel.plus(place, times(integer("add.s32", own.columnAt, column), offsetof(P, column)));
      kernel.put(value, "ld.global" + bits, at(place));
    });
    kernel.run("st.global" + bits, at(kernel.address(to, kernel.widen(index), kind.bytes)), value);
  });
}

/// A thread has an element.
void ScoreWriter::clear() {
  using P = ScoreParameters;
  Operand rows = small(offsetof(P, rowCount)), columns = small(offsetof(P, columnCount)), row, column;
  Operand block = kernel.get(Kind::Bits32, "mov.u32", "%ctaid.x");
  split(kernel.get(Kind::Bits32, "mad.lo.s32", block, std::to_string(attentionThreads), thread), columns, row, column);
  kernel.when(less(row, rows), [&] {
    Operand to = kernel.plus(global(base()), kernel.plus(times(row, offsetof(P, row)), times(column, offsetof(P, column))));
    kernel.run("st.global." + floats.type(), at(to), floats.number(0));
  });
}

void ScoreWriter::pair() {
  using P = ScoreParameters;
  Block own = ownBlock();
  Operand columns = small(offsetof(P, columns)), to = global(base());
  share(integer("mul.lo.s32", columns, std::to_string(scoreBlockRows)), [&](const Operand &index) {
    Operand row, column;
    split(index, columns, row, column);
    Operand seen = kernel.get(Kind::Predicate, "setp.ge.s32", column, firstSeen(own, row));
    kernel.when(both(seen, both(less(row, own.rows), less(column, own.columns))), [&] {
      Operand more = kernel.get(floats.kind(), "ld.global." + floats.type(), at(inTable(own, offsetof(P, at), row, column, kind.bytes)));
      Operand place = kernel.plus(to, times(integer("add.s32", own.rowAt, row), offsetof(P, row)));
      place = kernel.plus(place, times(integer("add.s32", own.columnAt, column), offsetof(P, column)));
      kernel.run("st.global." + floats.type(), at(place), floats.add(kernel, more, floats.number(0)));
    });
  });
}

/// A warp looks at 32 neighbours at once and adds those that are its entry's, from the first one on.
void ScoreWriter::addEntries() {
  using P = ScoreParameters;
  constexpr int warp = 32, warps = attentionThreads / warp;
  Operand lane = integer("and.b32", thread, "31"), number = integer("shr.u32", thread, "5");
  Operand entry = kernel.get(Kind::Bits32, "mad.lo.s32", kernel.get(Kind::Bits32, "mov.u32", "%ctaid.x"), std::to_string(warps), number);
  kernel.when(less(entry, small(offsetof(P, rowCount))), [&] {
    Operand sumAddress = sumOf(entry), sum = double64(sumAddress);
    eachBlock([&](const Block &own) {
      kernel.loop("0", own.rows, "1", [&](const Operand &row) {
        Operand begin = firstSeen(own, row);
        kernel.loop(kernel.get(Kind::Bits32, "and.b32", begin, "-32"), own.columns, std::to_string(warp), [&](const Operand &first) {
          Operand column = integer("add.s32", first, lane), more = kernel.get(Kind::Float64, "mov.f64", constant(0.0));
          Operand of = kernel.get(Kind::Bits32, "mov.b32", "-1");
          Operand counts = both(kernel.get(Kind::Predicate, "setp.ge.s32", column, begin), less(column, own.columns));
          kernel.when(counts, [&] {
            kernel.put(of, "ld.global.b32", at(inTable(own, offsetof(P, also), row, column, 4)));
            kernel.put(more, "mov.f64", exact(inTable(own, offsetof(P, at), row, column, kind.bytes)));
          });
          Operand same = kernel.get(Kind::Predicate, "setp.eq.s32", of, entry);
          Operand votes = kernel.get(Kind::Bits32, "vote.sync.ballot.b32", same, "-1");
          Operand low = kernel.fresh(Kind::Bits32), high = kernel.fresh(Kind::Bits32);
          Operand bits = kernel.get(Kind::Bits64, "mov.b64", more);
          kernel.put(low, "cvt.u32.u64", bits);
          kernel.put(high, "cvt.u32.u64", kernel.get(Kind::Bits64, "shr.u64", bits, "32"));
          kernel.loop("0", kernel.get(Kind::Bits32, "popc.b32", votes), "1", [&](const Operand &) {
            Operand next = kernel.get(Kind::Bits32, "clz.b32", kernel.get(Kind::Bits32, "brev.b32", votes));
            kernel.put(votes, "and.b32", votes, integer("sub.s32", votes, "1"));
            auto its = [&](const Operand &half) { // of that lane
              return kernel.get(Kind::Bits64, "cvt.u64.u32", kernel.get(Kind::Bits32, "shfl.sync.idx.b32", half, next, "31", "-1"));
            };
            Operand upper = kernel.get(Kind::Bits64, "shl.b64", its(high), "32");
            add(sum, kernel.get(Kind::Float64, "mov.b64", kernel.get(Kind::Bits64, "or.b64", its(low), upper)));
          });
        });
      });
    });
    kernel.when(less(lane, "1"), [&] { keep(sumAddress, sum, kernel.times(kernel.widen(entry), std::to_string(kind.bytes))); });
  });
}

void ScoreWriter::addRows() {
  using P = ScoreParameters;
  Block own = ownBlock();
  kernel.when(less(thread, own.rows), [&] {
    Operand sum = kernel.get(Kind::Float64, "mov.f64", constant(0.0));
    kernel.loop(firstSeen(own, thread), own.columns, "1",
                [&](const Operand &column) { add(sum, exact(inTable(own, offsetof(P, at), thread, column, kind.bytes))); });
    Operand to = kernel.address(kernel.plus(own.memory, parameter(offsetof(P, also))), kernel.widen(thread), 8);
    kernel.run("st.global.f64", at(to), sum);
  });
}

/// A thread has a column of the blocks, which come band by band.
void ScoreWriter::addColumns() {
  using P = ScoreParameters;
  eachBlock([&](const Block &own) {
    kernel.when(less(thread, own.columns), [&] {
      Operand query = integer("add.s32", own.columnAt, thread), sumAddress = sumOf(query), sum = double64(sumAddress);
      kernel.loop("0", own.rows, "1", [&](const Operand &row) {
        kernel.when(kernel.get(Kind::Predicate, "setp.ge.s32", thread, firstSeen(own, row)),
                    [&] { add(sum, exact(inTable(own, offsetof(P, at), row, thread, kind.bytes))); });
      });
      keep(sumAddress, sum, times(query, offsetof(P, column)));
    });
  });
}

/// A thread has a row of the blocks.
void ScoreWriter::addKeys() {
  using P = ScoreParameters;
  eachBlock([&](const Block &own) {
    kernel.when(less(thread, own.rows), [&] {
      Operand key = integer("add.s32", own.rowAt, thread), sumAddress = sumOf(key), sum = double64(sumAddress);
      add(sum, double64(kernel.address(kernel.plus(own.memory, parameter(offsetof(P, also))), kernel.widen(thread), 8)));
      keep(sumAddress, sum, times(key, offsetof(P, row)));
    });
  });
}

void ScoreWriter::addAll() {
  using P = ScoreParameters;
  kernel.when(less(thread, "1"), [&] {
    Operand none = kernel.get(Kind::Bits32, "mov.b32", "0"), sumAddress = sumOf(none), sum = double64(sumAddress);
    eachBlock([&](const Block &own) {
      Operand from = kernel.plus(own.memory, parameter(offsetof(P, also)));
      kernel.loop("0", own.rows, "1", [&](const Operand &row) { add(sum, double64(kernel.address(from, kernel.widen(row), 8))); });
    });
    keep(sumAddress, sum, kernel.widen(none));
  });
}

std::string ScoreWriter::text() {
  switch (kind.step) {
  case ScoreStep::Place:
    place();
    break;
  case ScoreStep::Point:
    point();
    break;
  case ScoreStep::Cut:
    cut();
    break;
  case ScoreStep::Clear:
    clear();
    break;
  case ScoreStep::Pair:
    pair();
    break;
  case ScoreStep::Entries:
    addEntries();
    break;
  case ScoreStep::Partial:
    addRows();
    break;
  case ScoreStep::OfQueries:
    addColumns();
    break;
  case ScoreStep::OfKeys:
    addKeys();
    break;
  case ScoreStep::OfAll:
    addAll();
    break;
  }
  return kernel.text();
}

} // namespace

std::string ScoreStepKind::name() const {
  const char *steps[] = {"place", "point", "cut", "clear", "pair", "entries", "partial", "of_queries", "of_keys", "of_all"};
  return std::string("scores_") + steps[static_cast<int>(step)] + (bytes ? "_" + std::to_string(bytes) : "") + (causal ? "_causal" : "");
}

std::string scoreStepText(const ScoreStepKind &kind) { return ScoreWriter(kind).text(); }

} // namespace npar::engine::cuda
