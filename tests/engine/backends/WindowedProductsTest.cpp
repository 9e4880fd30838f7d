// Convolutions as windowed products of a program: they are what plain loops over images, filters and windows sum, in batches of groups too,
// with the same bits for every number of workers and every instruction set.
#include "engine/backends/cpu/CpuBackend.h"
#include "tests/engine/backends/Convolution.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;
using Kind = ConvolutionKind;

/// Calls `body` with the places of image, result and weight for every product that a convolution adds.
template <class Body> void forEachProduct(const Convolution &c, Body body) {
  const ConvolutionStrides s(c);
  for (int64_t n = 0; n < c.samples; ++n)
    for (int64_t y = 0; y < c.outY(); ++y)
      for (int64_t x = 0; x < c.outX(); ++x)
        for (int64_t v = 0; v < c.window; ++v)
          for (int64_t u = 0; u < c.windowX(); ++u) {
            int64_t row = y * c.stride + v * c.dilation - c.before, column = x * c.stride + u * c.dilation - c.before - 1;
            if (row < 0 || row >= c.image || column < 0 || column >= c.image)
              continue;
            for (int64_t g = 0; g < c.groups; ++g)
              for (int64_t f = 0; f < c.filters; ++f)
                for (int64_t i = 0; i < c.channels; ++i)
                  body(n * s.picture + row * s.line + column * s.pixel + g * c.channels + i,
                       n * s.all + y * s.row + x * s.result + g * c.filters + f,
                       (g * c.filters + f) * s.filter + v * s.taps + u * s.tap + i);
          }
}

template <typename T> std::vector<T> waves(int64_t count, uint32_t seed) {
  std::vector<T> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<T>(std::sin(double(i * 2654435761u % 1000003u + seed)));
  return all;
}

template <typename T>
std::vector<T> run(const program::MatmulT &product, const Spread &spread, const std::vector<T> &a, const std::vector<T> &b,
                   std::vector<T> c) {
  program::ProgramT content;
  content.matmuls.push_back(std::make_unique<program::MatmulT>(product));
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  CpuBackend backend(spread);
  Status status = backend.load(*program::GetProgram(builder.GetBufferPointer()));
  EXPECT_TRUE(status.ok()) << status.message();
  auto address = [](const void *memory) { return DeviceAddress(const_cast<void *>(memory)); };
  if (status.ok()) {
    EXPECT_TRUE(backend.runMatmul(0, address(a.data()), address(b.data()), address(c.data())).ok());
  }
  return c;
}

/// The operands of a kind, and what is in C before.
template <typename T> struct Operands {
  Operands(const Convolution &c, Kind kind) {
    std::vector<T> image = waves<T>(c.images(), 1), result = waves<T>(c.results(), 2), weights = waves<T>(c.weights(), 3);
    a = kind == Kind::Forward ? image : result;
    b = kind == Kind::WeightGradient ? image : weights;
    before = kind == Kind::Forward ? result : kind == Kind::ImageGradient ? image : weights;
  }
  std::vector<T> a, b, before;
};

TEST(WindowedProductsTest, areConvolutionsAndTheirGradients) {
  for (const Convolution &c : convolutions())
    for (Kind kind : {Kind::Forward, Kind::ImageGradient, Kind::WeightGradient}) {
      Operands<double> o(c, kind);
      std::vector<double> expected = o.before,
                          found = run(productOf(c, kind, ElementType::F64, ElementType::F64), {2, true}, o.a, o.b, o.before);
      if (!c.accumulates)
        std::fill(expected.begin(), expected.end(), 0);
      forEachProduct(c, [&](int64_t image, int64_t result, int64_t weight) {
        auto at = [](std::vector<double> &all, int64_t place) -> double & { return all[static_cast<size_t>(place)]; };
        if (kind == Kind::Forward)
          at(expected, result) += at(o.a, image) * at(o.b, weight);
        else if (kind == Kind::ImageGradient)
          at(expected, image) += at(o.a, result) * at(o.b, weight);
        else
          at(expected, weight) += at(o.a, result) * at(o.b, image);
      });
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 1e-11) << "kind " << int(kind) << ", image of " << c.image << ", element " << i;
    }
}

TEST(WindowedProductsTest, sameBitsForAnyWorkersAndInstructions) {
  Convolution large{2, 20, 3, 2, 1, 1, 1, 1, 32, 48}, grouped{2, 10, 3, 1, 1, 1, 1, 3, 8, 12};
  for (const Convolution &c : {large, grouped})
    for (Kind kind : {Kind::Forward, Kind::ImageGradient, Kind::WeightGradient}) {
      Operands<float> o(c, kind);
      std::vector<float> first;
      for (const char *set : {"plain", "avx2", "avx512", "tiles"})
        for (int threads : {1, 2, 4, 16}) {
          ::setenv("NPAR_INSTRUCTIONS", set, 1); // what the processor lacks is masked anyway
          std::vector<float> found =
              run(productOf(c, kind, ElementType::F32, ElementType::F32), {threads, threads > 1}, o.a, o.b, o.before);
          if (first.empty())
            first = found;
          EXPECT_EQ(std::memcmp(found.data(), first.data(), found.size() * 4), 0) << threads << " workers, " << set;
        }
      ::unsetenv("NPAR_INSTRUCTIONS");
    }
}

} // namespace
} // namespace npar::testing
