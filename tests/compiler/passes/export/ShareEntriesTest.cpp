// Tests that export shares equal entries of the tables and no others.
#include "compiler/passes/export/ShareEntries.h"

#include <functional>
#include <gtest/gtest.h>

namespace npar::compiler {
namespace {

using namespace program;

/// C[2, 2] = A[2, (2, 2)] B[(2, 2), 2], where a window of 2 walks 5 entries of A.
std::unique_ptr<MatmulT> windowed() {
  auto matmul = std::make_unique<MatmulT>();
  matmul->m = matmul->n = matmul->c_row = 2, matmul->k = 4;
  matmul->windowed = std::make_unique<WindowedProductT>();
  WindowedProductT &w = *matmul->windowed;
  w.m = {2}, w.n = {2}, w.k = {2, 2};
  w.a = std::make_unique<WalkedOperandT>(), w.b = std::make_unique<WalkedOperandT>();
  w.a->strides = {0, 0, 1}, w.b->strides = {4, 2, 1};
  w.a->windows.push_back(std::make_unique<WindowT>());
  w.a->windows.back()->size = 5, w.a->windows.back()->stride = 2, w.a->windows.back()->steps = {2, 1, 0};
  return matmul;
}

/// Entries of a program that multiplies by the product and by the changed one.
size_t entriesWith(const std::function<void(MatmulT &)> &change) {
  ProgramT program;
  program.labels.push_back(std::make_unique<LabelT>());
  program.matmuls.push_back(windowed());
  program.matmuls.push_back(windowed());
  change(*program.matmuls.back());
  program.classes.push_back(std::make_unique<RankClassT>());
  program.classes[0]->fragments.push_back(std::make_unique<FragmentT>());
  for (uint32_t number : {0, 1}) {
    Step step;
    step.mutate_kind(StepKind::Matmul);
    step.mutate_payload(number);
    program.classes[0]->fragments[0]->steps.push_back(step);
  }
  shareEntries(program);
  return program.matmuls.size();
}

TEST(ShareEntries, ProductsWithAnotherWalkAreTwo) {
  EXPECT_EQ(entriesWith([](MatmulT &) {}), 1u);
  const std::vector<std::function<void(MatmulT &)>> changes = {
      [](MatmulT &m) { m.windowed->a->windows[0]->before = 2; },
      [](MatmulT &m) { m.windowed->a->windows[0]->size = 6; },
      [](MatmulT &m) { m.windowed->a->windows[0]->stride = 3; },
      [](MatmulT &m) { m.windowed->a->windows[0]->spread = 2; },
      [](MatmulT &m) { m.windowed->a->windows[0]->steps[1] = -1; },
      [](MatmulT &m) { m.windowed->a->windows.clear(); },
      [](MatmulT &m) { m.windowed->a->strides[2] = 3; },
      [](MatmulT &m) { m.windowed->b->strides[0] = 6; },
      [](MatmulT &m) {
        m.windowed->k = {4, 1};
      },
      [](MatmulT &m) {
        m.windowed->m = {1, 2};
      },
      [](MatmulT &m) {
        m.windowed->n = {2, 1};
      },
      [](MatmulT &m) { m.windowed = nullptr; },
  };
  for (size_t i = 0; i < changes.size(); ++i)
    EXPECT_EQ(entriesWith(changes[i]), 2u) << "change " << i;
}

} // namespace
} // namespace npar::compiler
