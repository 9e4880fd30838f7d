// Going through data once: every token but the first is a target once, and what fills up the last batch does not count.
#include "engine/data/OncePass.h"
#include "tests/engine/data/StreamShape.h"

namespace npar::testing {
namespace {

using namespace engine;

class OncePassTest : public DataFolder {};

std::vector<int32_t> valuesOf(const CountedBatch &batch, size_t input) { return std::get<std::vector<int32_t>>(batch.batch[input]); }

TEST_F(OncePassTest, everyTokenButTheFirstIsATargetOnce) {
  for (int64_t size = 2; size < 40; ++size) {
    std::string bytes;
    for (int64_t i = 0; i < size; ++i)
      bytes += static_cast<char>(i + 1);
    BatchShape shape = streamShape(2, 4);
    auto pass = OncePass::openTokens(file("data", bytes), TokenFormat::Bytes, shape, 4);
    ASSERT_TRUE(pass.ok()) << pass.status().message();
    int32_t next = 2;
    int64_t samples = 0;
    for (int64_t step = 0; step < (*pass)->steps(); ++step) {
      CountedBatch batch = (*pass)->batch(step);
      EXPECT_TRUE(checkBatch(shape, batch.batch).ok());
      ASSERT_EQ(batch.counts.size(), 8u);
      samples += batch.samples;
      EXPECT_TRUE(batch.counts[0]) << "a batch in which nothing counts";
      for (size_t i = 0; i < 8; ++i)
        if (batch.counts[i]) {
          EXPECT_EQ(valuesOf(batch, 0)[i], next - 1);
          EXPECT_EQ(valuesOf(batch, 1)[i], next++);
        }
    }
    EXPECT_EQ(next, size + 1) << "of " << size << " tokens";
    EXPECT_EQ(samples, (size + 2) / 4) << "of " << size << " tokens";
    EXPECT_EQ((*pass)->samples(), samples);
  }
}

TEST_F(OncePassTest, ignoredTargetsDoNotCount) {
  auto pass = OncePass::openTokens(file("data", {5, 7, 5, 7, 7}), TokenFormat::Bytes, streamShape(1, 4, 7), 4);
  ASSERT_TRUE(pass.ok());
  EXPECT_EQ((*pass)->batch(0).counts, (std::vector<uint8_t>{0, 1, 0, 0}));
}

// A process reads what its ranks read, and knows which losses of all count.
TEST_F(OncePassTest, keptRowsAreThoseOfTheWholeBatch) {
  auto whole = OncePass::openTokens(file("data", "abcdefghijklmnopqrs"), TokenFormat::Bytes, streamShape(3, 2, 'g'), 2);
  auto part = OncePass::openTokens(file("data", "abcdefghijklmnopqrs"), TokenFormat::Bytes, streamShape(3, 2, 'g'), 2);
  ASSERT_TRUE(whole.ok() && part.ok());
  (*part)->keepRows({0, 2});
  for (int64_t step = 0; step < (*whole)->steps(); ++step) {
    CountedBatch all = (*whole)->batch(step), kept = (*part)->batch(step);
    EXPECT_EQ(kept.counts, all.counts);
    for (size_t input : {0, 1}) {
      std::vector<int32_t> values = valuesOf(all, input);
      values.erase(values.begin() + 2, values.begin() + 4);
      EXPECT_EQ(valuesOf(kept, input), values) << "step " << step << ", input " << input;
    }
  }
  (*part)->keepRows({});
  EXPECT_TRUE(valuesOf((*part)->batch(0), 0).empty());
}

TEST_F(OncePassTest, aFileThatIsCutIsNamed) {
  std::string path = file("data", "abcdefghijklmnopqrs");
  auto pass = OncePass::openTokens(path, TokenFormat::Bytes, streamShape(2, 2), 2);
  ASSERT_TRUE(pass.ok());
  ASSERT_EQ(::truncate(path.c_str(), 10), 0);
  (void)(*pass)->batch(1);
  EXPECT_TRUE((*pass)->intact().ok()) << "what is read is there";
  CountedBatch cut = (*pass)->batch(2);
  EXPECT_EQ(std::get<std::vector<int32_t>>(cut.batch[0]).size(), 4u);
  EXPECT_EQ((*pass)->intact().message(),
            "cannot read data '" + path + "': it ends at byte 10, but had 19 bytes when it was opened: it was truncated in the meantime");
}

TEST_F(OncePassTest, refusesWhatCannotBeEvaluated) {
  EXPECT_NE(OncePass::openTokens(file("data", "x"), TokenFormat::Bytes, streamShape(1, 4), 4)
                .status()
                .message()
                .find("has 1 token; the first has no predecessor, so at least two are needed"),
            std::string::npos);
  BatchShape few = streamShape(1, 4);
  few.inputs[0].range.classes = few.inputs[1].range.classes = 100;
  EXPECT_NE(OncePass::openTokens(file("data", "zAAAA"), TokenFormat::Bytes, few, 4).status().message().find("has token 122 at position 0"),
            std::string::npos);
  BatchShape other = streamShape(1, 4);
  other.inputs[1].role = program::InputRole::Other;
  EXPECT_NE(
      OncePass::openTokens(file("data", "abc"), TokenFormat::Bytes, other, 4).status().message().find("it cannot feed tokens, targets"),
      std::string::npos);
}

} // namespace
} // namespace npar::testing
