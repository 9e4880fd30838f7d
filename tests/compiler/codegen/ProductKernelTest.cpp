// Einsums, and the views that they read without copies, as generated code against plain C++ in double.
#include "engine/numbers/NarrowFloat.h"
#include "tests/compiler/codegen/KernelChecks.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace npar::codegen;

template <typename T> struct ProductKernel : testing::Test {};
TYPED_TEST_SUITE(ProductKernel, FloatAndDouble);

// Products in f32 are classified onto strides; in f64 they are generated. Both against four plain loops.
TYPED_TEST(ProductKernel, Einsum) {
  using T = TypeParam;
  std::string q = tensorText("batch=2 seq=5 head=3 feature=4", element(T())),
              k = tensorText("batch=2 key=5 head=3 feature=4", element(T())), s = tensorText("batch=2 head=3 seq=5 key=5", element(T())),
              w = tensorText("head=3 feature=4 embed=17", element(T())), y = tensorText("batch=2 seq=5 embed=17", element(T()));
  CompiledFunction f(function("%q: " + q + ", %k: " + k + ", %w: " + w, s + ", " + y + ", " + w,
                              "%s = nn.einsum %q, %k : (" + q + ", " + k + ") -> " + s + "\n%y = nn.einsum %q, %w : (" + q + ", " + w +
                                  ") -> " + y + "\n%g = nn.einsum %q, %y : (" + q + ", " + y + ") -> " + w + "\nreturn %s, %y, %g : " + s +
                                  ", " + y + ", " + w));
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(f.products, sizeof(T) == 4 ? 3 : 0);
  std::vector<T> a = to<T>(randomFloats(120)), b = to<T>(randomFloats(120, 1, 2)), c = to<T>(randomFloats(204, 1, 3));
  std::vector<double> scores(150, 0.0), out(170, 0.0), gradient(204, 0.0);
  for (int n = 0; n < 2; ++n)
    for (int h = 0; h < 3; ++h)
      for (int i = 0; i < 5; ++i)
        for (int d = 0; d < 4; ++d) {
          double x = a[((n * 5 + i) * 3 + h) * 4 + d];
          for (int j = 0; j < 5; ++j)
            scores[((n * 3 + h) * 5 + i) * 5 + j] += x * b[((n * 5 + j) * 3 + h) * 4 + d];
          for (int e = 0; e < 17; ++e)
            out[(n * 5 + i) * 17 + e] += x * c[(h * 4 + d) * 17 + e];
        }
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 12; ++j)
      for (int e = 0; e < 17; ++e)
        gradient[j * 17 + e] += double(a[i * 12 + j]) * out[i * 17 + e];
  std::vector<Buffer> results = f.run({a, b, c}, {0, 0, 1}, 2);
  expectNear(results[0].as<T>(), scores, tolerance<T>());
  expectNear(results[1].as<T>(), out, tolerance<T>());
  expectNear(results[2].as<T>(), gradient, tolerance<T>());
}

// An einsum that does not become a matrix product, here because its last axis is one of the batch, also rounds operands to TF32; infinities
// are kept.
TEST(KernelInTf32, Einsum) {
  std::string a = tensorText("m=3 k=20 batch=17", "f32"), b = tensorText("k=20 n=5 batch=17", "f32"),
              c = tensorText("m=3 n=5 batch=17", "f32");
  CompiledFunction f(
      function("%a: " + a + ", %b: " + b, c, "%c = nn.einsum %a, %b {tf32} : (" + a + ", " + b + ") -> " + c + "\nreturn %c : " + c));
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(f.products, 0);
  std::vector<float> x = randomFloats(3 * 20 * 17), y = randomFloats(20 * 5 * 17, 1, 2);
  x[0] = INFINITY, y[5] = std::ldexp(y[5], -135);
  std::vector<float> found = f.run({x, y}, {0, 0, 1}, 2)[0].as<float>();
  size_t other = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j)
      for (int n = 0; n < 17; ++n) {
        float sum = 0, plain = 0;
        for (int k = 0; k < 20; ++k) {
          float left = x[(i * 20 + k) * 17 + n], right = y[(k * 5 + j) * 17 + n];
          sum = std::fma(npar::engine::toTf32(left), npar::engine::toTf32(right), sum), plain = std::fma(left, right, plain);
        }
        ASSERT_EQ(found[(i * 5 + j) * 17 + n], sum) << i << ", " << j << ", " << n;
        other += sum != plain;
      }
  EXPECT_GT(other, 200u);
}

// Views: q, k and v of a joint projection need no copies in f32; their gradients are stacked.
TYPED_TEST(ProductKernel, SelectRenameStack) {
  using T = TypeParam;
  std::string x = tensorText("batch=2 seq=5 part=3 head=2 feature=4", element(T())),
              q = tensorText("batch=2 seq=5 head=2 feature=4", element(T())),
              k = tensorText("batch=2 key=5 head=2 feature=4", element(T())), s = tensorText("batch=2 head=2 seq=5 key=5", element(T()));
  CompiledFunction f(function(
      "%x: " + x, s + ", " + x,
      "%q = nn.select %x at \"part\"[0] : (" + x + ") -> " + q + "\n%k = nn.select %x at \"part\"[1] : (" + x + ") -> " + q +
          "\n%r = nn.rename %k from \"seq\" to \"key\" : (" + q + ") -> " + k + "\n%s = nn.einsum %q, %r : (" + q + ", " + k + ") -> " + s +
          "\n%v = nn.select %x at \"part\"[2] : (" + x + ") -> " + q + "\n%n = nn.scale %v by 2.0 : (" + q + ") -> " + q +
          "\n%z = nn.stack %n, %v, %n along \"part\" : (" + q + ", " + q + ", " + q + ") -> " + x + "\nreturn %s, %z : " + s + ", " + x));
  ASSERT_TRUE(f.ok());
  std::vector<T> input = to<T>(randomFloats(240));
  std::vector<double> scores(100, 0.0), stacked(240);
  auto at = [&](int n, int i, int p, int h, int d) { return (((n * 5 + i) * 3 + p) * 2 + h) * 4 + d; };
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 5; ++i)
      for (int h = 0; h < 2; ++h)
        for (int d = 0; d < 4; ++d) {
          for (int j = 0; j < 5; ++j)
            scores[((n * 2 + h) * 5 + i) * 5 + j] += double(input[at(n, i, 0, h, d)]) * input[at(n, j, 1, h, d)];
          for (int p = 0; p < 3; ++p)
            stacked[at(n, i, p, h, d)] = (p == 1 ? 1.0 : 2.0) * input[at(n, i, 2, h, d)];
        }
  std::vector<Buffer> results = f.run({input});
  expectNear(results[0].as<T>(), scores, tolerance<T>());
  expectNear(results[1].as<T>(), stacked, tolerance<T>());
}
