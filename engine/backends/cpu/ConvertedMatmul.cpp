// Matrix products of 16-bit floats: blocks of the operands are converted, multiplied in float32, rounded once.
#include "engine/backends/cpu/ConvertedMatmul.h"

#include "engine/numbers/NarrowFloat.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace npar::engine {

namespace {

constexpr int64_t blockRows = 256, blockColumns = 256, blockDepth = 1024;

int64_t sizeOfBlock(int64_t size, int64_t block, int64_t begin) { return std::min(block, size - begin); }

/// A strided block of 16-bit floats as float32, dense along the dimension that has stride 1 (`inner`).
template <typename Narrow> void widen(const Narrow *from, int64_t outer, int64_t inner, int64_t stride, float *to) {
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < inner; ++j)
      to[i * inner + j] = static_cast<float>(from[i * stride + j]);
}

template <typename Narrow> class ConvertedMatmul final : public Matmul {
public:
  explicit ConvertedMatmul(const MatmulShape &shape) : shape(shape) {}

  /// Makes the float32 product of every block that `run` asks for: those after the first along k add to the sum.
  Status prepare() {
    uint64_t most = 0;
    for (int64_t m : sizes(shape.m, blockRows))
      for (int64_t n : sizes(shape.n, blockColumns))
        for (int64_t l = 0; l < shape.k; l += blockDepth) {
          Block block{m, n, sizeOfBlock(shape.k, blockDepth, l), l > 0};
          if (products.count(block))
            continue;
          Result<std::shared_ptr<Matmul>> product = Matmul::create(blockShape(block));
          if (!product.ok())
            return product.status();
          most = std::max(most, (*product)->scratchBytes());
          products[block] = *product;
        }
    scratch = most + sizeof(float) * (panel(blockRows, blockDepth, shape.m, shape.k) + panel(blockDepth, blockColumns, shape.k, shape.n) +
                                      panel(blockRows, blockColumns, shape.m, shape.n));
    return {};
  }

  uint64_t scratchBytes() const override { return (scratch + 63) / 64 * 64; }

  Status run(const void *a, const void *b, void *c, void *memory) const override {
    auto *left = static_cast<float *>(memory);
    float *right = left + panel(blockRows, blockDepth, shape.m, shape.k);
    float *sum = right + panel(blockDepth, blockColumns, shape.k, shape.n);
    float *rest = sum + panel(blockRows, blockColumns, shape.m, shape.n);
    for (int64_t j = 0; j < shape.n; j += blockColumns)
      for (int64_t i = 0; i < shape.m; i += blockRows) {
        int64_t m = sizeOfBlock(shape.m, blockRows, i), n = sizeOfBlock(shape.n, blockColumns, j);
        for (int64_t l = 0; l < shape.k; l += blockDepth) {
          int64_t k = sizeOfBlock(shape.k, blockDepth, l);
          load(static_cast<const Narrow *>(a) + i * shape.aRow + l * shape.aColumn, m, k, shape.aRow, shape.aColumn, left);
          load(static_cast<const Narrow *>(b) + l * shape.bRow + j * shape.bColumn, k, n, shape.bRow, shape.bColumn, right);
          const Matmul &product = *products.at({m, n, k, l > 0});
          if (Status status = product.run(left, right, sum, rest); !status.ok())
            return status;
        }
        int64_t offset = i * shape.cRow + j;
        if (shape.result == program::ElementType::F32)
          store(sum, m, n, static_cast<float *>(c) + offset);
        else
          store(sum, m, n, static_cast<Narrow *>(c) + offset);
      }
    return {};
  }

private:
  struct Block {
    int64_t m, n, k;
    bool accumulate;
    bool operator<(const Block &other) const {
      return std::tie(m, n, k, accumulate) < std::tie(other.m, other.n, other.k, other.accumulate);
    }
  };

  static std::vector<int64_t> sizes(int64_t size, int64_t block) {
    std::vector<int64_t> all{std::min(size, block)};
    if (size > block && size % block != 0)
      all.push_back(size % block);
    return all;
  }
  /// Elements of a panel, a whole number of cache lines.
  static uint64_t panel(int64_t blockRows, int64_t blockColumns, int64_t rows, int64_t columns) {
    return static_cast<uint64_t>((std::min(blockRows, rows) * std::min(blockColumns, columns) + 15) / 16 * 16);
  }
  MatmulShape blockShape(const Block &block) const {
    MatmulShape dense;
    dense.m = block.m, dense.n = block.n, dense.k = block.k, dense.accumulate = block.accumulate;
    bool aRows = shape.aColumn == 1, bRows = shape.bColumn == 1; // rows are what is contiguous
    dense.aRow = aRows ? block.k : 1, dense.aColumn = aRows ? 1 : block.m;
    dense.bRow = bRows ? block.n : 1, dense.bColumn = bRows ? 1 : block.k;
    dense.cRow = block.n;
    return dense;
  }
  static void load(const Narrow *from, int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride, float *to) {
    if (columnStride == 1)
      widen(from, rows, columns, rowStride, to);
    else
      widen(from, columns, rows, columnStride, to);
  }
  template <typename To> void store(const float *sum, int64_t m, int64_t n, To *c) const {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        To &target = c[i * shape.cRow + j];
        target = static_cast<To>(shape.accumulate ? static_cast<float>(target) + sum[i * n + j] : sum[i * n + j]);
      }
  }

  MatmulShape shape;
  std::map<Block, std::shared_ptr<Matmul>> products;
  uint64_t scratch = 0;
};

} // namespace

template <typename Narrow> Result<std::shared_ptr<Matmul>> createConvertedMatmul(const MatmulShape &shape) {
  auto product = std::make_shared<ConvertedMatmul<Narrow>>(shape);
  if (Status status = product->prepare(); !status.ok())
    return status;
  return std::shared_ptr<Matmul>(product);
}

template Result<std::shared_ptr<Matmul>> createConvertedMatmul<program::BFloat16>(const MatmulShape &shape);
template Result<std::shared_ptr<Matmul>> createConvertedMatmul<program::Float16>(const MatmulShape &shape);

} // namespace npar::engine
