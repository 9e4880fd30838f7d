// Compares grouped products (the rows of experts) with one dense product of the same rows, in turn on the CPU backend with all cores.
// Prints the dense rate and, as shares of it, the rates with equal groups and with one group that has three quarters of the rows. The sizes
// are those of a Mixtral of width 512. Usage: grouped_benchmark [--quick]
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/product/TileKernels.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace npar;
using namespace npar::engine;
using program::ElementType, program::Grouping;

namespace {

constexpr int64_t samples = 4, rows = 1024; ///< `rows`: of a sample

/// Tells what a product is for; `depth`: of its sums, the rows in the gradient of matrices.
struct Case {
  const char *name;
  Grouping grouping;
  bool transposedB;
  int64_t groups, in, out;
};

constexpr Case cases[] = {{"forward", Grouping::Rows, true, 8, 512, 1792},
                          {"forward, down", Grouping::Rows, true, 8, 1792, 512},
                          {"gradient of rows", Grouping::Rows, false, 8, 1792, 512},
                          {"gradient of matrices", Grouping::Depth, false, 8, 512, 1792},
                          {"forward", Grouping::Rows, true, 64, 512, 448},
                          {"gradient of rows", Grouping::Rows, false, 64, 448, 512},
                          {"gradient of matrices", Grouping::Depth, false, 64, 512, 448}};

program::MatmulT productOf(const Case &one, ElementType type, bool grouped) {
  program::MatmulT p;
  bool byRows = one.grouping == Grouping::Rows;
  int64_t height = grouped ? rows : samples * rows;
  p.type = type, p.result = byRows ? type : ElementType::F32;
  p.n = p.c_row = one.out;
  p.m = byRows ? height : one.in, p.k = byRows ? one.in : height;
  p.a_row = byRows ? one.in : 1, p.a_column = byRows ? 1 : one.in;
  p.b_row = one.transposedB ? 1 : one.out, p.b_column = one.transposedB ? one.in : 1;
  if (grouped) {
    p.grouping = one.grouping, p.batch = {samples, one.groups}, p.a_batch = {rows * one.in, 0};
    p.b_batch = byRows ? std::vector<int64_t>{0, one.in * one.out} : std::vector<int64_t>{rows * one.out, 0};
    p.c_batch = byRows ? std::vector<int64_t>{rows * one.out, 0} : std::vector<int64_t>{0, one.in * one.out};
  }
  return p;
}

program::ProductOrder fastestOrder() {
  Result<InstructionSet> set = bestInstructionSet();
  return set.ok() && fastestBf16(*set) == ProductType::BF16Pairs ? program::ProductOrder::Pairs : program::ProductOrder::Portable;
}

/// A backend that has the dense product and the grouped one.
struct Loaded {
  Loaded(const Case &one, ElementType type, int threads) : backend({threads, threads > 1}, fastestOrder()) {
    program::ProgramT content;
    for (bool grouped : {false, true})
      content.matmuls.push_back(std::make_unique<program::MatmulT>(productOf(one, type, grouped)));
    flatbuffers::FlatBufferBuilder builder;
    FinishProgramBuffer(builder, CreateProgram(builder, &content));
    good = backend.load(*program::GetProgram(builder.GetBufferPointer())).ok();
  }
  CpuBackend backend;
  bool good;
};

/// Bounds of groups, the same in each sample: the first one has `most` rows.
struct Ranges {
  Ranges(int64_t groups, int64_t most) {
    for (int64_t sample = 0; sample < samples; ++sample)
      for (int64_t group = 0; group < groups; ++group) {
        auto bound = [&](int64_t before) { return int32_t(before ? most + (rows - most) * (before - 1) / (groups - 1) : 0); };
        first.push_back(bound(group)), last.push_back(bound(group + 1));
      }
  }
  std::vector<int32_t> first, last;
};

template <typename Work> double secondsOf(Work work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void measure(const Case &one, ElementType type, int threads, int times) {
  Loaded loaded(one, type, threads);
  if (!loaded.good)
    return void(std::printf("%-22s does not load\n", one.name));
  std::vector<float> a(samples * rows * one.in, 1), b(std::max(one.groups * one.in, samples * rows) * one.out, 1),
      c(std::max(one.groups * one.in, samples * rows) * one.out);
  Ranges equal(one.groups, rows / one.groups), hot(one.groups, rows * 3 / 4);
  auto address = [](const void *memory) { return DeviceAddress(const_cast<void *>(memory)); };
  auto grouped = [&](const Ranges &ranges) {
    DeviceAddress buffers[] = {address(a.data()), address(b.data()), address(ranges.first.data()), address(ranges.last.data()),
                               address(c.data())};
    (void)loaded.backend.runGrouped(1, buffers);
  };
  double dense = 1e9, balanced = 1e9, unequal = 1e9;
  for (int i = 0; i < times; ++i) {
    dense = std::min(dense, secondsOf([&] { (void)loaded.backend.runMatmul(0, address(a.data()), address(b.data()), address(c.data())); }));
    balanced = std::min(balanced, secondsOf([&] { grouped(equal); }));
    unequal = std::min(unequal, secondsOf([&] { grouped(hot); }));
  }
  double operations = 2.0 * samples * rows * double(one.in) * double(one.out);
  std::printf("%-22s %-5s %2ld groups %4ldx%-4ld  dense %7.1f GFLOP/s   equal groups %3.0f %%   a hot group %3.0f %%\n", one.name,
              type == ElementType::F32 ? "f32" : "bf16", long(one.groups), long(one.in), long(one.out), 1e-9 * operations / dense,
              100 * dense / balanced, 100 * dense / unequal);
}

} // namespace

int main(int count, char **words) {
  bool quick = count > 1 && !std::strcmp(words[1], "--quick");
  int threads = std::max(1, int(std::thread::hardware_concurrency()));
  for (ElementType type : {ElementType::F32, ElementType::BF16})
    for (const Case &one : cases)
      measure(one, type, threads, quick ? 1 : 15);
}
