// Parameters that files keep as a tensor for each index of an axis: what their tensors are called, and which elements they have.
#include "engine/program/IndexedTensor.h"
#include "engine/program/Loader.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace program;

class IndexedTensorTest : public ::testing::Test {
protected:
  std::optional<IndexedTensor> of(const std::string &name, std::vector<std::pair<std::string, int64_t>> axes, std::vector<int64_t> stored) {
    ProgramT program;
    auto variable = std::make_unique<VariableT>();
    variable->name = name;
    for (const auto &[axis, size] : axes)
      variable->axes.push_back(axis), variable->shape.push_back(size);
    variable->stored = std::move(stored);
    program.variables.push_back(std::move(variable));
    bytes = packProgram(program);
    return indexedTensor(*GetProgram(bytes.data() + LoadedProgram::headerBytes)->variables()->Get(0));
  }
  std::vector<uint8_t> bytes;
};

TEST_F(IndexedTensorTest, theAxisInBracesIsTakenOut) {
  std::optional<IndexedTensor> first = of("e.{x}.w", {{"x", 3}, {"a", 2}, {"b", 5}}, {3, 10});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->name(2), "e.2.w");
  EXPECT_EQ(first->shape, (std::vector<int64_t>{10}));
  EXPECT_EQ(first->count, 3u);
  EXPECT_EQ(first->elements(), 10u);
  std::optional<IndexedTensor> middle = of("e.{x}", {{"a", 4}, {"x", 4}, {"b", 4}}, {4, 4, 4});
  ASSERT_TRUE(middle);
  EXPECT_EQ(middle->shape, (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(middle->inner, 4u);
  EXPECT_EQ(of("e.{x}", {{"one", 1}, {"x", 1}, {"b", 2}}, {1, 1, 2})->shape, (std::vector<int64_t>{1, 2}));
}

TEST_F(IndexedTensorTest, otherNamesAreOneTensor) {
  EXPECT_FALSE(of("e.x.w", {{"x", 3}}, {3}));
  EXPECT_FALSE(of("e.{y}.w", {{"x", 3}}, {3}));
  EXPECT_FALSE(of("e.{x", {{"x", 3}}, {3}));
  EXPECT_FALSE(of("e.{x}", {{"x", 3}, {"a", 2}}, {6})) << "joined with another axis";
}

// Each element of the parameter is in one tensor, at the place that both functions say.
TEST_F(IndexedTensorTest, elementsAreDealtOut) {
  std::optional<IndexedTensor> indexed = of("{x}", {{"a", 3}, {"x", 4}, {"b", 5}}, {3, 4, 5});
  ASSERT_TRUE(indexed);
  std::vector<int> seen(60);
  for (uint64_t index = 0; index < 4; ++index) {
    for (uint64_t element = 0; element < indexed->elements(); ++element) {
      uint64_t place = indexed->whole(index, element);
      EXPECT_EQ(place / 5 % 4, index);
      EXPECT_EQ(indexed->elementsBefore(index, place), element);
      EXPECT_EQ(indexed->elementsBefore(index, place + 1), element + 1);
      ++seen[place];
    }
    EXPECT_EQ(indexed->elementsBefore(index, 60), 15u);
  }
  EXPECT_EQ(seen, std::vector<int>(60, 1));
}

TEST_F(IndexedTensorTest, numbersAreTakenOutInAllWays) {
  std::vector<std::string> found;
  for (const NumberedName &each : numbersIn("a12.b07"))
    found.push_back(each.before + "|" + std::to_string(each.number) + "|" + each.after);
  EXPECT_EQ(found, (std::vector<std::string>{"a|1|2.b07", "a|12|.b07", "a1|2|.b07", "a12.b|0|7", "a12.b0|7|"}));
  EXPECT_TRUE(numbersIn("none").empty());
  EXPECT_EQ(numbersIn(std::string(100, '1')).size(), 9u * 92 + 36) << "of nine digits at most";
}

} // namespace
} // namespace npar::testing
