// Writes a variable from a source that is read by ranges: the requested ranges, for every cut, and the values written.
#include "engine/backends/Backends.h"
#include "engine/program/Pieces.h"
#include "engine/runtime/Arenas.h"
#include "engine/runtime/PieceRuns.h"
#include "engine/runtime/Session.h"
#include "engine/runtime/Variables.h"
#include "tests/engine/runtime/ProgramBuilder.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <mutex>
#include <numeric>

namespace npar::testing {
namespace {

using namespace engine;
using namespace program;

constexpr int64_t rows = 600, columns = 700; // more than three blocks of elements

/// Gives element i the value i, as float32, and keeps how often each was asked for.
struct Counting {
  std::vector<int> asked = std::vector<int>(rows * columns);
  std::mutex mutex;
  ElementSource source() {
    return {ElementType::F32, [this](uint64_t first, uint64_t count, uint8_t *elements) {
              std::lock_guard<std::mutex> lock(mutex);
              for (uint64_t i = 0; i < count; ++i) {
                ++asked[first + i];
                reinterpret_cast<float *>(elements)[i] = static_cast<float>(first + i);
              }
              return Status();
            }};
  }
};

/// A program that only keeps w [600, 700] on a mesh a = 2, b = 3, cut and padded over `first` and `second`, dealt out over `flat`.
std::unique_ptr<ProgramBuilder> keeping(std::vector<uint32_t> first, std::vector<uint32_t> second, std::vector<uint32_t> flat) {
  auto b = std::make_unique<ProgramBuilder>(std::vector<std::pair<std::string, uint32_t>>{{"a", 2}, {"b", 3}});
  uint32_t w = b->variable("w", VariableKind::Parameter, ElementType::F32, {rows, columns});
  auto ranksOf = [](const std::vector<uint32_t> &axes) {
    int64_t count = 1;
    for (uint32_t axis : axes)
      count *= axis == 0 ? 2 : 3;
    return count;
  };
  int64_t m = (rows + ranksOf(first) - 1) / ranksOf(first), n = (columns + ranksOf(second) - 1) / ranksOf(second);
  auto elements = static_cast<uint64_t>(m * n);
  if (!flat.empty())
    elements = flatShare(elements, static_cast<uint64_t>(ranksOf(flat)));
  ClassBuilder &c = b->rankClass("all", {});
  c.piece(w, c.fixed(elements * 4), {rows, columns}, {m, n}, {first, second});
  b->program.classes[0]->pieces[0]->flat_axes = flat;
  return b;
}

std::unique_ptr<Session> open(ProgramBuilder &b, int threads, std::vector<int64_t> ranks = {}) {
  SessionOptions options;
  options.threads = threads, options.ranks = std::move(ranks);
  auto session = Session::create(b.load(), options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return session.ok() ? std::move(*session) : nullptr;
}

TEST(WriteFromTest, everyCutReadsEachElementOnce) {
  std::vector<float> expected(rows * columns);
  std::iota(expected.begin(), expected.end(), 0.0f);
  using Axes = std::vector<uint32_t>;
  for (auto &[first, second, flat] : std::vector<std::tuple<Axes, Axes, Axes>>{
           {{}, {}, {}}, {{0}, {}, {}}, {{}, {1}, {}}, {{1}, {0}, {}}, {{}, {0}, {1}}, {{}, {}, {0, 1}}, {{1}, {}, {0}}}) {
    std::unique_ptr<Session> session = open(*keeping(first, second, flat), 2);
    ASSERT_TRUE(session);
    Counting counting;
    ASSERT_TRUE(session->writeFrom("w", counting.source()).ok());
    EXPECT_EQ(*session->readFloat("w"), expected);
    EXPECT_EQ(counting.asked, std::vector<int>(rows * columns, 1));
  }
}

// Elements that only ranks of other sessions keep are not read, except for small gaps between two ranges, as in rows of 700.
TEST(WriteFromTest, ranksReadWhatTheyKeep) {
  using Axes = std::vector<uint32_t>;
  for (auto &[first, second, flat, read] : std::vector<std::tuple<Axes, Axes, Axes, int64_t>>{
           {{0}, {}, {}, rows * columns / 2}, {{1, 0}, {}, {}, rows * columns / 6}, {{}, {}, {0}, 210944}, {{}, {0}, {}, 419300}}) {
    std::unique_ptr<ProgramBuilder> b = keeping(first, second, flat);
    std::shared_ptr<const LoadedProgram> program = b->load();
    auto backend = createBackend("cpu", {1, false});
    ASSERT_TRUE(program && backend.ok());
    Arenas arenas(**backend);
    ASSERT_TRUE(arenas.allocate(program->root(), {0}).ok());
    Variables variables(program->root(), arenas.all(), **backend, nullptr);
    Counting counting;
    ASSERT_TRUE(variables.write({0}, counting.source()).ok());
    EXPECT_EQ(std::accumulate(counting.asked.begin(), counting.asked.end(), int64_t{0}), read);
    EXPECT_EQ(*std::max_element(counting.asked.begin(), counting.asked.end()), 1);
  }
}

TEST(WriteFromTest, piecesNumberTheirRuns) {
  PieceRuns runs({{5, 3, 3}, {4, 2, 2}}, 0, UINT64_MAX); // the lower right 2 x 2 of 5 x 4, one row of padding
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs.at(0).logical, 14u);
  EXPECT_EQ(runs.at(1).logical, 18u);
  EXPECT_EQ(runs.at(1).local, 2u);
  EXPECT_EQ(runs.at(1).count, 2u);
  EXPECT_EQ(runs.elements(), 4u);
  EXPECT_EQ(runs.from(16), 1u);
  EXPECT_EQ(runs.from(20), 2u);
  PieceRuns share({{4, 4, 0}, {6, 3, 3}}, 4, 11); // the right half of 4 x 6, without the first four elements and the last
  ASSERT_EQ(share.size(), 3u);
  EXPECT_EQ(share.at(0).logical, 10u);
  EXPECT_EQ(share.at(0).count, 2u);
  EXPECT_EQ(share.at(0).local, 0u);
  EXPECT_EQ(share.at(2).logical, 21u);
  EXPECT_EQ(share.at(2).local, 5u);
  EXPECT_EQ(share.at(2).count, 2u);
  EXPECT_EQ(share.elements(), 7u);
  PieceRuns nothing({{4, 3, 6}, {6, 6, 0}}, 0, UINT64_MAX); // all of it is padding
  EXPECT_EQ(nothing.size(), 0u);
  EXPECT_EQ(nothing.elements(), 0u);
  PieceRuns second({{2, 2, 0}, {1, 1, 1}, {6, 6, 0}}, 0, UINT64_MAX); // an axis of one entry over two ranks: the second has padding alone
  EXPECT_EQ(second.size(), 0u);
  EXPECT_EQ(second.elements(), 0u);
}

// A rounding and its master are written from one reading, whatever type the source has.
TEST(WriteFromTest, mastersGetTheValuesAndParametersTheirRoundings) {
  ProgramBuilder b({{"dp", 1}});
  uint32_t w = b.variable("w", VariableKind::Parameter, ElementType::BF16, {2});
  uint32_t m = b.variable("w.master", VariableKind::State, ElementType::F32, {2}, 0);
  b.program.variables.back()->slot = "master";
  ClassBuilder &c = b.rankClass("all", {});
  c.piece(w, c.fixed(4), {2}, {2}, {{}}), c.piece(m, c.fixed(8), {2}, {2}, {{}});
  std::unique_ptr<Session> session = open(b, 1);
  ASSERT_TRUE(session);
  int calls = 0;
  ASSERT_TRUE(session
                  ->writeFrom("w", {ElementType::F64,
                                    [&](uint64_t, uint64_t, uint8_t *elements) {
                                      reinterpret_cast<double *>(elements)[0] = 1 + 0x1p-20, reinterpret_cast<double *>(elements)[1] = 2;
                                      ++calls;
                                      return Status();
                                    }})
                  .ok());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(*session->read("w"), (std::vector<double>{1, 2}));
  EXPECT_EQ(*session->read("w.master"), (std::vector<double>{1 + 0x1p-20, 2}));
  ASSERT_TRUE(session
                  ->writeFrom("w", {ElementType::F16,
                                    [&](uint64_t, uint64_t, uint8_t *elements) {
                                      const uint16_t halves[] = {0x3C01, 0xC000}; // 1 + 2^-10 and -2
                                      std::copy_n(reinterpret_cast<const uint8_t *>(halves), 4, elements);
                                      return Status();
                                    }})
                  .ok());
  EXPECT_EQ(*session->read("w.master"), (std::vector<double>{1 + 0x1p-10, -2}));
  EXPECT_EQ(*session->read("w"), (std::vector<double>{1, -2}));
}

// The reported failure is that of the first block, whatever the threads do.
TEST(WriteFromTest, theFirstFailureIsTold) {
  std::unique_ptr<Session> session = open(*keeping({}, {}, {}), 2);
  ASSERT_TRUE(session);
  ElementSource source = {ElementType::F32, [](uint64_t first, uint64_t, uint8_t *) {
                            return first == 0 ? Status() : Status::badInput("no element " + std::to_string(first));
                          }};
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(session->writeFrom("w", source).message(), "no element 131072");
  EXPECT_EQ(session->writeFrom("v", source).message(), "the program has no variable 'v'");
}

} // namespace
} // namespace npar::testing
