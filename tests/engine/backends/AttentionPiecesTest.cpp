// Attention of a sequence that is dealt out in pieces: what all ranks compute, with all keys at hand or round a ring, in natural or zigzag
// order, is what one rank computes.
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/program/Checks.h"

#include <cmath>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;

constexpr int64_t size = 48, members = 3, piece = size / members, pieceFeatures = 5, pieceValues = 4;
using Numbers = std::vector<double>;

/// One head. `operands`: columns of each, in the order of the step.
program::AttentionT attentionOf(bool gradient, int64_t rows, int64_t keys, const std::vector<int64_t> &operands) {
  program::AttentionT a;
  a.type = ElementType::F64;
  a.gradient = gradient, a.causal = true, a.scale = 0.3;
  a.heads = 1, a.rows = rows, a.keys = keys, a.features = pieceFeatures, a.values = pieceValues;
  for (int64_t columns : operands) {
    a.strides.push_back(std::make_unique<program::AttentionStridesT>());
    a.strides.back()->head = rows * columns, a.strides.back()->row = columns;
  }
  return a;
}

void run(const program::AttentionT &attention, int64_t coordinate, const std::vector<Numbers *> &operands) {
  program::ProgramT content;
  for (auto [name, members] : {std::pair("dp", 2), std::pair("cp", int(testing::members))}) {
    content.mesh.push_back(std::make_unique<program::MeshAxisT>());
    content.mesh.back()->name = name, content.mesh.back()->size = uint32_t(members);
  }
  content.attentions.push_back(std::make_unique<program::AttentionT>(attention));
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  const program::Program &program = *program::GetProgram(builder.GetBufferPointer());
  EXPECT_EQ(program::checkAttentions(program), "");
  CpuBackend backend(Spread{});
  Status status = backend.load(program);
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<DeviceAddress> buffers;
  for (Numbers *operand : operands)
    buffers.emplace_back(operand->data());
  const int64_t context[] = {0, 0, 0, 1, coordinate};
  ASSERT_TRUE(backend.runAttention(0, buffers.data(), buffers.size(), context).ok());
}

/// Rows of all of the sequence, in the order of positions.
struct Sequence {
  Numbers q = numbers(pieceFeatures, 1), k = numbers(pieceFeatures, 2), v = numbers(pieceValues, 3), dout = numbers(pieceValues, 4);
  Numbers out = Numbers(size * pieceValues), lse = Numbers(size), dq = Numbers(size * pieceFeatures), dk = dq, dv = out;

  static Numbers numbers(int64_t columns, uint32_t seed) {
    Numbers all(static_cast<size_t>(size * columns));
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = std::sin(double(i * 2654435761u % 1000003u + seed));
    return all;
  }
  static Sequence onOneRank() {
    Sequence s;
    run(attentionOf(false, size, size, {pieceFeatures, pieceFeatures, pieceValues, pieceValues, 1}), 0, {&s.q, &s.k, &s.v, &s.out, &s.lse});
    run(attentionOf(true, size, size,
                    {pieceFeatures, pieceFeatures, pieceValues, pieceValues, pieceValues, 1, pieceFeatures, pieceFeatures, pieceValues}),
        0, {&s.q, &s.k, &s.v, &s.out, &s.dout, &s.lse, &s.dq, &s.dk, &s.dv});
    return s;
  }
};

/// The position that place `place` of the memory of all ranks holds.
int64_t positionOf(int64_t place, int64_t zigzag) {
  if (zigzag == 0)
    return place;
  int64_t chunk = size / (2 * zigzag), slot = place / chunk;
  return (slot % 2 ? 2 * zigzag - 1 - slot / 2 : slot / 2) * chunk + place % chunk;
}

/// Rows of places [first, first + count), out of the order of positions; and back, added.
Numbers take(const Numbers &all, int64_t columns, int64_t first, int64_t count, int64_t zigzag) {
  Numbers some;
  for (int64_t i = 0; i < count; ++i)
    some.insert(some.end(), &all[size_t(positionOf(first + i, zigzag) * columns)],
                &all[size_t(positionOf(first + i, zigzag) * columns)] + columns);
  return some;
}
void addTo(Numbers &all, const Numbers &some, int64_t columns, int64_t first, int64_t zigzag) {
  for (size_t i = 0; i < some.size(); ++i)
    all[size_t(positionOf(first + int64_t(i) / columns, zigzag) * columns + int64_t(i) % columns)] += some[i];
}

void expectSame(const Sequence &found, const Sequence &wanted) {
  for (auto tensor : {&Sequence::out, &Sequence::lse, &Sequence::dq, &Sequence::dk, &Sequence::dv})
    for (size_t i = 0; i < (wanted.*tensor).size(); ++i)
      ASSERT_NEAR((found.*tensor)[i], (wanted.*tensor)[i], 1e-12) << "tensor of " << (wanted.*tensor).size() << ", " << i;
}

TEST(AttentionPieces, AllKeysAtHand) {
  Sequence wanted = Sequence::onOneRank();
  for (int64_t zigzag : {0, 3, 2}) { // of the ranks themselves, and of others
    SCOPED_TRACE("zigzag of " + std::to_string(zigzag));
    Sequence found;
    Numbers k = take(found.k, pieceFeatures, 0, size, zigzag), v = take(found.v, pieceValues, 0, size, zigzag);
    for (int64_t rank = 0; rank < members; ++rank) {
      int64_t first = rank * piece;
      Numbers q = take(found.q, pieceFeatures, first, piece, zigzag), dout = take(found.dout, pieceValues, first, piece, zigzag);
      Numbers out(piece * pieceValues), lse(piece), dq(piece * pieceFeatures), dk(size * pieceFeatures), dv(size * pieceValues);
      program::AttentionT forward = attentionOf(false, piece, size, {pieceFeatures, pieceFeatures, pieceValues, pieceValues, 1});
      program::AttentionT backward =
          attentionOf(true, piece, size,
                      {pieceFeatures, pieceFeatures, pieceValues, pieceValues, pieceValues, 1, pieceFeatures, pieceFeatures, pieceValues});
      for (program::AttentionT *each : {&forward, &backward})
        each->axes = {1}, each->zigzag = uint32_t(zigzag);
      run(forward, rank, {&q, &k, &v, &out, &lse});
      run(backward, rank, {&q, &k, &v, &out, &dout, &lse, &dq, &dk, &dv});
      addTo(found.out, out, pieceValues, first, zigzag), addTo(found.lse, lse, 1, first, zigzag),
          addTo(found.dq, dq, pieceFeatures, first, zigzag);
      addTo(found.dk, dk, pieceFeatures, 0, zigzag), addTo(found.dv, dv, pieceValues, 0, zigzag);
    }
    expectSame(found, wanted);
  }
}

TEST(AttentionPieces, RoundARing) {
  Sequence wanted = Sequence::onOneRank();
  for (int64_t zigzag : {0, 3}) {
    SCOPED_TRACE("zigzag of " + std::to_string(zigzag));
    Sequence found;
    for (int64_t rank = 0; rank < members; ++rank) {
      int64_t first = rank * piece;
      Numbers q = take(found.q, pieceFeatures, first, piece, zigzag), dout = take(found.dout, pieceValues, first, piece, zigzag);
      Numbers out(piece * pieceValues), lse(piece), before(piece * (pieceValues + 2)), after = before;
      auto keysAt = [&](int64_t step) { return (rank - step + members) % members * piece; };
      auto onRing = [&](program::AttentionT a, int64_t step) {
        a.axes = {1}, a.zigzag = uint32_t(zigzag), a.ring = true, a.step = uint32_t(step);
        return a;
      };
      for (int64_t step = 0; step < members; ++step) {
        Numbers k = take(found.k, pieceFeatures, keysAt(step), piece, zigzag), v = take(found.v, pieceValues, keysAt(step), piece, zigzag);
        bool begins = step == 0, ends = step == members - 1;
        std::vector<int64_t> columns = {pieceFeatures, pieceFeatures, pieceValues};
        std::vector<Numbers *> operands = {&q, &k, &v};
        if (!begins)
          columns.push_back(pieceValues + 2), operands.push_back(&before);
        for (Numbers *result : ends ? std::vector{&out, &lse} : std::vector{&after})
          columns.push_back(int64_t(result->size()) / piece), operands.push_back(result);
        program::AttentionT forward = onRing(attentionOf(false, piece, piece, columns), step);
        forward.continues = !begins, forward.unfinished = !ends;
        run(forward, rank, operands);
        std::swap(before, after);
      }
      addTo(found.out, out, pieceValues, first, zigzag), addTo(found.lse, lse, 1, first, zigzag);
      for (int64_t step = 0; step < members; ++step) {
        Numbers k = take(found.k, pieceFeatures, keysAt(step), piece, zigzag), v = take(found.v, pieceValues, keysAt(step), piece, zigzag);
        Numbers dq(piece * pieceFeatures), dk = dq, dv(piece * pieceValues);
        program::AttentionT backward = onRing(attentionOf(true, piece, piece,
                                                          {pieceFeatures, pieceFeatures, pieceValues, pieceValues, pieceValues, 1,
                                                           pieceFeatures, pieceFeatures, pieceValues}),
                                              step);
        backward.unfinished = true;
        run(backward, rank, {&q, &k, &v, &out, &dout, &lse, &dq, &dk, &dv});
        addTo(found.dq, dq, pieceFeatures, first, zigzag);
        addTo(found.dk, dk, pieceFeatures, keysAt(step), zigzag), addTo(found.dv, dv, pieceValues, keysAt(step), zigzag);
      }
    }
    expectSame(found, wanted);
  }
}

} // namespace
} // namespace npar::testing
