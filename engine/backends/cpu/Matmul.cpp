// A 2-D matrix product by oneDNN with given strides, made once per shape and run with the caller's scratch memory.
#include "engine/backends/cpu/Matmul.h"

#include "engine/backends/cpu/ConvertedMatmul.h"
#include "engine/numbers/NarrowFloat.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <tuple>
#include <unordered_map>

namespace npar::engine {

namespace {

using dnnl::memory;

/// A dimension of size 1 makes its stride arbitrary; oneDNN wants one that looks dense.
memory::desc describe(int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride) {
  if (rows == 1 && columnStride == 1)
    rowStride = std::max(columns, rowStride);
  else if (rows == 1)
    rowStride = 1;
  if (columns == 1 && rowStride != 1)
    columnStride = 1;
  else if (columns == 1)
    columnStride = std::max(rows, columnStride);
  return memory::desc({rows, columns}, memory::data_type::f32, memory::dims{rowStride, columnStride});
}

const dnnl::engine &cpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// What a worker needs to call the primitive: oneDNN's handles are not thread-safe, the primitive is.
struct Call {
  explicit Call(const dnnl::matmul::primitive_desc &description)
      : stream(cpuEngine()), a(description.src_desc(), cpuEngine(), nullptr), b(description.weights_desc(), cpuEngine(), nullptr),
        c(description.dst_desc(), cpuEngine(), nullptr),
        scratch(description.scratchpad_desc(), cpuEngine(), nullptr), arguments{{DNNL_ARG_SRC, a},
                                                                                {DNNL_ARG_WEIGHTS, b},
                                                                                {DNNL_ARG_DST, c},
                                                                                {DNNL_ARG_SCRATCHPAD, scratch}} {}
  dnnl::stream stream;
  memory a, b, c, scratch;
  std::unordered_map<int, memory> arguments;
};

class DnnlMatmul final : public Matmul {
public:
  explicit DnnlMatmul(const dnnl::matmul::primitive_desc &description)
      : description(description), primitive(description), calls([description] { return Call(description); }) {}

  uint64_t scratchBytes() const override { return (description.scratchpad_desc().get_size() + 63) / 64 * 64; }

  Status run(const void *a, const void *b, void *c, void *scratch) const override {
    try {
      Call &call = calls.local();
      call.a.set_data_handle(const_cast<void *>(a));
      call.b.set_data_handle(const_cast<void *>(b));
      call.c.set_data_handle(c);
      call.scratch.set_data_handle(scratch);
      primitive.execute(call.stream, call.arguments);
      return {};
    } catch (const dnnl::error &error) {
      return Status::runFailed(std::string("oneDNN: ") + error.what());
    }
  }

private:
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  mutable tbb::enumerable_thread_specific<Call> calls;
};

/// float64 for checks of products that reach the engine: oneDNN has none. Ascending k for every element.
class PlainMatmul final : public Matmul {
public:
  explicit PlainMatmul(const MatmulShape &shape) : shape(shape) {}
  uint64_t scratchBytes() const override { return 0; }
  Status run(const void *a, const void *b, void *c, void *) const override {
    auto *left = static_cast<const double *>(a), *right = static_cast<const double *>(b);
    auto *result = static_cast<double *>(c);
    for (int64_t i = 0; i < shape.m; ++i) {
      double *row = result + i * shape.cRow;
      if (!shape.accumulate)
        std::fill_n(row, shape.n, 0.0);
      for (int64_t k = 0; k < shape.k; ++k) {
        double factor = left[i * shape.aRow + k * shape.aColumn];
        for (int64_t j = 0; j < shape.n; ++j)
          row[j] += factor * right[k * shape.bRow + j * shape.bColumn];
      }
    }
    return {};
  }

private:
  MatmulShape shape;
};

auto keyOf(const MatmulShape &s) {
  return std::make_tuple(s.type, s.result, s.m, s.n, s.k, s.aRow, s.aColumn, s.bRow, s.bColumn, s.cRow, s.accumulate);
}

std::string describe(const MatmulShape &s) { return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k); }

} // namespace

static Result<std::shared_ptr<Matmul>> createLibraryMatmul(const MatmulShape &shape) {
  static std::mutex mutex;
  static std::map<decltype(keyOf(shape)), std::shared_ptr<Matmul>> made;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Matmul> &known = made[keyOf(shape)];
  if (known)
    return known;
  useOneOpenMpThread();
  try {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (shape.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
    dnnl::matmul::desc operation(describe(shape.m, shape.k, shape.aRow, shape.aColumn),
                                 describe(shape.k, shape.n, shape.bRow, shape.bColumn), describe(shape.m, shape.n, shape.cRow, 1));
    dnnl::matmul::primitive_desc description(operation, attributes, cpuEngine());
    known = std::make_shared<DnnlMatmul>(description);
    return known;
  } catch (const dnnl::error &error) {
    return Status::runFailed("oneDNN has no matrix product " + describe(shape) + " with these strides: " + error.what());
  }
}

Result<std::shared_ptr<Matmul>> Matmul::create(const MatmulShape &shape) {
  if (shape.m < 1 || shape.n < 1 || shape.k < 1)
    return Status::badInput("matrix product of size " + describe(shape) + " is empty");
  if ((shape.aRow != 1 && shape.aColumn != 1) || (shape.bRow != 1 && shape.bColumn != 1))
    return Status::badInput("matrix product " + describe(shape) + ": neither the row nor the column stride of an operand is 1");
  switch (shape.type) {
  case program::ElementType::F64:
    return std::shared_ptr<Matmul>(new PlainMatmul(shape));
  case program::ElementType::F32:
    return createLibraryMatmul(shape);
  // Not the library's own bf16 product: with it the bits of a plan (ZeRO-3 on 8 ranks) changed with the number of threads.
  case program::ElementType::BF16:
    return createConvertedMatmul<program::BFloat16>(shape);
  case program::ElementType::F16:
    return createConvertedMatmul<program::Float16>(shape);
  case program::ElementType::I32:
  case program::ElementType::U8:
    break;
  }
  return Status::badInput("matrix product " + describe(shape) + " is of " + wordOf(shape.type) + ", which is not multiplied");
}

void useOneOpenMpThread() { omp_set_num_threads(1); }

int64_t rowsPerPart(int64_t m, int parts) { return parts == 1 ? m : ((m + parts - 1) / parts + 15) / 16 * 16; }

uint64_t matmulWorkspace(const MatmulShape &shape) {
  uint64_t most = 0;
  for (int parts = 1; parts <= matmulMaxParts; ++parts) {
    int64_t rows = rowsPerPart(shape.m, parts);
    if (parts > 1 && rows * (parts - 1) >= shape.m)
      continue;
    MatmulShape piece = shape;
    piece.m = rows;
    uint64_t bytes = 0;
    if (Result<std::shared_ptr<Matmul>> whole = Matmul::create(piece); whole.ok())
      bytes = (*whole)->scratchBytes();
    piece.m = shape.m - rows * (parts - 1);
    if (Result<std::shared_ptr<Matmul>> last = Matmul::create(piece); last.ok())
      bytes = std::max(bytes, (*last)->scratchBytes());
    most = std::max(most, bytes * parts);
  }
  return most;
}

} // namespace npar::engine
