// Arrays of a host, of every type and with any strides, against elements that are addressed one by one.
#include "engine/runtime/BorrowedArrays.h"

#include <gtest/gtest.h>
#include <limits>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;

/// The integers 0 to 23 in memory of any type, and views of them.
template <typename T> struct Numbers {
  std::vector<T> values;
  Numbers() {
    for (int i = 0; i < 24; ++i)
      values.push_back(static_cast<T>(static_cast<float>(i)));
  }
  BorrowedArray view(ArrayType type, int64_t first, std::vector<int64_t> shape, std::vector<int64_t> strides) {
    return {values.data() + first, type, std::move(shape), std::move(strides)};
  }
};

/// A view of the numbers 0 to 23: the number of its first element, sizes and strides.
struct View {
  const char *name;
  int64_t first;
  std::vector<int64_t> shape, strides;

  /// The elements in row-major order; the number at a place is the place itself.
  std::vector<double> elements() const {
    std::vector<double> all;
    for (int64_t i = 0; i < shape[0]; ++i)
      for (int64_t j = 0; j < shape[1]; ++j)
        all.push_back(static_cast<double>(first + i * strides[0] + j * strides[1]));
    return all;
  }
};

const View views[] = {{"row-major", 0, {4, 6}, {6, 1}},    {"transposed", 0, {6, 4}, {1, 6}},    {"part", 7, {3, 4}, {6, 1}},
                      {"backwards", 23, {4, 6}, {-6, -1}}, {"repeated", 3, {5, 4}, {0, 1}},      {"every second", 1, {3, 3}, {8, 2}},
                      {"one row", 6, {1, 6}, {99, 1}},     {"one column", 5, {4, 1}, {6, -1000}}};

template <typename Check> void forEachType(Check check) {
  check(ArrayType::F64, double{}), check(ArrayType::F32, float{}), check(ArrayType::F16, Float16{}), check(ArrayType::BF16, BFloat16{});
  check(ArrayType::I64, int64_t{}), check(ArrayType::I32, int32_t{}), check(ArrayType::I16, int16_t{}), check(ArrayType::I8, int8_t{});
  check(ArrayType::U64, uint64_t{}), check(ArrayType::U32, uint32_t{}), check(ArrayType::U16, uint16_t{}), check(ArrayType::U8, uint8_t{});
  check(ArrayType::Bool, uint8_t{});
}

BatchShape taking(ElementType type, const std::vector<int64_t> &shape) {
  BatchShape batch;
  InputShape input;
  input.name = "x", input.type = type, input.axes = {"batch", "seq"}, input.shape = shape;
  batch.rows = shape[0], batch.inputs = {input};
  return batch;
}

std::vector<double> asDoubles(const InputValues &values) {
  return std::visit([](const auto &list) { return std::vector<double>(list.begin(), list.end()); }, values);
}

std::string refusal(const BatchShape &shape, const std::vector<NamedArray> &arrays) {
  Result<Batch> batch = batchFrom(shape, arrays);
  EXPECT_FALSE(batch.ok());
  return batch.ok() ? "" : batch.status().message();
}

TEST(BorrowedArrays, InputsHaveTheElementsOfAnyTypeAndStrides) {
  forEachType([](ArrayType type, auto element) {
    Numbers<decltype(element)> numbers;
    EXPECT_EQ(sizeOf(type), sizeof(element)) << wordOf(type);
    for (const View &view : views) {
      SCOPED_TRACE(std::string(wordOf(type)) + ", " + view.name);
      BorrowedArray array = numbers.view(type, view.first, view.shape, view.strides);
      EXPECT_EQ(array.elements(), view.elements().size());
      bool isFloat = type <= ArrayType::BF16;
      for (ElementType input : {ElementType::F32, ElementType::I32, ElementType::U8}) {
        Result<Batch> batch = batchFrom(taking(input, view.shape), {{"x", array}});
        ASSERT_EQ(batch.ok(), !isFloat || input == ElementType::F32);
        if (batch.ok()) {
          EXPECT_EQ(asDoubles(batch->front()), view.elements());
        }
      }
    }
  });
}

TEST(BorrowedArrays, VariablesAreReadAndWrittenInParts) {
  for (const View &view : views) {
    SCOPED_TRACE(view.name);
    std::vector<double> expected = view.elements();
    forEachType([&](ArrayType type, auto element) {
      Numbers<decltype(element)> numbers;
      BorrowedArray array = numbers.view(type, view.first, view.shape, view.strides);
      Result<ElementSource> source = sourceOf(array, "w", view.shape);
      ASSERT_EQ(source.ok(), type <= ArrayType::BF16) << wordOf(type);
      if (!source.ok())
        return;
      ASSERT_EQ(source->type, type == ArrayType::F64 ? ElementType::F64 : ElementType::F32);
      std::vector<double> all;
      for (uint64_t first = 0; first < expected.size(); first += 5) { // parts that end within rows
        uint64_t count = std::min<uint64_t>(5, expected.size() - first);
        std::vector<double> wide(count);
        std::vector<float> narrow(count);
        auto *bytes = type == ArrayType::F64 ? reinterpret_cast<uint8_t *>(wide.data()) : reinterpret_cast<uint8_t *>(narrow.data());
        ASSERT_TRUE(source->read(first, count, bytes).ok());
        if (type != ArrayType::F64)
          wide.assign(narrow.begin(), narrow.end());
        all.insert(all.end(), wide.begin(), wide.end());
      }
      EXPECT_EQ(all, expected) << wordOf(type);
    });
    if (view.strides[0] == 0)
      continue; // several elements share a place
    Numbers<float> numbers;
    BorrowedArray array = numbers.view(ArrayType::F32, view.first, view.shape, view.strides);
    std::vector<float> changed;
    for (double value : expected)
      changed.push_back(static_cast<float>(value) + 100);
    copyInto(array, 0, changed.data(), 3);
    copyInto(array, 3, changed.data() + 3, changed.size() - 3);
    std::vector<double> places = view.elements();
    for (int i = 0; i < 24; ++i) {
      bool inView = std::find(places.begin(), places.end(), i) != places.end();
      EXPECT_EQ(numbers.values[static_cast<size_t>(i)], static_cast<float>(inView ? i + 100 : i)) << i;
    }
  }
}

TEST(BorrowedArrays, IntegersThatDoNotFitAreNamedWithTheirPlace) {
  int64_t high[] = {1, 2, 3, int64_t{1} << 31};
  EXPECT_EQ(refusal(taking(ElementType::I32, {2, 2}), {{"x", {high, ArrayType::I64, {2, 2}, {2, 1}}}}),
            "input 'x' has the value 2147483648 in sample 1 of the batch at position 1, but i32 holds -2147483648 to 2147483647");
  high[3] = std::numeric_limits<int64_t>::min();
  EXPECT_NE(refusal(taking(ElementType::I32, {2, 2}), {{"x", {high, ArrayType::I64, {2, 2}, {2, 1}}}}).find("-9223372036854775808"),
            std::string::npos);
  uint64_t huge[] = {std::numeric_limits<uint64_t>::max()};
  EXPECT_NE(refusal(taking(ElementType::I32, {1, 1}), {{"x", {huge, ArrayType::U64, {1, 1}, {1, 1}}}}).find("18446744073709551615"),
            std::string::npos);
  int8_t negative[] = {-1};
  EXPECT_EQ(refusal(taking(ElementType::U8, {1, 1}), {{"x", {negative, ArrayType::I8, {1, 1}, {1, 1}}}}),
            "input 'x' has the value -1 in sample 0 of the batch at position 0, but u8 holds 0 to 255");
  uint32_t fits[] = {255, 0};
  EXPECT_TRUE(batchFrom(taking(ElementType::U8, {1, 2}), {{"x", {fits, ArrayType::U32, {1, 2}, {2, 1}}}}).ok());
}

TEST(BorrowedArrays, WrongInputsAreNamed) {
  BatchShape shape = taking(ElementType::I32, {2, 3});
  shape.inputs.push_back(shape.inputs.front()), shape.inputs.back().name = "y";
  int32_t values[6] = {};
  float floats[6] = {};
  BorrowedArray good{values, ArrayType::I32, {2, 3}, {3, 1}};
  EXPECT_EQ(refusal(shape, {{"x", good}, {"z", good}}), "the program has no input 'z': it has x, y");
  EXPECT_EQ(refusal(shape, {{"x", good}, {"x", good}}), "input 'x' is given twice");
  EXPECT_EQ(refusal(shape, {{"x", good}}), "no array feeds input 'y', i32 [batch 2, seq 3]");
  EXPECT_EQ(refusal(shape, {{"x", good}, {"y", {values, ArrayType::I32, {3, 2}, {2, 1}}}}),
            "input 'y' takes i32 [batch 2, seq 3], and the array's size along 'batch' is 3");
  EXPECT_EQ(refusal(shape, {{"x", good}, {"y", {values, ArrayType::I32, {6}, {1}}}}),
            "input 'y' takes i32 [batch 2, seq 3], and the array has 1 dimensions");
  EXPECT_EQ(refusal(shape, {{"x", good}, {"y", {floats, ArrayType::F32, {2, 3}, {3, 1}}}}),
            "input 'y' takes integers, i32 [batch 2, seq 3], and the array has f32: convert it to integers");
  EXPECT_EQ(sourceOf(good, "w", {3, 2}).status().message(), "'w' has the shape [3, 2], and the array [2, 3]");
  EXPECT_EQ(sourceOf(good, "w", {2, 3}).status().message(), "'w' has floats, and the array i32: convert it to floats");
}

} // namespace
} // namespace npar::testing
