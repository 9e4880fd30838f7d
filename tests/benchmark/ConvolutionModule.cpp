// A C interface to npar's windowed products, to measure them from Python against another library: plain threads instead of the engine's
// workers. Used by convolutions.py.
#include "engine/product/Product.h"
#include "tests/benchmark/Team.h"

using namespace npar::engine;
using namespace npar::testing;

namespace {

/// Reads lists of numbers, each with its length first.
struct Reader {
  const int64_t *at;
  std::vector<int64_t> list() {
    int64_t count = *at++;
    std::vector<int64_t> all(at, at + count);
    at += count;
    return all;
  }
  OperandWalk walk() {
    OperandWalk walk{list(), {}};
    for (int64_t windows = *at++; windows > 0; --windows) {
      std::vector<int64_t> steps = list(), rest = list();
      walk.windows.push_back({rest.at(0), rest.at(1), std::move(steps), rest.at(2), rest.at(3)});
    }
    return walk;
  }
};

struct OwnConvolution {
  struct Part {
    Product product;
    int64_t a, b, c;
  };
  explicit OwnConvolution(int workers) : team(workers) {}
  std::vector<Part> parts;
  Team team;
  Memory shared;
  std::vector<Memory> own;
};

} // namespace

extern "C" {

/// `lists`: sizes of m, n and k; then of each operand its strides, the number of its windows, and of each window the steps and {size,
/// stride, before, spread}. Float32; C has no gaps. Null where NPAR_INSTRUCTIONS is not understood.
void *npar_convolution(const int64_t *lists, int64_t columns, int workers) {
  Result<InstructionSet> set = bestInstructionSet();
  if (!set.ok())
    return nullptr;
  Reader reader{lists};
  WindowedShape shape{reader.list(), reader.list(), reader.list(), reader.walk(), reader.walk()};
  auto *all = new OwnConvolution(workers);
  uint64_t sharedBytes = 0, ownBytes = 0;
  for (const WindowedPart &part : partsOf(shape, columns)) {
    if (part.isEmpty)
      continue;
    ProductShape planned{ProductType::F32, 0, 0, 0, 0, 0, columns};
    planned.walk(part, sizeof(float));
    all->parts.push_back({Product(planned, workers, *set), part.a * 4, part.b * 4, part.c * 4});
    sharedBytes = std::max(sharedBytes, all->parts.back().product.sharedBytes());
    ownBytes = std::max(ownBytes, all->parts.back().product.partBytes());
  }
  all->shared = pages(sharedBytes);
  for (int worker = 0; worker < workers; ++worker)
    all->own.push_back(pages(ownBytes));
  return all;
}

/// Rows to which nothing is added keep what they hold.
void npar_run(void *opaque, const char *a, const char *b, char *c) {
  auto *all = static_cast<OwnConvolution *>(opaque);
  for (const OwnConvolution::Part &part : all->parts)
    for (int64_t phase = 0; phase < part.product.phases(); ++phase) {
      std::atomic<int64_t> next{0};
      all->team.run([&](int worker) {
        for (int64_t at; (at = next++) < part.product.parts(phase);)
          part.product.run(phase, at, {a + part.a, b + part.b, c + part.c}, all->shared.get(), all->own[worker].get());
      });
    }
}

void npar_free(void *opaque) { delete static_cast<OwnConvolution *>(opaque); }
}
