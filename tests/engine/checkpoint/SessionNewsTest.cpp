// News of sessions is read back as written, and bytes that are no news are refused.
#include "engine/checkpoint/SessionNews.h"
#include "engine/tables/Tables.h"

#include <functional>
#include <gtest/gtest.h>

namespace npar::engine {
namespace {

TEST(SessionNewsTest, ArriveAsTheyWereSent) {
  SessionNews news;
  news.state = SaveState::Written, news.tag = "abc", news.failure = Status::runFailed("the disk is full");
  news.shards = {{3, 100, {"left", "right"}}, {5, 0, {}}, {7, 9, {"one"}}};
  std::optional<SessionNews> read = unpackNews(pack(news));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->state, SaveState::Written);
  EXPECT_EQ(read->tag, "abc");
  EXPECT_EQ(read->failure.code(), Code::RunFailed);
  EXPECT_EQ(read->failure.message(), "the disk is full");
  ASSERT_EQ(read->shards.size(), 3u);
  EXPECT_EQ(read->shards[0].hashes, (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(read->shards[1].rank, 5);
  EXPECT_TRUE(read->shards[1].hashes.empty());
  EXPECT_EQ(read->shards[2].hashes, (std::vector<std::string>{"one"}));
  EXPECT_EQ(read->shards[2].bytes, 9u);
  EXPECT_TRUE(unpackNews(pack(SessionNews()))->failure.ok());
}

TEST(SessionNewsTest, OtherBytesAreRefused) {
  EXPECT_FALSE(unpackNews({}));
  EXPECT_FALSE(unpackNews(std::vector<uint8_t>(40)));
  auto accepts = [](const std::function<void(wire::SessionNewsT &)> &change) {
    wire::SessionNewsT news;
    news.shards = {wire::ShardNews(0, 1, 2)}, news.hashes = {"a", "b"};
    change(news);
    return unpackNews(tables::pack(news)).has_value();
  };
  EXPECT_TRUE(accepts([](auto &) {}));
  EXPECT_FALSE(accepts([](auto &news) { news.hashes.pop_back(); }));
  EXPECT_FALSE(accepts([](auto &news) { news.hashes.push_back("c"); }));
  EXPECT_FALSE(accepts([](auto &news) { news.shards[0].mutate_hashes(~uint32_t{0}); }));
  EXPECT_FALSE(accepts([](auto &news) { news.state = static_cast<SaveState>(6); }));
  EXPECT_FALSE(accepts([](auto &news) { news.code = 7; }));
}

} // namespace
} // namespace npar::engine
