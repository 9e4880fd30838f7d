// A C interface to npar's attention, to measure it from Python against PyTorch's: plain threads instead of the engine's workers. Used by
// attention.py.
#include "engine/attention/Attention.h"
#include "tests/benchmark/Team.h"

#include <algorithm>
#include <cmath>

using namespace npar::engine;
using namespace npar::testing;

namespace {

/// Heads of [heads, sequence, width] without gaps, each by itself.
struct Heads {
  Heads(const AttentionShape &shape, int64_t heads, int workers, InstructionSet set)
      : shape(shape), attention(shape, set), heads(heads), team(workers) {
    for (int i = 0; i < workers; ++i)
      scratch.push_back(pages(std::max(attention.forwardScratch(), attention.backwardScratch())));
  }

  /// Work is handed out item by item.
  void run(int64_t items, const std::function<void(int64_t item, void *scratch)> &each) {
    std::atomic<int64_t> next{0};
    team.run([&](int worker) {
      for (int64_t item; (item = next++) < items;)
        each(item, scratch[size_t(worker)].get());
    });
  }

  AttentionShape shape;
  Attention attention;
  int64_t heads;
  Team team;
  std::vector<Memory> scratch;
};

} // namespace

extern "C" {

/// Null where NPAR_INSTRUCTIONS is not understood. bf16 has the fastest order of products.
void *npar_attention(int bf16, int64_t heads, int64_t sequence, int64_t width, int causal, int workers) {
  Result<InstructionSet> set = bestInstructionSet();
  if (!set.ok())
    return nullptr;
  AttentionShape shape{};
  shape.type = bf16 ? fastestBf16(*set) : ProductType::F32, shape.queries = shape.keys = sequence, shape.width = shape.valueWidth = width;
  for (RowStrides *strides : {&shape.q, &shape.k, &shape.v, &shape.out, &shape.dout, &shape.dq, &shape.dk, &shape.dv})
    strides->row = width;
  shape.scale = 1 / std::sqrt(double(width)), shape.causal = causal;
  return new Heads(shape, heads, workers, *set);
}

/// q, k, v, out, and lse [heads, sequence] in float32.
void npar_forward(void *opaque, char *q, char *k, char *v, char *out, float *lse) {
  auto *own = static_cast<Heads *>(opaque);
  int64_t rows = own->shape.queries, bytes = rows * own->shape.width * (own->shape.type == ProductType::F32 ? 4 : 2);
  int64_t parts = own->attention.forwardParts();
  own->run(own->heads * parts, [&](int64_t item, void *scratch) {
    int64_t head = item / parts, at = head * bytes;
    own->attention.forward(int(item % parts), {q + at, k + at, v + at, out + at, lse + head * rows}, scratch);
  });
}

void npar_backward(void *opaque, char *q, char *k, char *v, char *out, float *lse, char *dout, char *dq, char *dk, char *dv) {
  auto *own = static_cast<Heads *>(opaque);
  int64_t rows = own->shape.queries, bytes = rows * own->shape.width * (own->shape.type == ProductType::F32 ? 4 : 2);
  own->run(own->heads, [&](int64_t head, void *scratch) {
    int64_t at = head * bytes;
    own->attention.backward({q + at, k + at, v + at, out + at, nullptr, dout + at, lse + head * rows, dq + at, dk + at, dv + at}, scratch);
  });
}

/// Bytes of scratch of all workers.
int64_t npar_scratch(void *opaque) {
  auto *own = static_cast<Heads *>(opaque);
  return int64_t(own->scratch.size() * std::max(own->attention.forwardScratch(), own->attention.backwardScratch()));
}

void npar_free(void *opaque) { delete static_cast<Heads *>(opaque); }
}
