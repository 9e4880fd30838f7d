// Windowed products in a program: which are refused, and how they are printed.
#include "engine/program/PrintProgram.h"
#include "tests/engine/program/Refusals.h"
#include "tests/engine/program/TwoStages.h"

#include <functional>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace program;

/// A window of 2 over 5 entries with stride 2, which has 2 places: C[2, 2] = A[2, (2, 2)] B[(2, 2), 2]. A is [5, 2], B [2, 2, 2].
ProgramT windowed(const std::function<void(MatmulT &)> &change) {
  ProgramT program = twoStages();
  program.matmuls.push_back(std::make_unique<MatmulT>());
  MatmulT &matmul = *program.matmuls.back();
  matmul.m = matmul.n = matmul.c_row = 2, matmul.k = 4;
  matmul.windowed = std::make_unique<WindowedProductT>();
  WindowedProductT &w = *matmul.windowed;
  w.m = {2}, w.n = {2}, w.k = {2, 2};
  w.a = std::make_unique<WalkedOperandT>(), w.b = std::make_unique<WalkedOperandT>();
  w.a->strides = {0, 0, 1}, w.b->strides = {4, 2, 1};
  w.a->windows.push_back(std::make_unique<WindowT>());
  w.a->windows.back()->size = 5, w.a->windows.back()->stride = 2, w.a->windows.back()->steps = {2, 1, 0};
  change(matmul);
  addStep(program, *program.classes[0], 0, StepKind::Matmul, 0, {{0, 0, 40}, {2, 0, 32}}, {{1, 0, 16}}, {}, "product");
  return program;
}

TEST(WindowedProgram, IsAccepted) {
  for (const CheckResult &result : check(windowed([](MatmulT &) {})))
    EXPECT_TRUE(result.ok) << result.detail;
  auto spread = [](MatmulT &m) { m.windowed->a->windows[0]->spread = 3, m.windowed->a->windows[0]->before = -1; };
  for (const CheckResult &result : check(windowed(spread)))
    EXPECT_TRUE(result.ok) << result.detail;
}

TEST(WindowedProgram, WithImpossibleWindows) {
  const std::vector<std::function<void(MatmulT &)>> changes = {
      [](MatmulT &m) { m.windowed->m = {3}; },
      [](MatmulT &m) { m.windowed->n = {}; },
      [](MatmulT &m) {
        m.windowed->k = {2, 2, 1};
      },
      [](MatmulT &m) {
        m.windowed->k = {-2, -2};
      },
      [](MatmulT &m) { m.windowed->n = {2, 1, 1, 1, 1, 1, 1, 1, 1}, m.windowed->b->strides = {4, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1}; },
      [](MatmulT &m) {
        m.windowed->b->strides = {4, 2};
      },
      [](MatmulT &m) { m.a_row = 1; },
      [](MatmulT &m) { m.b_column = 1; },
      [](MatmulT &m) {
        m.batch = m.a_batch = m.b_batch = m.c_batch = {1, 1}, m.a_batch[1] = m.b_batch[1] = m.c_batch[1] = 0, m.grouping = Grouping::Depth;
      },
      [](MatmulT &m) { m.windowed->a->windows[0]->size = 0; },
      [](MatmulT &m) { m.windowed->a->windows[0]->stride = -2; },
      [](MatmulT &m) { m.windowed->a->windows[0]->spread = 0; },
      [](MatmulT &m) {
        m.windowed->a->windows[0]->steps = {2, 1};
      },
      [](MatmulT &m) { m.windowed->a->windows[0]->steps[0] = INT64_MIN; },
      [](MatmulT &m) { m.windowed->a->windows[0]->before = INT64_MAX; },
      [](MatmulT &m) { m.windowed->a->windows[0]->before = int64_t{1} << 60; },
      [](MatmulT &m) {
        m.windowed->a->windows[0]->spread = 2, m.windowed->a->windows[0]->steps = {2, 1, 1};
      },
      [](MatmulT &m) {
        m.windowed->a->windows[0]->spread = 2;
        m.windowed->a->windows.push_back(std::make_unique<WindowT>(*m.windowed->a->windows[0]));
      },
      [](MatmulT &m) {
        for (int i = 0; i < 2; ++i)
          m.windowed->a->windows.push_back(std::make_unique<WindowT>(*m.windowed->a->windows[0]));
      },
      [](MatmulT &m) {
        m.windowed->b->windows.push_back(std::make_unique<WindowT>(*m.windowed->a->windows[0]));
        m.windowed->b->windows[0]->spread = 2;
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE("change " + std::to_string(i));
    expectRefused(windowed(changes[i]), "well formed",
                  i == 8 ? "a grouped matrix product whose samples or groups are impossible"
                         : "a matrix product whose windows are impossible");
  }
}

TEST(WindowedProgram, BeyondItsOperands) {
  const std::vector<std::function<void(MatmulT &)>> changes = {
      [](MatmulT &m) { m.windowed->a->windows[0]->size = 6; }, [](MatmulT &m) { m.windowed->a->windows[0]->stride = 3; },
      [](MatmulT &m) { m.windowed->a->strides[2] = 2; },       [](MatmulT &m) { m.windowed->a->strides[0] = -1; },
      [](MatmulT &m) { m.windowed->b->strides[0] = 5; },       [](MatmulT &m) { m.c_row = 3; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE("change " + std::to_string(i));
    expectRefused(windowed(changes[i]), "well formed", "the matrix product reaches beyond its operands");
  }
}

TEST(WindowedProgram, Prints) {
  auto spread = [](MatmulT &m) { m.windowed->a->windows[0]->spread = 3, m.windowed->a->windows[0]->before = -1; };
  auto loaded = LoadedProgram::fromTables(windowed(spread));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::string text = printProgram((*loaded)->root());
  EXPECT_NE(text.find(", m [2], n [2], k [2, 2], a walks [0, 0, 1] {5 x 2, steps [2, 1, 0], before -1, spread 3}, b walks [4, 2, 1]"),
            std::string::npos)
      << text;
}

} // namespace
} // namespace npar::testing
