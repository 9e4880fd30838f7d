// A C interface to npar's and oneDNN's products, to measure them from Python against other libraries: plain threads instead of the engine's
// workers. Used by products.py.
#include "engine/product/Product.h"
#include "tests/benchmark/Team.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

using namespace npar::engine;
using namespace npar::testing;

namespace {

struct OwnProduct {
  OwnProduct(const ProductShape &shape, int workers, InstructionSet set)
      : product(shape, workers, set), team(workers), shared(pages(product.sharedBytes())) {
    for (int worker = 0; worker < workers; ++worker)
      own.push_back(pages(product.partBytes()));
  }
  Product product;
  Team team;
  Memory shared;
  std::vector<Memory> own;
};

struct OtherProduct {
  dnnl::engine engine;
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  dnnl::stream stream;
  int threads;
};

} // namespace

extern "C" {

/// Null where NPAR_INSTRUCTIONS is not understood. bf16 has the fastest order; the operands have no gaps between rows, and C is bf16 where
/// they are.
void *npar_product(int bf16, int64_t m, int64_t n, int64_t k, int aTransposed, int bTransposed, int workers) {
  Result<InstructionSet> set = bestInstructionSet();
  if (!set.ok())
    return nullptr;
  ProductShape shape{bf16 ? fastestBf16(*set) : ProductType::F32,
                     m,
                     n,
                     k,
                     aTransposed ? m : k,
                     bTransposed ? k : n,
                     n,
                     bool(aTransposed),
                     bool(bTransposed)};
  shape.result = bf16 ? ProductResult::BF16 : ProductResult::Sums;
  return new OwnProduct(shape, workers, *set);
}

void npar_run(void *opaque, const void *a, const void *b, void *c) {
  auto *own = static_cast<OwnProduct *>(opaque);
  for (int64_t phase = 0; phase < own->product.phases(); ++phase) {
    std::atomic<int64_t> next{0};
    own->team.run([&](int worker) {
      for (int64_t part; (part = next++) < own->product.parts(phase);)
        own->product.run(phase, part, {a, b, c}, own->shared.get(), own->own[worker].get());
    });
  }
}

void npar_free(void *opaque) { delete static_cast<OwnProduct *>(opaque); }

/// Null where oneDNN has none.
void *dnnl_product(int bf16, int64_t m, int64_t n, int64_t k, int aTransposed, int bTransposed, int threads) {
  using dnnl::memory;
  omp_set_num_threads(threads);
  auto type = bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  memory::desc a({m, k}, type, aTransposed ? memory::dims{1, m} : memory::dims{k, 1});
  memory::desc b({k, n}, type, bTransposed ? memory::dims{1, k} : memory::dims{n, 1});
  memory::desc c({m, n}, type, memory::dims{n, 1});
  try {
    dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), engine);
    return new OtherProduct{engine, description, dnnl::matmul(description), dnnl::stream(engine), threads};
  } catch (const dnnl::error &) {
    return nullptr;
  }
}

void dnnl_run(void *opaque, void *a, void *b, void *c) {
  auto *other = static_cast<OtherProduct *>(opaque);
  omp_set_num_threads(other->threads);
  other->primitive.execute(other->stream, {{DNNL_ARG_SRC, dnnl::memory(other->description.src_desc(), other->engine, a)},
                                           {DNNL_ARG_WEIGHTS, dnnl::memory(other->description.weights_desc(), other->engine, b)},
                                           {DNNL_ARG_DST, dnnl::memory(other->description.dst_desc(), other->engine, c)}});
  other->stream.wait();
}

void dnnl_free(void *opaque) { delete static_cast<OtherProduct *>(opaque); }
}
