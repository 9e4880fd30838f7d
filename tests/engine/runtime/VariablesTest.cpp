// Parameters do not depend on the plan: initial values, reads, writes and the hash are the same however a tensor is cut, padded or
// replicated.
#include "engine/numbers/Philox.h"
#include "engine/program/Pieces.h"
#include "engine/runtime/Initialize.h"
#include "engine/runtime/Session.h"
#include "tests/engine/runtime/ProgramBuilder.h"

#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <xxhash.h>

namespace npar::testing {
namespace {

using namespace engine;
using namespace program;

// The known answers of the authors' Random123 distribution.
TEST(PhiloxTest, knownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox(Words{0, 0, 0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(Words{~0u, ~0u, ~0u, ~0u}, ~uint64_t{0}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(Words{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

/// 100,000 initial values; checks that any part alone is the same, and another one with another seed.
std::vector<double> drawn(InitKind kind, double number) {
  ProgramBuilder b({{"dp", 1}});
  b.variable("w", VariableKind::Parameter, ElementType::F32, {100000});
  b.program.variables[0]->init = kind, b.program.variables[0]->deviation = number;
  b.rankClass("all", {});
  std::vector<uint8_t> bytes = b.bytes();
  const Variable &w = *GetProgram(bytes.data() + LoadedProgram::headerBytes)->variables()->Get(0);
  std::vector<double> values(100000), part(7);
  initialValues(w, 5, 0, values.size(), values.data());
  initialValues(w, 5, 1233, 7, part.data());
  EXPECT_EQ(part, std::vector<double>(values.begin() + 1233, values.begin() + 1240));
  initialValues(w, 6, 1233, 7, part.data());
  EXPECT_NE(part, std::vector<double>(values.begin() + 1233, values.begin() + 1240));
  return values;
}

TEST(InitializeTest, normalHasItsMomentsAndAnyPartAlone) {
  double mean = 0, square = 0;
  for (double value : drawn(InitKind::Normal, 0.02))
    mean += value / 1e5, square += value * value / 1e5;
  EXPECT_NEAR(mean, 0, 3e-4);
  EXPECT_NEAR(std::sqrt(square), 0.02, 3e-4);
}

TEST(InitializeTest, uniformIsFlatAndAnyPartAlone) {
  std::vector<int> tenths(10); // of the range
  for (double value : drawn(InitKind::Uniform, 0.25)) {
    ASSERT_TRUE(value >= -0.25 && value < 0.25) << value;
    ++tenths[static_cast<size_t>((value + 0.25) * 20)];
  }
  for (int count : tenths)
    EXPECT_NEAR(count, 10000, 400); // four deviations
}

std::unique_ptr<Session> open(ProgramBuilder &b) {
  SessionOptions options;
  options.threads = 1, options.seed = 11;
  auto session = Session::create(b.load(), options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return session.ok() ? std::move(*session) : nullptr;
}

/// A program that only keeps w, of `shape`, on a mesh a = 2, b = 3, cut as asked: dimension 0 over `rows`, dimension 1 over `columns`.
std::unique_ptr<Session> keep(std::vector<uint32_t> rows, std::vector<uint32_t> columns, ElementType type = ElementType::F32,
                              std::vector<int64_t> shape = {5, 6}) {
  ProgramBuilder b({{"a", 2}, {"b", 3}});
  uint32_t w = b.variable("w", VariableKind::Parameter, type, shape);
  ClassBuilder &c = b.rankClass("all", {});
  auto local = [](int64_t size, const std::vector<uint32_t> &axes) {
    int64_t parts = 1;
    for (uint32_t axis : axes)
      parts *= axis == 0 ? 2 : 3;
    return (size + parts - 1) / parts;
  };
  int64_t m = local(shape[0], rows), n = local(shape[1], columns);
  c.piece(w, c.fixed(static_cast<uint64_t>(m * n) * (type == ElementType::F64 ? 8 : 4)), shape, {m, n}, {rows, columns});
  return open(b);
}

TEST(VariablesTest, cutsPaddingAndReplicasDoNotShow) {
  std::string hash;
  std::vector<double> values;
  for (int i = 0; i < 30; ++i)
    values.push_back(i - 7.5);
  using Axes = std::vector<uint32_t>;
  for (auto &[rows, columns] : std::vector<std::pair<Axes, Axes>>{
           {{}, {}}, {{0}, {}}, {{1}, {}}, {{}, {1}}, {{0}, {1}}, {{0, 1}, {}}, {{1, 0}, {}}, {{}, {1, 0}}, {{1}, {0}}}) {
    std::unique_ptr<Session> session = keep(rows, columns);
    ASSERT_TRUE(session);
    if (hash.empty())
      hash = session->parameterHash();
    EXPECT_EQ(session->parameterHash(), hash);
    ASSERT_TRUE(session->write("w", values).ok());
    EXPECT_EQ(*session->read("w"), values);
    EXPECT_EQ((*session->readFloat("w"))[29], 21.5f);
  }
}

/// A program that only keeps w [50, 61] on a mesh a = 2, b = 3, c = 2: dimension 1 cut over `columns`, the rest dealt out over `flat`.
std::unique_ptr<Session> keepShares(std::vector<uint32_t> columns, std::vector<uint32_t> flat) {
  ProgramBuilder b({{"a", 2}, {"b", 3}, {"c", 2}});
  uint32_t w = b.variable("w", VariableKind::Parameter, ElementType::F32, {50, 61});
  ClassBuilder &c = b.rankClass("all", {});
  const int64_t sizes[] = {2, 3, 2};
  int64_t parts = 1, ranks = 1;
  for (uint32_t axis : columns)
    parts *= sizes[axis];
  for (uint32_t axis : flat)
    ranks *= sizes[axis];
  int64_t n = (61 + parts - 1) / parts;
  uint64_t elements = flat.empty() ? 50 * n : flatShare(50 * n, ranks);
  c.piece(w, c.fixed(elements * 4), {50, 61}, {50, n}, {{}, columns});
  b.program.classes[0]->pieces[0]->flat_axes = flat;
  return open(b);
}

// Blocks end within rows and within runs.
TEST(VariablesTest, theHashOfMoreThanABlockIsThatOfTheWholeTensor) {
  std::vector<float> values(701 * 601);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i) - 7.5f;
  XXH128_hash_t whole = XXH3_128bits(values.data(), values.size() * sizeof(float));
  char expected[33];
  std::snprintf(expected, sizeof(expected), "%016llx%016llx", static_cast<unsigned long long>(whole.high64),
                static_cast<unsigned long long>(whole.low64));
  using Axes = std::vector<uint32_t>;
  for (auto &[rows, columns] : std::vector<std::pair<Axes, Axes>>{{{}, {}}, {{0}, {1}}, {{0, 1}, {}}, {{}, {1, 0}}}) {
    std::unique_ptr<Session> session = keep(rows, columns, ElementType::F32, {701, 601});
    ASSERT_TRUE(session && session->writeFloat("w", values).ok());
    EXPECT_EQ(session->parameterHash(), expected);
  }
}

TEST(VariablesTest, sharesDoNotShow) {
  std::string hash;
  std::vector<double> values;
  for (int i = 0; i < 50 * 61; ++i)
    values.push_back(i - 7.5);
  using Axes = std::vector<uint32_t>;
  for (auto &[columns, flat] : std::vector<std::pair<Axes, Axes>>{
           {{}, {}}, {{}, {0}}, {{}, {1}}, {{}, {1, 0}}, {{}, {0, 1, 2}}, {{0}, {1}}, {{1}, {0}}, {{1}, {2, 0}}, {{0, 2}, {1}}}) {
    std::unique_ptr<Session> session = keepShares(columns, flat);
    ASSERT_TRUE(session);
    if (hash.empty())
      hash = session->parameterHash();
    EXPECT_EQ(session->parameterHash(), hash);
    ASSERT_TRUE(session->write("w", values).ok());
    EXPECT_EQ(*session->read("w"), values);
  }
}

TEST(VariablesTest, sharesAreWholeBlocks) {
  EXPECT_EQ(flatShare(1, 4), 1024u);
  EXPECT_EQ(flatShare(4096, 4), 1024u);
  EXPECT_EQ(flatShare(4097, 4), 2048u);
  EXPECT_EQ(flatShare(5000, 1), 5120u);
}

// The hash is that of the float32 master, wherever it is stored: it distinguishes values that bf16 rounds to one.
TEST(VariablesTest, mastersAreHashed) {
  for (bool first : {true, false}) {
    ProgramBuilder b({{"dp", 1}});
    auto master = [&](int32_t of) {
      uint32_t index = b.variable("w.master", VariableKind::State, ElementType::F32, {2}, of);
      b.program.variables.back()->slot = "master";
      return index;
    };
    uint32_t m = first ? master(1) : 0, w = b.variable("w", VariableKind::Parameter, ElementType::BF16, {2});
    m = first ? m : master(0);
    ClassBuilder &c = b.rankClass("all", {});
    c.piece(w, c.fixed(4), {2}, {2}, {{}}), c.piece(m, c.fixed(8), {2}, {2}, {{}});
    std::unique_ptr<Session> session = open(b);
    ASSERT_TRUE(session);
    ASSERT_TRUE(session->write("w", {1, 2}).ok());
    std::string hash = session->parameterHash();
    ASSERT_TRUE(session->write("w", {1 + 0x1p-20, 2}).ok());
    EXPECT_EQ(*session->read("w"), (std::vector<double>{1, 2}));
    EXPECT_NE(session->parameterHash(), hash) << (first ? "master first" : "parameter first");
  }
}

TEST(VariablesTest, float64ParametersAreRoundedToFloat32Ones) {
  std::vector<double> wide = *keep({}, {}, ElementType::F64)->read("w"), narrow = *keep({}, {})->read("w");
  for (size_t i = 0; i < wide.size(); ++i)
    EXPECT_EQ(static_cast<float>(wide[i]), static_cast<float>(narrow[i]));
}

} // namespace
} // namespace npar::testing
