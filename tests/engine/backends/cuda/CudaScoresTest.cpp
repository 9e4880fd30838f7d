// Attention whose scores a program changes has the CPU's bits on a GPU: biases of all shapes with their slopes, a window, hidden keys,
// factors of probabilities; in every type, in pieces, around a ring, with cached keys, in one part and in several.
#include "engine/backends/cuda/ptx/Numbers.h"
#include "tests/engine/backends/cuda/OneAttention.h"

#include <fstream>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using namespace engine::cuda;
using program::ElementType;

constexpr int64_t entries = 16, back = 40, ahead = 50;
constexpr int dataCount = 5, first = 3; // a kernel's buffers before its data

/// Writes what ScoreKernels.cpp does: 16 threads have a row.
class ScoreKernelText {
public:
  ScoreKernelText(const std::string &name, bool wide, int64_t columns, bool ofKeys, bool drops, bool slopes);
  const std::string &line() const { return lines; }
  std::string text() const { return kernel.text(); }

private:
  Operand element(int buffer, const Operand &index, int bytes) {
    return kernel.address(pointers[size_t(buffer)], kernel.widen(index), bytes);
  }
  Operand load(int buffer, const Operand &index) {
    return kernel.get(floats.kind(), "ld.global." + floats.type(), at(element(buffer, index, floats.bytes())));
  }
  Operand integer(const char *instruction, const Operand &a, const Operand &b) { return kernel.get(Kind::Bits32, instruction, a, b); }
  void store(int buffer, const Operand &index, const Operand &value) {
    kernel.run("st.global." + floats.type(), at(element(buffer, index, floats.bytes())), value);
  }
  Operand isHidden(const Operand &i, const Operand &j);

  Floats floats;
  PtxKernel kernel;
  std::vector<Operand> pointers;
  std::string lines;
};

Operand ScoreKernelText::isHidden(const Operand &i, const Operand &j) {
  Operand pattern = integer("and.b32", kernel.get(Kind::Bits32, "mad.lo.s32", j, "2", i), "7");
  Operand hidden = kernel.get(Kind::Predicate, "setp.eq.s32", pattern, "0");
  Operand before = kernel.get(Kind::Predicate, "setp.gt.s32", integer("sub.s32", i, j), std::to_string(back));
  Operand after = kernel.get(Kind::Predicate, "setp.gt.s32", integer("sub.s32", j, i), std::to_string(ahead));
  return kernel.get(Kind::Predicate, "or.pred", hidden, kernel.get(Kind::Predicate, "or.pred", before, after));
}

ScoreKernelText::ScoreKernelText(const std::string &name, bool wide, int64_t columns, bool ofKeys, bool drops, bool slopes)
    : floats{wide}, kernel(name, 3, 64) {
  std::string table = " " + floats.type() + "[" + std::to_string(32 * columns) + "]", words = " i32[" + std::to_string(32 * columns) + "]";
  std::string row = "[32]", column = "[" + std::to_string(columns) + "]", of = " " + floats.type();
  const std::string &query = ofKeys ? column : row, &key = ofKeys ? row : column;
  lines = "// kernel " + name + " threads 64 rows 4 extent 32 many :" + table + " i32" + query + " i32" + key + table + of + query + of +
          key + of + "[1]" + of + "[" + std::to_string(entries) + "]" + (slopes ? table : "") + " ->" + table;
  size_t count = first + dataCount + 1 + (drops ? 1 : 0);
  if (slopes)
    lines += table + table + table + table + table + words, count = first + dataCount + 8;
  else if (drops)
    lines += table;
  lines += "\n";

  Operand block = kernel.get(Kind::Bits64, "cvt.u64.u32", kernel.get(Kind::Bits32, "mov.u32", "%ctaid.y"));
  Operand list = kernel.plus(kernel.get(Kind::Bits64, "cvta.to.global.u64", kernel.parameter(0)), kernel.times(block, kernel.parameter(1)));
  for (size_t i = 0; i < count; ++i)
    pointers.push_back(
        kernel.get(Kind::Bits64, "cvta.to.global.u64", kernel.get(Kind::Bits64, "ld.global.b64", at(list, static_cast<int64_t>(8 * i)))));
  Operand thread = kernel.get(Kind::Bits32, "mov.u32", "%tid.x"), part = integer("shr.u32", thread, "4");
  Operand rowNumber = kernel.get(Kind::Bits32, "mad.lo.s32", kernel.get(Kind::Bits32, "mov.u32", "%ctaid.x"), "4", part);
  kernel.loop(integer("and.b32", thread, "15"), std::to_string(columns), "16", [&](const Operand &columnNumber) {
    Operand place = kernel.get(Kind::Bits32, "mad.lo.s32", rowNumber, std::to_string(columns), columnNumber);
    const Operand &q = ofKeys ? columnNumber : rowNumber, &k = ofKeys ? rowNumber : columnNumber;
    Operand i = kernel.get(Kind::Bits32, "ld.global.b32", at(element(1, q, 4)));
    Operand j = kernel.get(Kind::Bits32, "ld.global.b32", at(element(2, k, 4)));
    Operand entry = integer("and.b32", integer("sub.s32", i, integer("mul.lo.s32", j, "3")), "15"), hidden = isHidden(i, j);
    Operand both = floats.add(kernel, load(first + 1, q), load(first + 2, k)),
            scalar = load(first + 3, kernel.get(Kind::Bits32, "mov.b32", "0"));
    if (slopes) {
      Operand d = floats.choose(kernel, hidden, floats.number(0), load(8, place));
      Operand some = floats.multiply(kernel, d, floats.number(0.0625)), scaled = floats.multiply(kernel, some, scalar);
      int to = 9;
      for (const Operand &value : {d, some, scaled, scaled, floats.multiply(kernel, some, both), some})
        store(to++, place, value);
      return kernel.run("st.global.b32", at(element(to, place, 4)), entry);
    }
    Operand sum = floats.add(kernel, load(first, place), floats.multiply(kernel, both, scalar));
    sum = floats.multiply(kernel, floats.add(kernel, sum, load(first + 4, entry)), floats.number(0.0625));
    store(8, place,
          floats.choose(kernel, hidden, floats.number(-std::numeric_limits<double>::infinity()), floats.add(kernel, load(0, place), sum)));
    if (drops) {
      Operand dropped = kernel.get(Kind::Predicate, "setp.eq.s32", integer("and.b32", integer("add.s32", i, j), "3"), "0");
      store(9, place, floats.choose(kernel, dropped, floats.number(0), floats.number(1.5)));
    }
  });
}

/// Data of all shapes, of which a table is the same for all samples, and their slopes.
void addData(program::AttentionT &attention) {
  constexpr int64_t kvHeads = OneAttention::kvHeads, heads = OneAttention::group;
  int64_t rows = attention.rows, keys = attention.keys, all = attention.ring ? OneAttention::members * keys : keys;
  auto datum = [&](int64_t entriesOfTable, bool hasQuery, bool hasKey, int64_t number) {
    auto made = std::make_unique<program::AttentionDatumT>();
    made->type = attention.type == ElementType::F64 ? ElementType::F64 : ElementType::F32;
    int64_t keysOfDatum = hasQuery ? all : keys;
    int64_t size = entriesOfTable ? entriesOfTable : (hasQuery ? rows : 1) * (hasKey ? keysOfDatum : 1);
    made->batch = {kvHeads * heads * size, heads * size}, made->head = size;
    made->has_query = hasQuery, made->has_key = hasKey, made->key = hasKey ? 1 : 0, made->query = hasQuery ? (hasKey ? keysOfDatum : 1) : 0;
    made->keys = hasKey ? keysOfDatum : 0, made->entries = entriesOfTable, made->datum = static_cast<uint32_t>(number);
    return made;
  };
  auto addTo = [&](std::vector<std::unique_ptr<program::AttentionDatumT>> &list) {
    list.push_back(datum(0, true, true, 0)), list.push_back(datum(0, true, false, 1)), list.push_back(datum(0, false, true, 2));
    list.push_back(datum(0, false, false, 3)), list.push_back(datum(entries, false, false, 4));
  };
  addTo(attention.data);
  attention.data.back()->batch[0] = 0;
  if (attention.gradient)
    addTo(attention.slopes);
}

std::vector<uint8_t> processorsKernels() {
  std::ifstream file(NPAR_TEST_SCORES, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void expectTheBits(const AttentionCase &given, bool drops, std::initializer_list<ElementType> types, int64_t member = 0) {
  for (ElementType type : types) {
    OneAttention attention(type, given);
    program::AttentionT &a = attention.attention();
    a.drops = drops;
    addData(a);
    bool wide = type == ElementType::F64;
    std::string word = wide ? "_f64" : "_f32", lines, texts;
    int64_t columns = program::scoreColumns(a.gradient ? a.rows : a.keys);
    auto add = [&](const std::string &name, bool slopes) {
      a.kernels.push_back(static_cast<uint32_t>(attention.content().kernels.size()));
      auto kernel = std::make_unique<program::KernelT>();
      kernel->symbol = name + word, kernel->extent = 32;
      attention.content().kernels.push_back(std::move(kernel));
      ScoreKernelText text(name + word, wide, columns, a.gradient, drops, slopes);
      lines += text.line(), texts += text.text() + "\n";
    };
    add(a.gradient ? "keys" : "queries", false);
    if (a.gradient)
      add("slopes", true);
    auto code = [&](const char *backend, const char *features, std::vector<uint8_t> bytes) {
      auto made = std::make_unique<program::DeviceCodeT>();
      made->backend = backend, made->features = features, made->object = std::move(bytes);
      attention.content().codes.push_back(std::move(made));
    };
    std::string text = "// npar kernels sm_80\n" + lines + moduleText({texts});
    code("cpu", "", processorsKernels());
    code("cuda", "sm_80", {text.begin(), text.end()});
    expectTheBitsOfTheProcessor(attention, member, columns);
  }
}

constexpr std::initializer_list<ElementType> everyType = {ElementType::F32, ElementType::F64, ElementType::F16, ElementType::BF16};

void inWindow(program::AttentionT &attention) { attention.back = back, attention.ahead = ahead; }
void ofAnother(program::AttentionT &attention) { attention.other = true; }
void inPieces(program::AttentionT &attention) { attention.axes = {1}, attention.zigzag = 3; }
/// The second step of three.
void onRing(program::AttentionT &attention) {
  attention.axes = {1}, attention.ring = true, attention.step = 1;
  attention.unfinished = true, attention.continues = !attention.gradient;
}

TEST(CudaScores, OfWholeSequences) {
  for (bool gradient : {false, true})
    for (bool drops : {false, true})
      expectTheBits({70, 70, drops, gradient}, drops, everyType);
}

TEST(CudaScores, OfMoreThanABlockInAWindow) {
  for (bool gradient : {false, true}) {
    expectTheBits({270, 270, true, gradient, inWindow}, true, {ElementType::F32});
    expectTheBits({270, 270, false, gradient, inWindow}, false, {ElementType::BF16});
  }
}

/// Blocks of one head are more than memory has room for at once.
TEST(CudaScores, InSeveralParts) { expectTheBits({257, 420, false, true, ofAnother}, true, {ElementType::F64}); }

TEST(CudaScores, OfAnotherSequence) {
  for (bool gradient : {false, true})
    for (int64_t keys : {33, 290})
      expectTheBits({5, keys, false, gradient, ofAnother}, false, {ElementType::F32, ElementType::BF16});
}

TEST(CudaScores, OfPiecesOfASequence) {
  for (int64_t member = 0; member < OneAttention::members; ++member)
    for (bool gradient : {false, true})
      expectTheBits({24, 72, true, gradient, inPieces}, true, {ElementType::F32}, member);
}

TEST(CudaScores, RoundARing) {
  for (int64_t member = 0; member < OneAttention::members; ++member)
    for (bool gradient : {false, true})
      expectTheBits({24, 24, true, gradient, onRing}, false, {ElementType::F32}, member);
}

TEST(CudaScores, BesideKeysThatWereKept) { expectTheBits({3, 110, true, false, ofAnother}, false, everyType); }

} // namespace
} // namespace npar::testing
