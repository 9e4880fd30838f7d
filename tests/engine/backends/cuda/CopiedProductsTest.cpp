// Products whose matrices are copied to where their rows begin at even places, piece by piece: over libraries that stand in for CUDA's.
#include "engine/backends/cuda/library/CublasLt.h"
#include "engine/backends/cuda/library/DrawnNumbers.h"
#include "engine/backends/cuda/library/LibraryProduct.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using namespace engine::cuda;
using program::ElementType;

/// A device and the library on it.
struct Opened {
  Opened() : driver(*CudaDriver::open()), device(std::move(*CudaDevice::open(*driver, 0))), lt(*CublasLt::open()) {
    device->enter();
    EXPECT_EQ(lt->call().create(&library), LtCode::Success);
    EXPECT_EQ(device->cuda().call().streamCreate(&stream, streamNonBlocking), cuda::Code::Success);
  }
  ~Opened() {
    lt->call().destroy(library);
    device->cuda().call().streamDestroy(stream);
  }
  const CudaDriver *driver;
  std::unique_ptr<CudaDevice> device;
  const CublasLt *lt;
  Handle library = nullptr, stream = nullptr;
};

LibraryShape::Matrix matrixOf(bool turned, int64_t rows, int64_t columns, int64_t gap) {
  return {turned, (turned ? rows : columns) + gap, 0, 64};
}

/// Drawn numbers of a matrix where it has them, and 0xEE in its gaps.
class LaidOut {
public:
  LaidOut(const LibraryShape::Matrix &matrix, int64_t rows, int64_t columns, ElementType type, uint64_t seed)
      : matrix(matrix), rows(rows), columns(columns), bytesOf(program::sizeOf(type)), numbers(drawnNumbers(type, seed)) {
    auto lines = static_cast<size_t>(matrix.turned ? columns : rows), leading = static_cast<size_t>(matrix.leading);
    bytes.assign(lines * leading * bytesOf, 0xEE);
    each([&](size_t number, size_t place) { std::copy_n(&numbers[number % numbers.size()], bytesOf, &bytes[place]); });
  }
  /// The numbers alone, row by row.
  std::vector<uint8_t> dense() const {
    std::vector<uint8_t> found(static_cast<size_t>(rows * columns) * bytesOf);
    each([&](size_t number, size_t place) { std::copy_n(&bytes[place], bytesOf, &found[number]); });
    return found;
  }
  bool gapsAreLeft() const {
    std::vector<uint8_t> left = bytes;
    each([&](size_t, size_t place) { std::fill_n(&left[place], bytesOf, 0xEE); });
    return std::all_of(left.begin(), left.end(), [](uint8_t byte) { return byte == 0xEE; });
  }
  std::vector<uint8_t> bytes;

private:
  template <typename Body> void each(const Body &body) const {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        int64_t line = matrix.turned ? column : row, inLine = matrix.turned ? row : column;
        body(static_cast<size_t>(row * columns + column) * bytesOf, static_cast<size_t>(line * matrix.leading + inLine) * bytesOf);
      }
  }
  const LibraryShape::Matrix matrix;
  int64_t rows, columns;
  size_t bytesOf;
  std::vector<uint8_t> numbers;
};

/// Returns C computed by the first algorithm that the library offers, without its gaps, which are not written.
std::vector<uint8_t> multiplied(const Opened &on, const LibraryShape &shape, const RowCopies &copies, const CopyLimits &limits) {
  const Functions &call = on.device->cuda().call();
  std::unique_ptr<LibraryProduct> product = std::move(*LibraryProduct::make(*on.lt, on.library, shape, copies, limits));
  uint64_t room = product->copiedBytes() + 4096;
  std::vector<LtCandidate> candidates = *product->candidates(room);
  if (candidates.empty())
    return {};
  LaidOut operands[] = {
      {shape.a, shape.m, shape.k, shape.type, 1}, {shape.b, shape.k, shape.n, shape.type, 2}, {shape.c, shape.m, shape.n, shape.result, 3}};
  std::vector<DevicePointer> memory;
  for (const LaidOut &operand : operands) {
    memory.push_back(*on.device->allocate(operand.bytes.size(), "an operand"));
    EXPECT_TRUE(on.device->write(memory.back(), operand.bytes.data(), operand.bytes.size()).ok());
  }
  memory.push_back(*on.device->allocate(room, "a workspace"));
  EXPECT_TRUE(product->takes(candidates[0].algorithm, candidates[0].workspaceBytes));
  EXPECT_EQ(product->start(candidates[0].algorithm, memory[0], memory[1], memory[2], memory[3], candidates[0].workspaceBytes, on.stream),
            LtCode::Success);
  LaidOut &c = operands[2];
  void *staged = *on.device->allocatePinned(c.bytes.size(), "a result");
  EXPECT_EQ(call.copyOutAsync(staged, memory[2], c.bytes.size(), on.stream), cuda::Code::Success);
  EXPECT_EQ(call.streamSynchronize(on.stream), cuda::Code::Success);
  std::copy_n(static_cast<uint8_t *>(staged), c.bytes.size(), c.bytes.begin());
  on.device->releasePinned(staged);
  for (DevicePointer each : memory)
    on.device->release(each);
  EXPECT_TRUE(c.gapsAreLeft());
  return c.dense();
}

// All kinds of matrices at odd addresses, in one piece and in several with a smaller last one, have the bits of matrices at even addresses,
// which are not copied.
TEST(CopiedProducts, HaveTheBitsOfThoseThatAreNotCopied) {
  Opened on;
  RowCopies copies = *RowCopies::load(*on.device);
  for (int flags = 0; flags < 16; ++flags) {
    bool aTurned = flags & 1, bTurned = flags & 2, accumulate = flags & 4, wide = flags & 8;
    ElementType type = wide ? ElementType::F32 : ElementType::BF16;
    auto shapeOf = [&](bool even) {
      auto gap = [&](int64_t inLine) { return even ? -inLine & 7 : 2; };
      return LibraryShape{type,
                          type,
                          accumulate,
                          wide,
                          300,
                          37,
                          43,
                          1,
                          matrixOf(aTurned, 300, 43, gap(aTurned ? 300 : 43)),
                          matrixOf(bTurned, 43, 37, gap(bTurned ? 43 : 37)),
                          matrixOf(false, 300, 37, even ? 3 : 2)};
    };
    std::vector<uint8_t> plain = multiplied(on, shapeOf(true), copies, {0, 0});
    ASSERT_FALSE(plain.empty()) << flags;
    EXPECT_TRUE(plain == multiplied(on, shapeOf(false), copies, {1 << 20, 0})) << flags;
    CopyLimits tight{wide ? 150'000u : 75'000u, 0};
    EXPECT_TRUE(plain == multiplied(on, shapeOf(false), copies, tight)) << flags;
    EXPECT_LT(copiedPieces(shapeOf(false), tight)->rows, 300) << flags;
  }
}

// Copies are for rows at odd places in 16 bits and TF32, of products that are worth it and have room for pieces.
TEST(CopiedProducts, ArePlanned) {
  auto shapeOf = [](ElementType type, int64_t m, int64_t n, int64_t k, bool aTurned = false) {
    return LibraryShape{
        type, type, false, false, m, n, k, 1, matrixOf(aTurned, m, k, 0), matrixOf(true, k, n, 0), matrixOf(false, m, n, 0)};
  };
  CopyLimits limits;
  EXPECT_FALSE(copiedPieces(shapeOf(ElementType::BF16, 8192, 50304, 768), limits));
  EXPECT_FALSE(copiedPieces(shapeOf(ElementType::F32, 8192, 50257, 768), limits));
  EXPECT_FALSE(copiedPieces(shapeOf(ElementType::BF16, 64, 63, 64), limits));
  EXPECT_FALSE(copiedPieces(shapeOf(ElementType::BF16, 8192, 50257, 768), {1 << 20, 0}));
  std::optional<CopiedPieces> logits = copiedPieces(shapeOf(ElementType::BF16, 8192, 50257, 768), limits);
  ASSERT_TRUE(logits);
  EXPECT_TRUE(logits->c && !logits->a && logits->b); // with columns of zeros
  EXPECT_EQ(logits->whole.n, 50304);
  EXPECT_EQ(logits->rows, 2048);
  EXPECT_EQ(logits->whole.c.leading, 50304);
  EXPECT_EQ(logits->bytes(), 2048u * 50304 * 2 + 50304 * 768 * 2);
  std::optional<CopiedPieces> weights = copiedPieces(shapeOf(ElementType::BF16, 50257, 768, 8192, /*aTurned=*/true), limits);
  ASSERT_TRUE(weights);
  EXPECT_TRUE(weights->a && !weights->b && !weights->c);
  EXPECT_EQ(weights->rows, 16768);
  EXPECT_EQ(weights->whole.a.leading, 16768);
  EXPECT_EQ(weights->last.m, 50257 - 2 * 16768);
}

} // namespace
} // namespace npar::testing
