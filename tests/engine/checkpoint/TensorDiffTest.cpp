// The comparison of two stores finds the tensor that differs, by how much and where first, for values of any type and cut.
#include "engine/checkpoint/TensorDiff.h"

#include "engine/safetensors/SafetensorsWriter.h"
#include "tests/engine/checkpoint/SmallCheckpoint.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
using Kind = TensorDifference::Kind;

template <typename T> void set(MemoryCheckpoint &checkpoint, const std::string &name, size_t index, T value) {
  std::memcpy(checkpoint.bytesOf(name).data() + index * sizeof(T), &value, sizeof(T));
}
float get(MemoryCheckpoint &checkpoint, const std::string &name, size_t index) {
  float value;
  std::memcpy(&value, checkpoint.bytesOf(name).data() + index * sizeof(value), sizeof(value));
  return value;
}

StoreDifference compare(const TensorStore &left, const TensorStore &right) {
  Result<StoreDifference> result = compareStores(left, right);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *result;
}

TEST(TensorDiffTest, equalStores) {
  MemoryCheckpoint left, right;
  StoreDifference difference = compare(left, right);
  EXPECT_TRUE(difference.tensors.empty());
  EXPECT_EQ(difference.compared, 7u);
}

TEST(TensorDiffTest, theFirstPlaceAndTheLargestDifference) {
  MemoryCheckpoint left, right;
  set(left, "w", 11, 1.0f), set(right, "w", 11, std::nextafter(1.0f, 2.0f));
  set(left, "w", 40, 2.0f), set(right, "w", 40, 2.5f);
  StoreDifference difference = compare(left, right);
  ASSERT_EQ(difference.tensors.size(), 1u);
  const ValueDifference &values = difference.tensors[0].values;
  EXPECT_EQ(difference.tensors[0].name, "w");
  EXPECT_EQ(values.elements, 48u);
  EXPECT_EQ(values.differing, 2u);
  EXPECT_EQ(values.first, 11u);
  EXPECT_EQ(values.place, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(values.left, 1.0);
  EXPECT_EQ(values.largest, 0.5);
  EXPECT_EQ(values.relative, 0.2);
  EXPECT_EQ(values.ulps, uint64_t{1} << 21); // a quarter of the 2^23 steps from 2 to 4
}

TEST(TensorDiffTest, everyBitCounts) {
  MemoryCheckpoint left, right;
  set(left, "b", 0, 0.0f), set(right, "b", 0, -0.0f);
  ValueDifference values = compare(left, right).tensors.at(0).values;
  EXPECT_EQ(values.differing, 1u);
  EXPECT_EQ(values.largest, 0.0);
  EXPECT_EQ(values.ulps, 1u);
  set(right, "b", 0, 0.0f);
  set(left, "b", 39, NAN), set(right, "b", 39, NAN);
  EXPECT_TRUE(compare(left, right).tensors.empty()) << "the same NaN";
  set(right, "b", 39, INFINITY);
  values = compare(left, right).tensors.at(0).values;
  EXPECT_EQ(values.notNumbers, 1u);
  EXPECT_EQ(values.largest, 0.0);
  EXPECT_EQ(values.place, std::vector<int64_t>{39});
}

TEST(TensorDiffTest, signsAndExtremes) {
  MemoryCheckpoint left, right;
  set(left, "b", 0, -std::numeric_limits<float>::max()), set(right, "b", 0, std::numeric_limits<float>::max());
  EXPECT_EQ(compare(left, right).tensors.at(0).values.ulps, 2u * 0x7F7FFFFFu + 1);
  set(left, "scale", 0, -1e308), set(right, "scale", 0, 1e308);
  ValueDifference values = compare(left, right).tensors.at(1).values;
  EXPECT_EQ(values.place, std::vector<int64_t>{});
  EXPECT_TRUE(std::isinf(values.largest)) << "infinity, and no undefined behaviour";
}

TEST(TensorDiffTest, whatOnlyOneHasAndOtherShapes) {
  MemoryCheckpoint left, right;
  left.remove("b"), right.remove("half");
  std::string path = "/tmp/npar-diff-" + std::to_string(::getpid());
  StoreDifference difference = compare(left, right);
  ASSERT_EQ(difference.tensors.size(), 2u);
  EXPECT_EQ(difference.tensors[0].kind, Kind::OnlyRight);
  EXPECT_EQ(difference.tensors[1].kind, Kind::OnlyLeft);

  // A file with w in another shape, b in a wider type and the same values, scale as an integer.
  auto writer = SafetensorsWriter::create(path, {{"w", "F32", {8, 6}}, {"b.exp_avg", "F64", {40}}, {"scale", "I64", {}}});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->write(0, 0, right.bytesOf("w").data(), 192).ok());
  std::vector<double> wide(40);
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = get(right, "b.exp_avg", i);
  ASSERT_TRUE((*writer)->write(1, 0, wide.data(), 320).ok());
  ASSERT_TRUE((*writer)->write(2, 0, wide.data(), 8).ok());
  ASSERT_TRUE((*writer)->commit().ok());
  auto file = openTensorStore(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  difference = *compareStores(right, **file, [](const std::string &name) { return name != "b" && name != "empty" && name != "w.exp_avg"; });
  ::unlink(path.c_str());
  EXPECT_EQ(difference.otherType, std::vector<std::string>{"b.exp_avg"});
  ASSERT_EQ(difference.tensors.size(), 2u);
  EXPECT_EQ(difference.tensors[0].name, "scale");
  EXPECT_EQ(difference.tensors[0].kind, Kind::Shape) << "integers and floats are not compared";
  EXPECT_EQ(difference.tensors[1].name, "w");
  EXPECT_EQ(difference.tensors[1].kind, Kind::Shape);
}

} // namespace
} // namespace npar::testing
