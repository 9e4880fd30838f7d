// The table of element types against the C++ types that hold their elements.
#include "engine/program/Elements.h"
#include "engine/numbers/Convert.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace npar;
using namespace npar::program;

namespace {

template <typename Check> void forEachType(Check check) {
  for (const ElementRow &row : elementRows)
    engine::withType(row.type, [&](auto element) { check(row, element); });
}

TEST(Elements, HaveTheSizeOfTheirCppTypes) {
  forEachType([](const ElementRow &row, auto element) {
    EXPECT_EQ(sizeOf(row.type), sizeof(element)) << row.word;
    EXPECT_EQ(isInteger(row.type), std::is_integral_v<decltype(element)>) << row.word;
    EXPECT_EQ(isNarrow(row.type), engine::isNarrowFloat<decltype(element)>) << row.word;
    EXPECT_EQ(engine::elementTypeOf<decltype(element)>(), row.type) << row.word;
  });
}

TEST(Elements, HoldTheLargestValueAndNothingBeyond) {
  forEachType([](const ElementRow &row, auto element) {
    using T = decltype(element);
    for (double value : {row.least, row.largest})
      EXPECT_EQ(engine::exactValue(engine::nearestElement<T>(value)), value) << row.word;
    if (isNarrow(row.type)) {
      EXPECT_TRUE(std::isinf(engine::exactValue(engine::nearestElement<T>(row.largest * (1 + lastPlace(row.type)))))) << row.word;
    }
  });
}

TEST(Elements, AreALastPlaceApart) {
  forEachType([](const ElementRow &row, auto element) {
    using T = decltype(element);
    double place = lastPlace(row.type);
    if (isInteger(row.type))
      return;
    EXPECT_EQ(engine::exactValue(engine::nearestElement<T>(1 + place)), 1 + place) << row.word;
    EXPECT_EQ(engine::exactValue(engine::nearestElement<T>(1 + place / 4)), 1) << row.word;
  });
}

TEST(Elements, AreUpperHalvesOfFloatsWhereTheTableSaysSo) {
  forEachType([](const ElementRow &row, auto element) {
    if constexpr (engine::isNarrowFloat<decltype(element)>) {
      EXPECT_EQ(isUpperHalf(row.type), uint32_t{decltype(element)(1.5f).bits} << 16 == engine::bitsOfFloat(1.5f)) << row.word;
    }
  });
}

} // namespace
