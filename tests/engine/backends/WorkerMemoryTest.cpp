// The memory that workers pack operands into is known from the program, before a backend is made.
#include "engine/backends/Backends.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

/// A product of two square matrices and, unless `keys` is 0, an attention of that many keys.
uint64_t bytesOf(const std::string &backend, int64_t size, int64_t keys, program::ElementType type = program::ElementType::F32) {
  program::ProgramT content;
  auto product = std::make_unique<program::MatmulT>();
  product->type = product->result = type;
  product->m = product->n = product->k = product->a_row = product->b_row = product->c_row = size;
  product->a_column = product->b_column = 1;
  content.matmuls.push_back(std::move(product));
  if (keys > 0) {
    auto attention = std::make_unique<program::AttentionT>();
    attention->type = type, attention->gradient = true, attention->scale = 1;
    attention->heads = 1, attention->rows = attention->keys = keys, attention->features = attention->values = 64;
    for (int i = 0; i < 9; ++i) {
      attention->strides.push_back(std::make_unique<program::AttentionStridesT>());
      attention->strides.back()->row = i == 5 ? 1 : 64, attention->strides.back()->head = keys * attention->strides.back()->row;
    }
    content.attentions.push_back(std::move(attention));
  }
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  return bytesPerWorker(backend, *program::GetProgram(builder.GetBufferPointer()), Spread{});
}

// The sums of the gradients of keys and values, 64 of each in float32; the rest does not grow with their number.
TEST(WorkerMemory, GrowsWithTheLongestSequence) {
  uint64_t one = bytesOf("cpu", 8, 8 * 1024), two = bytesOf("cpu", 8, 16 * 1024);
  EXPECT_GT(bytesOf("cpu", 8, 0), 0u);
  EXPECT_GT(one, bytesOf("cpu", 8, 0));
  EXPECT_NEAR(double(two - one), 8.0 * 1024 * 2 * 64 * 4, 64 * 1024.0); // panels are filled up
}

// The most that any step takes, not their sum.
TEST(WorkerMemory, IsThatOfTheLargestStep) {
  uint64_t product = bytesOf("cpu", 1024, 0);
  EXPECT_GT(product, bytesOf("cpu", 8, 16));
  EXPECT_EQ(bytesOf("cpu", 1024, 16), std::max(product, bytesOf("cpu", 8, 16)));
}

TEST(WorkerMemory, NoneWhereNothingIsComputed) {
  EXPECT_EQ(bytesOf("null", 1024, 1024), 0u);
  EXPECT_EQ(bytesOf("cpu", 8, 0, program::ElementType::I32), 0u) << "`load` refuses it";
}

} // namespace
} // namespace npar::testing
