// Kernels on routed rows compute existing rows only: the numbers of elements that they write fall with the load.
#include "tests/compiler/codegen/KernelChecks.h"

using namespace npar::codegen;

namespace {

constexpr int64_t samples = 2, rows = 6, entries = 3, columns = 20;
constexpr float untouched = 7;
const std::string rowsType = tensorText("batch=2 expert.rows.row=6 hidden=20", "f32"),
                  weights = tensorText("expert=3 hidden=20 embed=4", "f32"), rangeType = tensorText("batch=2 expert=3", "i32"),
                  made = tensorText("batch=2 expert.rows.row=6 embed=4", "f32");

double silu(double x) { return x / (1 + std::exp(-x)); }

/// A kernel on rows that a grouped product takes; `more` reads %y.
std::string text(const std::string &more, const std::string &results, const std::string &types) {
  return function("%x: " + rowsType + ", %w: " + weights + ", %first: " + rangeType + ", %last: " + rangeType, types,
                  "%y = nn.silu %x : (" + rowsType + ") -> " + rowsType + "\n%z = nn.grouped %y, %w, %first, %last of \"expert\" along " +
                      "\"expert.rows.row\" : (" + rowsType + ", " + weights + ", " + rangeType + ", " + rangeType + ") -> " + made + "\n" +
                      more + "\nreturn " + results + " : " + types);
}

/// The buffers of the launch: rows, ends, and the result, all of whose elements are `untouched`.
std::vector<float> runWithEnds(const CompiledFunction::Launch &launch, const std::vector<float> &x, const std::vector<int32_t> &last,
                               int64_t split) {
  std::memcpy(launch.pointers[0], x.data(), x.size() * sizeof(float));
  std::memcpy(launch.pointers[1], last.data(), last.size() * sizeof(int32_t));
  auto *result = static_cast<float *>(launch.pointers[2]);
  std::fill_n(result, x.size(), untouched);
  const int64_t context[] = {0, 0, 1};
  for (int64_t i = 0; i < split; ++i)
    launch.kernel(launch.pointers.data(), context, launch.extent * i / split, launch.extent * (i + 1) / split);
  return {result, result + x.size()};
}

// The greatest end counts, also where the last entry has no row; ends outside of the rows change nothing else.
TEST(ExistingRowsTest, othersAreNotComputed) {
  CompiledFunction f(text("", "%y, %z", rowsType + ", " + made));
  ASSERT_TRUE(f.ok());
  CompiledFunction::Launch launch = f.prepare();
  ASSERT_EQ(launch.pointers.size(), 3u) << f.printed;
  std::vector<float> x = randomFloats(samples * rows * columns);
  struct Load {
    std::vector<int32_t> last;
    int64_t existing[samples];
  };
  for (const Load &load : {Load{{2, 4, 6, 1, 6, 6}, {6, 6}}, Load{{1, 2, 2, 0, 0, 0}, {2, 0}}, Load{{0, 0, 1, 3, 5, 0}, {1, 5}},
                           Load{{0, 0, 0, 0, 0, 0}, {0, 0}}, Load{{9, 0, 0, -4, -4, 2}, {6, 2}}})
    for (int64_t split : {1, 3, 5}) {
      std::vector<float> y = runWithEnds(launch, x, load.last, split);
      int64_t written = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        auto at = static_cast<int64_t>(i);
        bool exists = at / columns % rows < load.existing[at / columns / rows];
        if (exists)
          ASSERT_NEAR(y[i], silu(x[i]), 1e-6) << i;
        else
          ASSERT_EQ(y[i], untouched) << i;
        written += y[i] != untouched;
      }
      EXPECT_EQ(written, (load.existing[0] + load.existing[1]) * columns);
    }
}

// A sum over all rows reads the others, too, so they are zeros; silu is 0 there only because it is not computed of what x has.
TEST(ExistingRowsTest, othersAreZerosForSums) {
  std::string sums = tensorText("batch=2 hidden=20", "f32");
  CompiledFunction f(text("%s = nn.sum %y : (" + rowsType + ") -> " + sums, "%y, %z, %s", rowsType + ", " + made + ", " + sums));
  ASSERT_TRUE(f.ok());
  std::vector<float> x = randomFloats(samples * rows * columns);
  std::vector<int32_t> first = {0, 1, 2, 0, 0, 0}, last = {1, 2, 4, 0, 0, 0};
  for (int64_t split : {1, 4}) {
    std::vector<Buffer> results = f.run({x, randomFloats(entries * columns * 4), first, last}, {0, 0, 1}, split);
    std::vector<double> y(x.size()), s(samples * columns);
    for (int64_t row = 0; row < 4; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        y[row * columns + column] = silu(x[row * columns + column]);
        s[column] += y[row * columns + column];
      }
    expectNear(results[0].as<float>(), y, 1e-6);
    expectNear(results[2].as<float>(), s, 1e-6);
    for (float zero : {results[0].as<float>()[4 * columns], results[0].as<float>().back(), results[2].as<float>().back()})
      EXPECT_EQ(zero, 0);
  }
}

// The gradient of a table that rows look up skips the others, so they need not be zeros: here they are NaN.
TEST(ExistingRowsTest, sumsIntoATableSkipOthers) {
  std::string table = tensorText("bin=4 hidden=20", "f32"), numbers = tensorText("batch=2 expert.rows.row=6", "i32");
  std::string all = rowsType + ", " + made + ", " + table;
  std::string arguments = "%x: " + rowsType + ", %w: " + weights + ", %first: " + rangeType + ", %last: " + rangeType + ", %n: " + numbers;
  CompiledFunction f(function(arguments, all,
                              "%y = nn.silu %x : (" + rowsType + ") -> " + rowsType + "\n%z = nn.grouped %y, %w, %first, %last of " +
                                  "\"expert\" along \"expert.rows.row\" : (" + rowsType + ", " + weights + ", " + rangeType + ", " +
                                  rangeType + ") -> " + made + "\n%t = nn.scatter_add %n, %y over \"bin\" : (" + numbers + ", " + rowsType +
                                  ") -> " + table + "\nreturn %y, %z, %t : " + all));
  ASSERT_TRUE(f.ok());
  std::vector<int32_t> first = {0, 1, 2, 0, 0, 0}, last = {1, 2, 4, 1, 0, 0}, bins = {3, 0, 0, 1, 0, 0, /**/ 3, 1, 2, 2, 0, 1};
  const int64_t existing[samples] = {4, 1};
  std::vector<float> x = randomFloats(samples * rows * columns);
  std::vector<double> t(4 * columns);
  for (size_t i = 0; i < x.size(); ++i) {
    auto row = static_cast<int64_t>(i) / columns;
    if (row % rows < existing[row / rows])
      t[bins[row] * columns + static_cast<int64_t>(i) % columns] += silu(x[i]);
    else
      x[i] = std::nanf("");
  }
  std::vector<Buffer> results = f.run({x, randomFloats(entries * columns * 4), first, last, bins});
  expectNear(results[2].as<float>(), t, 1e-6);
  EXPECT_TRUE(std::isnan(results[0].as<float>().back()));
}

// Rows in pieces for the ranks that get them, before they move: 4 entries in pieces of 2, so the last piece has none, and the next sample's
// first piece has the ends that follow.
TEST(ExistingRowsTest, piecesHaveEntriesOfTheirOwn) {
  std::string row = "expert.rows.row.local", here = "tensor<2x12x20xf32, #dist.layout<batch : 6 {ep}, " + row + " : 12, hidden : 20>>",
              there = "tensor<6x4x20xf32, #dist.layout<batch : 6, " + row + " : 12 {ep}, hidden : 20>>",
              ends = "tensor<2x4xi32, #dist.layout<batch : 6 {ep}, expert : 4>>",
              others = "tensor<6x2xi32, #dist.layout<batch : 6, expert : 4 {ep}>>";
  CompiledFunction f("module attributes {dist.mesh = #dist.mesh<ep = 3>} { func.func @f(%x: " + here + ", %a: " + ends + ", %b: " + others +
                     ") -> " + there + " {\n%y = nn.silu %x : (" + here + ") -> " + here + "\n%z = dist.all_to_all %y ends(%a, %b : " +
                     ends + ", " + others + ") {axes = [\"ep\"], concat = \"batch\", split = \"" + row + "\", places = 4 : i64} : " + here +
                     " -> " + there + "\nreturn %z : " + there + "\n} }");
  ASSERT_TRUE(f.ok());
  CompiledFunction::Launch launch = f.prepare();
  ASSERT_EQ(launch.pointers.size(), 3u) << f.printed;
  std::vector<float> x = randomFloats(2 * 12 * columns);
  std::vector<float> y = runWithEnds(launch, x, {1, 3, 0, 0, /**/ 4, 0, 0, 2}, 5);
  const int64_t existing[2][3] = {{3, 0, 0}, {4, 2, 0}};
  for (size_t i = 0; i < y.size(); ++i) {
    auto at = static_cast<int64_t>(i) / columns;
    bool exists = at % 4 < existing[at / 12][at / 4 % 3];
    ASSERT_NEAR(y[i], exists ? silu(x[i]) : untouched, 1e-6) << i;
  }
}

} // namespace
