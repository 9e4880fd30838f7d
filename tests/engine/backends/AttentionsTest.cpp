// Attention of a batch, forward and backward: correct for every layout of its operands in memory, the same bits for any number of workers.
#include "engine/backends/cpu/CpuBackend.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;

constexpr int64_t samples = 2, kvHeads = 2, group = 3, rows = 200, features = 37, valueColumns = 20;

/// [sample, row, key head, head of the group, column], as models have it.
size_t queryAt(int64_t sample, int64_t row, int64_t kvHead, int64_t head, int64_t column, int64_t columns) {
  return static_cast<size_t>((((sample * rows + row) * kvHeads + kvHead) * group + head) * columns + column);
}
/// [sample, row, key head, column]
size_t keyAt(int64_t sample, int64_t row, int64_t kvHead, int64_t column, int64_t columns) {
  return static_cast<size_t>(((sample * rows + row) * kvHeads + kvHead) * columns + column);
}
/// [sample, key head, head of the group, row]
size_t sumAt(int64_t sample, int64_t kvHead, int64_t head, int64_t row) {
  return static_cast<size_t>(((sample * kvHeads + kvHead) * group + head) * rows + row);
}

program::AttentionT attentionOf(bool gradient, bool causal) {
  program::AttentionT a;
  a.type = ElementType::F64;
  a.gradient = gradient, a.causal = causal, a.scale = 0.3;
  a.batch = {samples, kvHeads}, a.heads = group, a.rows = a.keys = rows, a.features = features, a.values = valueColumns;
  auto add = [&](std::vector<int64_t> batch, int64_t head, int64_t row) {
    a.strides.push_back(std::make_unique<program::AttentionStridesT>());
    a.strides.back()->batch = std::move(batch), a.strides.back()->head = head, a.strides.back()->row = row;
  };
  auto query = [&](int64_t columns) { add({rows * kvHeads * group * columns, group * columns}, columns, kvHeads * group * columns); };
  auto key = [&](int64_t columns) { add({rows * kvHeads * columns, columns}, 0, kvHeads * columns); };
  query(features), key(features), key(valueColumns), query(valueColumns);
  if (gradient)
    query(valueColumns);
  add({kvHeads * group * rows, group * rows}, rows, 1);
  if (gradient)
    query(features), key(features), key(valueColumns);
  return a;
}

std::vector<double> numbers(int64_t count, uint32_t seed) {
  std::vector<double> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = std::sin(double(i * 2654435761u % 1000003u + seed));
  return all;
}

struct Tensors {
  std::vector<double> q = numbers(samples * rows * kvHeads * group * features, 1), k = numbers(samples * rows * kvHeads * features, 2),
                      v = numbers(samples * rows * kvHeads * valueColumns, 3),
                      dout = numbers(samples * rows * kvHeads * group * valueColumns, 4);
  std::vector<double> out, lse, dq, dk, dv;
  Tensors() : out(dout.size()), lse(static_cast<size_t>(samples * kvHeads * group * rows)), dq(q.size()), dk(k.size()), dv(v.size()) {}
};

void run(const program::AttentionT &attention, const Spread &spread, std::vector<std::vector<double> *> operands) {
  program::ProgramT content;
  content.attentions.push_back(std::make_unique<program::AttentionT>(attention));
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  CpuBackend backend(spread);
  Status status = backend.load(*program::GetProgram(builder.GetBufferPointer()));
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<DeviceAddress> buffers;
  for (std::vector<double> *operand : operands)
    buffers.emplace_back(operand->data());
  ASSERT_TRUE(backend.runAttention(0, buffers.data(), buffers.size(), nullptr).ok());
}

Tensors computed(bool causal, const Spread &spread) {
  Tensors t;
  run(attentionOf(false, causal), spread, {&t.q, &t.k, &t.v, &t.out, &t.lse});
  run(attentionOf(true, causal), spread, {&t.q, &t.k, &t.v, &t.out, &t.dout, &t.lse, &t.dq, &t.dk, &t.dv});
  return t;
}

/// The textbook's attention, with the whole matrix of one head.
Tensors expected(bool causal) {
  Tensors t;
  for (int64_t s = 0; s < samples; ++s)
    for (int64_t h = 0; h < kvHeads; ++h)
      for (int64_t g = 0; g < group; ++g)
        for (int64_t i = 0; i < rows; ++i) {
          int64_t seen = causal ? i + 1 : rows;
          std::vector<double> p(static_cast<size_t>(seen));
          double sum = 0, dot = 0;
          for (int64_t j = 0; j < seen; ++j) {
            double score = 0;
            for (int64_t f = 0; f < features; ++f)
              score += t.q[queryAt(s, i, h, g, f, features)] * t.k[keyAt(s, j, h, f, features)];
            sum += p[size_t(j)] = std::exp(0.3 * score);
          }
          t.lse[sumAt(s, h, g, i)] = std::log(sum);
          for (int64_t f = 0; f < valueColumns; ++f) {
            double &out = t.out[queryAt(s, i, h, g, f, valueColumns)];
            for (int64_t j = 0; j < seen; ++j)
              out += p[size_t(j)] / sum * t.v[keyAt(s, j, h, f, valueColumns)];
            dot += out * t.dout[queryAt(s, i, h, g, f, valueColumns)];
          }
          for (int64_t j = 0; j < seen; ++j) {
            double probability = p[size_t(j)] / sum, gradient = 0;
            for (int64_t f = 0; f < valueColumns; ++f) {
              gradient += t.dout[queryAt(s, i, h, g, f, valueColumns)] * t.v[keyAt(s, j, h, f, valueColumns)];
              t.dv[keyAt(s, j, h, f, valueColumns)] += probability * t.dout[queryAt(s, i, h, g, f, valueColumns)];
            }
            double score = 0.3 * probability * (gradient - dot);
            for (int64_t f = 0; f < features; ++f) {
              t.dq[queryAt(s, i, h, g, f, features)] += score * t.k[keyAt(s, j, h, f, features)];
              t.dk[keyAt(s, j, h, f, features)] += score * t.q[queryAt(s, i, h, g, f, features)];
            }
          }
        }
  return t;
}

constexpr std::vector<double> Tensors::*results[] = {&Tensors::out, &Tensors::lse, &Tensors::dq, &Tensors::dk, &Tensors::dv};

TEST(Attentions, GroupsOfHeadsByStrides) {
  for (bool causal : {false, true}) {
    Tensors right = expected(causal), found = computed(causal, {});
    for (auto tensor : results)
      for (size_t i = 0; i < (right.*tensor).size(); ++i)
        ASSERT_NEAR((found.*tensor)[i], (right.*tensor)[i], 1e-11)
            << "causal " << causal << ", tensor of " << (right.*tensor).size() << ", " << i;
  }
}

TEST(Attentions, AnyNumberOfWorkersGivesTheSameBits) {
  Tensors one = computed(true, {1, false});
  for (int threads : {2, 3, 8}) {
    Tensors many = computed(true, {threads, true});
    for (auto tensor : results)
      EXPECT_EQ(std::memcmp((one.*tensor).data(), (many.*tensor).data(), (one.*tensor).size() * sizeof(double)), 0) << threads;
  }
}

TEST(Attentions, IntegersAreNotMultiplied) {
  program::ProgramT content;
  content.attentions.push_back(std::make_unique<program::AttentionT>(attentionOf(false, true)));
  content.attentions.back()->type = ElementType::I32;
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  CpuBackend backend(Spread{});
  EXPECT_EQ(backend.load(*program::GetProgram(builder.GetBufferPointer())).message(), "attention 0 is of i32, which is not multiplied");
}

} // namespace
} // namespace npar::testing
