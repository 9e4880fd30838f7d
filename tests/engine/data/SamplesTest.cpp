// Tests samples of several files, of documents and of tensors together.
#include "engine/data/DataSource.h"
#include "engine/data/OncePass.h"
#include "tests/engine/data/StreamShape.h"

#include <set>

namespace npar::testing {
namespace {

using namespace engine;

class SamplesTest : public DataFolder {
protected:
  std::string numbers(const std::string &name, const std::vector<int32_t> &values) {
    return file(name, std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(int32_t)));
  }
  DataPlan streams(const std::vector<DataFile> &files) {
    DataPlan plan;
    plan.order = Order::Sequential;
    plan.groups = {{files, {{0, "", 0}, {1, "", 1}}}};
    return plan;
  }
};

std::string textOf(const InputValues &values) {
  std::string text;
  for (int32_t value : std::get<std::vector<int32_t>>(values))
    text += value == -100 ? '-' : value == 0 ? '.' : static_cast<char>(value);
  return text;
}

/// No sample has tokens of two documents, and the end of a document is filled up with what does not count.
TEST_F(SamplesTest, documentsAreCutEachForItself) {
  DataPlan plan = streams({{file("text", "abcdeFGxhijk"), DataFormat::Bytes, 0, numbers("lengths", {5, 2, 1, 4})}});
  auto source = DataSource::open(plan, 0, streamShape(4, 3, -100));
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ((*source)->samples(), 4);
  Batch batch = (*source)->batch(0);
  EXPECT_EQ(textOf(batch[0]), "abcde.FG.hij");
  EXPECT_EQ(textOf(batch[1]), "bcde--G--ijk");
  EXPECT_EQ((*source)->remarks(), (std::vector<std::string>{"1 of 4 documents of '" + folder +
                                                            "/text' have 1 token or fewer: they have no target and are skipped"}));
}

/// An input may have a shift of more than one token, and an input may get flags for existing tokens.
TEST_F(SamplesTest, anInputMayLookFurtherOn) {
  BatchShape shape = streamShape(2, 3, -100);
  shape.inputs.push_back({"there", program::ElementType::U8, {"batch", "seq"}, {2, 3}, {}, program::InputRole::Other});
  DataPlan plan = streams({{file("text", "abcdefghijk"), DataFormat::Bytes, 0, numbers("lengths", {7, 4})}});
  plan.groups[0].feeds = {{0, "", 0}, {1, "", 2}, {2, "", 0, true}};
  auto source = DataSource::open(plan, 0, shape);
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ((*source)->samples(), 3) << "five of the first document's tokens have one two places on, two of the second's";
  Batch batch = (*source)->batch(0);
  EXPECT_EQ(textOf(batch[0]), "abcdef");
  EXPECT_EQ(textOf(batch[1]), "cdefg-");
  EXPECT_EQ(std::get<std::vector<uint8_t>>((*source)->batch(1)[2]), (std::vector<uint8_t>{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(textOf((*source)->batch(1)[0]), "hijabc");
  plan.groups[0].files[0].lengths.clear();
  EXPECT_EQ((*DataSource::open(plan, 0, shape))->samples(), 3) << "(11 - 2) / 3";
}

TEST_F(SamplesTest, wrongLengthsOfDocumentsAreNamed) {
  std::string text = file("text", "abcdefgh");
  auto errorOf = [&](const std::vector<int32_t> &lengths, std::optional<int32_t> ignore) {
    auto source = DataSource::open(streams({{text, DataFormat::Bytes, 0, numbers("lengths", lengths)}}), 0, streamShape(1, 3, ignore));
    EXPECT_FALSE(source.ok());
    return source.ok() ? "" : source.status().message();
  };
  EXPECT_EQ(errorOf({5, 4}, -100), "the 2 lengths of '" + folder + "/lengths' are 9 tokens together, but '" + text + "' has 8");
  EXPECT_EQ(errorOf({5, 0, 3}, -100), "document 1 of '" + folder + "/lengths' has the length 0: a document has one token at least");
  EXPECT_NE(errorOf({5, 3}, {}).find("ignore"), std::string::npos);
}

/// Parts of documents are whole documents: no sample of one part has a token of another one's documents.
TEST_F(SamplesTest, documentsAreSplitWhole) {
  std::string text;
  std::vector<int32_t> lengths;
  for (int i = 0; i < 40; ++i) {
    lengths.push_back(3 + i % 5);
    text.append(static_cast<size_t>(lengths.back()), static_cast<char>('A' + i));
  }
  DataPlan plan = streams({{file("text", text), DataFormat::Bytes, 0, numbers("lengths", lengths)}});
  std::set<char> seen;
  for (size_t part : {0, 1}) {
    plan.split = {{0.75, 0.25}, 42, part};
    auto pass = OncePass::open(plan, streamShape(1, 2, -100), 2);
    ASSERT_TRUE(pass.ok()) << pass.status().message();
    std::set<char> here;
    for (int64_t step = 0; step < (*pass)->steps(); ++step)
      for (char c : textOf((*pass)->batch(step).batch[0]))
        if (c != '.')
          here.insert(c);
    EXPECT_EQ(here.size(), part == 0 ? 30u : 10u);
    for (char c : here)
      EXPECT_TRUE(seen.insert(c).second);
  }
}

/// Each token after the first of a plain stream is a target; a pass of whole samples reports the tokens it leaves out.
TEST_F(SamplesTest, aPlainStreamIsGoneThroughToItsEnd) {
  DataPlan plan = streams({{file("text", "abcdefg"), DataFormat::Bytes}});
  auto counted = [](const OncePass &pass) {
    int64_t count = 0;
    for (int64_t step = 0; step < pass.steps(); ++step)
      for (uint8_t one : pass.batch(step).counts)
        count += one;
    return count;
  };
  auto all = OncePass::open(plan, streamShape(1, 4, {}), 4), whole = OncePass::open(plan, streamShape(1, 4, {}), 4, /*wholeSamples=*/true);
  ASSERT_TRUE(all.ok() && whole.ok());
  EXPECT_EQ(counted(**all), 6);
  EXPECT_EQ(counted(**whole), 4);
  EXPECT_TRUE((*all)->remarks().empty());
  EXPECT_EQ((*whole)->remarks(),
            (std::vector<std::string>{"the last 2 tokens of '" + folder + "/text' make no sample of 4 and are skipped"}));
}

/// Padding of an epoch's last batch has no target that counts; the other samples come file after file.
TEST_F(SamplesTest, severalFilesAreOneAfterTheOther) {
  DataPlan plan = streams({{file("a", "abcde"), DataFormat::Bytes}, {file("b", "ABC"), DataFormat::Bytes}});
  plan.last = LastBatch::Pad;
  auto source = DataSource::open(plan, 0, streamShape(2, 2, -100));
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ((*source)->samples(), 3);
  EXPECT_EQ(textOf((*source)->batch(0)[0]) + textOf((*source)->batch(1)[0]), "abcdAB..");
  EXPECT_EQ(textOf((*source)->batch(0)[1]) + textOf((*source)->batch(1)[1]), "bcdeBC--");
  EXPECT_EQ(textOf((*source)->batch(2)[0]), "abcd");
  EXPECT_EQ((*source)->order(), "sequential, pad last");
}

TEST_F(SamplesTest, aPartWithFewerSamplesThanABatchIsRefused) {
  DataPlan plan = streams({{file("a", "abcdefghijklmnopqrstu"), DataFormat::Bytes}});
  plan.split = {{0.9, 0.1}, 42, 1};
  auto source = DataSource::open(plan, 0, streamShape(2, 2));
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.status().message(), "data '" + folder +
                                           "/a' has 1 sample of 2 tokens in part 2 of its split, but a batch needs 2 and would "
                                           "repeat some; make the batch smaller or the samples shorter, or give a longer file");
}

/// A mapping would end this process.
TEST_F(SamplesTest, aFileThatIsCutIsNamedAndNothingOfItIsUsed) {
  std::string text = file("text", std::string(100, 'a')), mask = file("mask", std::string(100, '\1'));
  DataPlan plan = streams({{text, DataFormat::Bytes, 0, ""}});
  plan.mask = mask, plan.order = Order::Sequential;
  for (const std::string &path : {text, mask}) {
    auto source = DataSource::open(plan, 0, streamShape(2, 10, -100));
    ASSERT_TRUE(source.ok()) << source.status().message();
    ASSERT_EQ(::truncate(path.c_str(), 50), 0);
    (void)(*source)->batch(1); // samples 2 and 3, with a target that is token 40
    EXPECT_TRUE((*source)->intact().ok());
    Batch cut = (*source)->batch(2);
    EXPECT_EQ(std::get<std::vector<int32_t>>(cut[0]).size(), 20u) << "as long as ever";
    EXPECT_EQ((*source)->intact().code(), Code::BadInput);
    EXPECT_EQ((*source)->intact().message(),
              std::string("cannot read ") + (path == text ? "data" : "mask") + " '" + path +
                  "': it ends at byte 50, but had 100 bytes when it was opened: it was truncated in the meantime");
    file(path == text ? "text" : "mask", path == text ? std::string(100, 'a') : std::string(100, '\1'));
  }
}

TEST_F(SamplesTest, whatIsAppendedOrReplacedMeanwhileChangesNothing) {
  std::string text = file("text", "abcdefghijk");
  DataPlan plan = streams({{text, DataFormat::Bytes, 0, ""}});
  plan.order = Order::Sequential;
  auto source = DataSource::open(plan, 0, streamShape(2, 5));
  ASSERT_TRUE(source.ok());
  Batch before = (*source)->batch(0);
  std::ofstream(text, std::ios::app) << "lmnopqrstuvwxyz";
  EXPECT_EQ((*source)->samples(), 2);
  EXPECT_EQ((*source)->batch(0), before);
  file("other", "zzzzzzzzzzz");
  ASSERT_EQ(::rename((folder + "/other").c_str(), text.c_str()), 0);
  EXPECT_EQ((*source)->batch(0), before);
  EXPECT_TRUE((*source)->intact().ok());
}

} // namespace
} // namespace npar::testing
