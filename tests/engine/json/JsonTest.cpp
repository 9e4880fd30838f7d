// JSON trees give their memory back without any allocation, whatever their shape.
#include "engine/json/Json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {

thread_local int64_t left = -1; ///< allocations of this thread until one fails; negative: none does
int64_t blocks = 0;             ///< allocated and not yet freed

} // namespace

void *operator new(size_t size) {
  if (left >= 0 && left-- == 0)
    throw std::bad_alloc();
  void *made = std::malloc(size);
  if (!made)
    throw std::bad_alloc();
  ++blocks;
  return made;
}
void operator delete(void *memory) noexcept {
  blocks -= memory ? 1 : 0;
  std::free(memory);
}
void operator delete(void *memory, size_t) noexcept { operator delete(memory); }

namespace npar {
namespace {

template <typename Tree> class JsonTest : public testing::Test {
protected:
  /// Objects, arrays, strings and bytes, empty and nested.
  static Tree tree() {
    Tree made = {
        {"empty", Tree::object()},
        {"list", {1, 2.5, "a string that is too long to be stored in place", nullptr, Tree::array(), {{"deep", {{"deeper", {1, 2, 3}}}}}}},
        {"bytes", Tree::binary({1, 2, 3})},
        {"members", {{"a", 1}, {"b", {{{"c", {4}}, {"d", {5, {6, {7}}}}}, "e"}}}}};
    made["more"]["of"]["them"].push_back({{"x", true}});
    return made;
  }
  /// Calls `make` with each of its allocations failing in turn; none of them may be leaked.
  template <typename Make> static int64_t failEach(Make make) {
    for (int64_t number = 0;; ++number) {
      const int64_t before = blocks;
      try {
        left = number;
        make();
        left = -1;
        return number;
      } catch (const std::bad_alloc &) {
        left = -1;
      }
      EXPECT_EQ(blocks, before) << "allocation " << number;
    }
  }
};
using Trees = testing::Types<Json, OrderedJson>;
TYPED_TEST_SUITE(JsonTest, Trees);

TYPED_TEST(JsonTest, DestroysWithoutMemory) {
  const int64_t before = blocks;
  {
    TypeParam tree = TestFixture::tree(), copy = tree;
    EXPECT_EQ(copy, tree);
    left = 0;
  }
  EXPECT_EQ(left, 0) << "the destructor has allocated";
  left = -1;
  EXPECT_EQ(blocks, before);
}

TYPED_TEST(JsonTest, FailedAllocationsLeakNothing) {
  const std::string text = TypeParam{{"a", {1, {2, {{"b", "c"}}}}}, {"d", {"a string that is too long to be stored in place"}}}.dump();
  EXPECT_GT(TestFixture::failEach([] { return TestFixture::tree().dump(2); }), 40);
  EXPECT_GT(TestFixture::failEach([&] { return TypeParam::parse(text); }), 10);
  EXPECT_GT(TestFixture::failEach([&] { return TypeParam::from_cbor(TypeParam::to_cbor(TypeParam{{text, {text, text}}})); }), 10);
}

TYPED_TEST(JsonTest, DestroysAnyDepth) {
  const int64_t before = blocks;
  for (const auto &[open, close] : {std::pair<std::string, std::string>{"[", "]"}, {R"({"a":)", "}"}, {R"([0,{"a":)", "},[{}]]"}}) {
    std::string opened, closed;
    for (int depth = 0; depth < 300'000; ++depth)
      opened += open, closed += close;
    EXPECT_TRUE(TypeParam::parse(opened + "null" + closed).is_structured());
  }
  EXPECT_EQ(blocks, before);
}

TYPED_TEST(JsonTest, ListsMakeObjectsAndArrays) {
  const char *members = std::is_same_v<TypeParam, Json> ? R"({"a":[2],"b":1})" : R"({"b":1,"a":[2]})";
  EXPECT_EQ(TypeParam({{"b", 1}, {"a", {2}}}).dump(), members);
  EXPECT_EQ(TypeParam({{"a", 1}, 2}).dump(), R"([["a",1],2])");
  EXPECT_EQ(TypeParam::array({{"a", 1}}).dump(), R"([["a",1]])");
  EXPECT_EQ(TypeParam::object({{"a", 1}}).dump(), R"({"a":1})");
  EXPECT_THROW({ TypeParam made = TypeParam::object({1, 2}); }, std::invalid_argument);
}

} // namespace
} // namespace npar
