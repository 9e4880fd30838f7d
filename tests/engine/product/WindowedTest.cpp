// Compares the bits of windowed products with their definition, element by element: random convolutions and their gradients, and random
// walks, on every instruction set of the processor and for several numbers of workers.
#include "engine/product/Product.h"
#include "tests/engine/product/FencedOperand.h"
#include "tests/engine/product/ProductDefinition.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <type_traits>

namespace npar::testing {
namespace {

using namespace engine;

using Sizes = std::vector<int64_t>;

int64_t countOf(const Sizes &sizes) { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }

Sizes positionsOf(int64_t index, const Sizes &sizes) {
  Sizes positions(sizes.size());
  for (size_t i = sizes.size(); i-- > 0; index /= sizes[i])
    positions[i] = index % sizes[i];
  return positions;
}

Sizes joined(Sizes first, const Sizes &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

enum class At { Element, Outside, NotWhole };

/// Where an element is in memory, as WindowedShape.h defines it.
At find(const OperandWalk &walk, const Sizes &x, int64_t &place) {
  auto along = [&x](const Sizes &factors) { return std::inner_product(x.begin(), x.end(), factors.begin(), int64_t{0}); };
  At at = At::Element;
  place = along(walk.strides);
  for (const Window &window : walk.windows) {
    int64_t above = along(window.steps) - window.before;
    if (above % window.spread != 0)
      return At::NotWhole;
    if (above < 0 || above / window.spread >= window.size)
      at = At::Outside;
    place += above / window.spread * window.stride;
  }
  return at;
}

int64_t elementsOf(const OperandWalk &walk, const Sizes &sizes) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    last += (sizes[i] - 1) * walk.strides[i];
  for (const Window &window : walk.windows)
    last += (window.size - 1) * window.stride;
  return last + 1;
}

template <class List> std::string text(const List &list) {
  std::string all;
  for (int64_t each : list)
    all += (all.empty() ? "" : " ") + std::to_string(each);
  return "[" + all + "]";
}

std::string text(const OperandWalk &walk) {
  std::string all = text(walk.strides);
  for (const Window &w : walk.windows)
    all += " {" + std::to_string(w.size) + " x " + std::to_string(w.stride) + " steps " + text(w.steps) + " before " +
           std::to_string(w.before) + " spread " + std::to_string(w.spread) + "}";
  return all;
}

std::string text(const WindowedShape &s) {
  return "m " + text(s.m) + " n " + text(s.n) + " k " + text(s.k) + " a " + text(s.a) + " b " + text(s.b);
}

/// A convolution: sizes of its image and window, and how it walks one axis.
struct Axis {
  int64_t in, window, stride, dilation, before, after, spread;
  int64_t out() const { return ((in - 1) * spread + 1 + before + after - (window - 1) * dilation - 1) / stride + 1; }
};

struct Convolution {
  int64_t samples, channels, filters;
  Axis y, x;
};

Window window(const Axis &axis, int64_t stride, Sizes steps) { return {axis.in, stride, std::move(steps), axis.before, axis.spread}; }

/// C[sample, y, x, filter]; the image's channels are last.
WindowedShape forward(const Convolution &c) {
  int64_t line = c.x.in * c.channels;
  OperandWalk image{
      {c.y.in * line, 0, 0, 0, 0, 1},
      {window(c.y, line, {0, c.y.stride, 0, c.y.dilation, 0, 0}), window(c.x, c.channels, {0, 0, c.x.stride, 0, c.x.dilation, 0})}};
  OperandWalk weights{{c.x.window * c.channels * c.filters, c.channels * c.filters, c.filters, 1}, {}};
  return {{c.samples, c.y.out(), c.x.out()}, {c.filters}, {c.y.window, c.x.window, c.channels}, image, weights};
}

/// The weights as other programs store them: [filter, channel, y, x].
WindowedShape forwardOfTorchWeights(const Convolution &c) {
  WindowedShape shape = forward(c);
  int64_t area = c.y.window * c.x.window;
  shape.b.strides = {c.x.window, 1, area, area * c.channels};
  return shape;
}

/// C[sample, y, x, channel], the image's gradient if nothing is spread: windows of the result's gradient, spread by the stride.
WindowedShape imageGradient(const Convolution &c) {
  int64_t rows = c.y.out(), columns = c.x.out(), line = columns * c.filters;
  OperandWalk gradient{{rows * line, 0, 0, 0, 0, 1},
                       {{rows, line, {0, 1, 0, -c.y.dilation, 0, 0}, -c.y.before, c.y.stride},
                        {columns, c.filters, {0, 0, 1, 0, -c.x.dilation, 0}, -c.x.before, c.x.stride}}};
  OperandWalk weights{{c.x.window * c.channels * c.filters, c.channels * c.filters, 1, c.filters}, {}};
  return {{c.samples, c.y.in, c.x.in}, {c.channels}, {c.y.window, c.x.window, c.filters}, gradient, weights};
}

/// C[y, x, channel, filter], a sum over samples and positions.
WindowedShape weightGradient(const Convolution &c) {
  int64_t line = c.x.in * c.channels;
  OperandWalk image{
      {0, 0, 1, c.y.in * line, 0, 0},
      {window(c.y, line, {c.y.dilation, 0, 0, 0, c.y.stride, 0}), window(c.x, c.channels, {0, c.x.dilation, 0, 0, 0, c.x.stride})}};
  int64_t rows = c.y.out(), columns = c.x.out();
  OperandWalk gradient{{rows * columns * c.filters, columns * c.filters, c.filters, 1}, {}};
  return {{c.y.window, c.x.window, c.channels}, {c.filters}, {c.samples, rows, columns}, image, gradient};
}

/// C[filter, y, x, channel]: windows of B, without spread.
WindowedShape weightGradientOfB(const Convolution &c) {
  WindowedShape shape = forward(c);
  int64_t rows = c.y.out(), columns = c.x.out();
  OperandWalk gradient{{1, rows * columns * c.filters, columns * c.filters, c.filters}, {}};
  return {shape.n, shape.k, shape.m, gradient, shape.a};
}

/// C[filter, y, x] of one sample whose channels are first: windows of B, without spread.
WindowedShape channelsFirst(const Convolution &c) {
  OperandWalk image{{c.y.in * c.x.in, 0, 0, 0, 0},
                    {window(c.y, c.x.in, {0, c.y.dilation, 0, c.y.stride, 0}), window(c.x, 1, {0, 0, c.x.dilation, 0, c.x.stride})}};
  int64_t area = c.y.window * c.x.window;
  OperandWalk weights{{c.channels * area, area, c.x.window, 1}, {}};
  return {{c.filters}, {c.y.out(), c.x.out()}, {c.channels, c.y.window, c.x.window}, weights, image};
}

struct Draw {
  std::mt19937 random;
  int64_t upTo(int64_t most) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most)); }
  bool oneOf(int64_t count) { return upTo(count) == 1; }

  Axis axis(bool spreads) {
    for (;;) {
      Axis axis{upTo(14), upTo(5), upTo(3), upTo(3), upTo(5) - 2, upTo(5) - 2, spreads ? upTo(3) : 1};
      if ((axis.in - 1) * axis.spread + 1 + axis.before + axis.after >= (axis.window - 1) * axis.dilation + 1)
        return axis;
    }
  }

  /// Now and then with enough channels for several blocks.
  Convolution convolution(bool spreads) {
    int64_t channels = oneOf(8) ? 200 + upTo(150) : oneOf(3) ? 32 * upTo(2) : upTo(9);
    return {upTo(2), channels, oneOf(4) ? 30 + upTo(40) : upTo(8), axis(spreads), axis(spreads)};
  }

  /// Any walk at all.
  WindowedShape walk() {
    WindowedShape shape;
    for (Sizes *sizes : {&shape.m, &shape.n, &shape.k})
      for (int64_t count = upTo(4) - 1; count > 0; --count)
        sizes->push_back(upTo(6));
    for (OperandWalk *operand : {&shape.a, &shape.b}) {
      size_t positions = shape.k.size() + (operand == &shape.a ? shape.m : shape.n).size();
      for (size_t i = 0; i < positions; ++i)
        operand->strides.push_back(oneOf(2) ? upTo(3) - 1 : upTo(40));
      for (int64_t count = upTo(3) - 1; count > 0; --count) {
        Window window{upTo(9), upTo(20) - 1, Sizes(positions), upTo(7) - 4, 1};
        for (int64_t &step : window.steps)
          step = oneOf(2) ? 0 : upTo(7) - 4;
        operand->windows.push_back(window);
      }
    }
    return shape;
  }

  WindowedShape shape(int kind) {
    switch (kind % 8) {
    case 0:
      return forward(convolution(false));
    case 1:
      return forward(convolution(true)); // a transposed convolution
    case 2:
      return imageGradient(convolution(false));
    case 3:
      return weightGradient(convolution(true));
    case 4:
      return channelsFirst(convolution(false));
    case 5:
      return forwardOfTorchWeights(convolution(false));
    case 6:
      return weightGradientOfB(convolution(false));
    default:
      return walk();
    }
  }
};

/// `In` is the type in memory, `T` that of sums.
template <class In, class T> struct WindowedRun {
  const WindowedShape &shape;
  ProductType type;
  bool accumulates;
  int64_t m, n, k, cStride;
  FencedOperand<In> a, b;
  std::vector<T> start;

  WindowedRun(const WindowedShape &shape, ProductType type, bool accumulates, std::mt19937 &random)
      : shape(shape), type(type), accumulates(accumulates), m(countOf(shape.m)), n(countOf(shape.n)), k(countOf(shape.k)), cStride(n + 3),
        a(size_t(elementsOf(shape.a, joined(shape.m, shape.k)))), b(size_t(elementsOf(shape.b, joined(shape.k, shape.n)))),
        start(size_t(m * cStride)) {
    std::normal_distribution<float> normal;
    for (FencedOperand<In> *operand : {&a, &b})
      for (size_t i = 0; i < operand->size; ++i)
        operand->data[i] = In(normal(random));
    for (T &each : start)
      each = T(normal(random));
  }

  T wide(In x) const {
    if constexpr (std::is_same_v<In, float>)
      return type == ProductType::TF32 ? engine::toTf32(x) : x;
    return T(x);
  }

  T sum(int64_t i, int64_t j) const {
    std::vector<T> left, right;
    for (int64_t each = 0; each < k; ++each) {
      Sizes ks = positionsOf(each, shape.k);
      int64_t inA = 0, inB = 0;
      At atA = find(shape.a, joined(positionsOf(i, shape.m), ks), inA), atB = find(shape.b, joined(ks, positionsOf(j, shape.n)), inB);
      if (atA == At::NotWhole)
        continue;
      left.push_back(atA == At::Element ? wide(a.data[inA]) : T(0));
      right.push_back(atB == At::Element ? wide(b.data[inB]) : T(0));
    }
    auto count = static_cast<int64_t>(left.size());
    auto factor = [](const std::vector<T> &factors) { return [&factors](int64_t at) { return factors[size_t(at)]; }; };
    if constexpr (std::is_same_v<In, engine::BFloat16>)
      return type == ProductType::BF16 ? groupsOf(count, factor(left), factor(right)) : pairsOf(count, factor(left), factor(right));
    else
      return chainOf<T>(count, factor(left), factor(right));
  }

  std::vector<T> definition() const {
    std::vector<T> result = start;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        T &c = result[size_t(i * cStride + j)];
        c = accumulates ? sum(i, j) + c : sum(i, j);
      }
    return result;
  }

  /// Runs the parts one after the other, the parts of a phase in descending order.
  std::vector<T> products(InstructionSet set, int workers) const {
    std::vector<T> result = start;
    for (const WindowedPart &part : partsOf(shape, cStride)) {
      T *c = result.data() + part.c;
      if (part.isEmpty) {
        for (int64_t row = 0; row < part.rows.count() && !accumulates; ++row)
          std::fill_n(c + part.rows.offset(row), n, T(0));
        continue;
      }
      ProductShape planned{type, 0, 0, 0, 0, 0, cStride};
      planned.accumulate = accumulates;
      planned.walk(part, sizeof(In));
      Product product(planned, workers, set);
      Guarded shared(product.sharedBytes()), own(product.partBytes());
      for (int64_t phase = 0; phase < product.phases(); ++phase)
        for (int64_t at = product.parts(phase) - 1; at >= 0; --at)
          product.run(phase, at, {a.data + part.a, b.data + part.b, c}, shared.memory.data, own.memory.data);
      EXPECT_TRUE(shared.whole() && own.whole()) << "scratch overrun";
    }
    return result;
  }

  void check() const {
    std::vector<T> expected = definition();
    for (InstructionSet set : availableInstructionSets())
      for (int workers : {1, 3}) {
        SCOPED_TRACE(std::string(wordOf(set)) + ", " + std::to_string(workers) + " workers, " + text(shape) +
                     (accumulates ? " accumulates" : ""));
        std::vector<T> found = products(set, workers);
        for (size_t i = 0; i < found.size(); ++i)
          ASSERT_TRUE(sameBits(found[i], expected[i])) << "at row " << i / size_t(cStride) << ", column " << i % size_t(cStride) << ": "
                                                       << double(found[i]) << ", defined as " << double(expected[i]);
      }
  }
};

/// Fewer unless NPAR_LONG is set. Shapes that the definition takes long to sum are left out.
template <class In, class T> void checkRandom(ProductType type) {
  const int cases = std::getenv("NPAR_LONG") ? 240 : 80;
  const int64_t work = std::getenv("NPAR_LONG") ? 1'000'000 : 200'000;
  Draw draw{std::mt19937(1 + unsigned(type))};
  for (int i = 0; i < cases && !::testing::Test::HasFailure();) {
    WindowedShape shape = draw.shape(i);
    if (countOf(shape.m) * countOf(shape.n) * countOf(shape.k) > work)
      continue;
    WindowedRun<In, T>(shape, type, draw.oneOf(3), draw.random).check();
    ++i;
  }
}

TEST(WindowedTest, float32) { checkRandom<float, float>(ProductType::F32); }
TEST(WindowedTest, float64) { checkRandom<double, double>(ProductType::F64); }
TEST(WindowedTest, bf16) { checkRandom<engine::BFloat16, float>(ProductType::BF16); }
TEST(WindowedTest, bf16Pairs) { checkRandom<engine::BFloat16, float>(ProductType::BF16Pairs); }
TEST(WindowedTest, float16) { checkRandom<engine::Float16, float>(ProductType::F16); }
TEST(WindowedTest, tf32) { checkRandom<float, float>(ProductType::TF32); }

/// Rows of B are read in place: over several blocks of k, partly outside of the image, with sums that are carried in C and in scratch.
TEST(WindowedTest, rowsOfBInPlace) {
  WindowedShape shape = weightGradientOfB({8, 32, 5, {15, 1, 1, 1, 0, 0, 1}, {15, 2, 1, 1, 1, 0, 1}});
  ProductShape planned{ProductType::F32, 0, 0, 0, 0, 0, countOf(shape.n)};
  planned.walk(partsOf(shape, countOf(shape.n)).front(), sizeof(float));
  EXPECT_FALSE(Product(planned, 1, InstructionSet::Plain).sharesPanels()) << "B is packed";
  std::mt19937 random(3);
  for (bool accumulates : {false, true})
    WindowedRun<float, float>(shape, ProductType::F32, accumulates, random).check();
}

/// A product without windows and with plain strides is one that packs its operands in place.
TEST(WindowedTest, plainOperandsAreNotWalked) {
  Convolution c{2, 5, 7, {6, 1, 1, 1, 0, 0, 1}, {4, 1, 1, 1, 0, 0, 1}};
  for (const WindowedShape &shape : {forward(c), imageGradient(c), weightGradient(c)}) {
    ProductShape planned{ProductType::F32, 0, 0, 0, 0, 0, countOf(shape.n)};
    std::vector<WindowedPart> parts = partsOf(shape, planned.cStride);
    ASSERT_EQ(parts.size(), 1u);
    planned.walk(parts.front(), 4);
    EXPECT_FALSE(planned.aWalk || planned.bWalk || planned.cRows) << text(shape);
  }
}

/// The gradient of a convolution with stride 2 multiplies a quarter of the pairs of image and window positions, and nothing for places that
/// no window of one position touches.
TEST(WindowedTest, zerosOfSpreadingAreNotMultiplied) {
  auto work = [](const Convolution &c) {
    int64_t all = 0;
    for (const WindowedPart &part : partsOf(imageGradient(c), c.channels))
      all += part.isEmpty ? 0 : countOf(part.shape.m) * countOf(part.shape.k);
    return all;
  };
  Axis three{8, 3, 2, 1, 1, 1, 1}, one{8, 1, 2, 1, 0, 0, 1};
  EXPECT_EQ(work({1, 1, 1, three, three}), 8 * 8 * 9 / 4);
  EXPECT_EQ(work({1, 1, 1, one, one}), 4 * 4);
}

} // namespace
} // namespace npar::testing
