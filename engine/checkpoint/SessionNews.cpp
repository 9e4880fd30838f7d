// News as bytes, and their exchange.
#include "engine/checkpoint/SessionNews.h"

#include "engine/tables/Tables.h"

namespace npar::engine {

std::vector<uint8_t> pack(const SessionNews &news) {
  wire::SessionNewsT all;
  all.state = news.state, all.tag = news.tag;
  all.code = static_cast<uint8_t>(news.failure.code()), all.message = news.failure.message();
  for (const ShardRecord &shard : news.shards) {
    all.shards.emplace_back(shard.rank, shard.bytes, static_cast<uint32_t>(shard.hashes.size()));
    all.hashes.insert(all.hashes.end(), shard.hashes.begin(), shard.hashes.end());
  }
  return tables::pack(all);
}

std::optional<SessionNews> unpackNews(const std::vector<uint8_t> &bytes) {
  wire::SessionNewsT all;
  if (!tables::unpack(bytes, all) || !tables::isAmong(all.state) || all.code > static_cast<uint8_t>(Code::Internal))
    return std::nullopt;
  SessionNews news;
  news.state = all.state, news.tag = std::move(all.tag);
  if (auto code = static_cast<Code>(all.code); code != Code::Ok)
    news.failure = Status(code, std::move(all.message));
  size_t next = 0;
  for (const wire::ShardNews &shard : all.shards) {
    if (shard.hashes() > all.hashes.size() - next)
      return std::nullopt;
    auto begin = all.hashes.begin() + static_cast<std::ptrdiff_t>(next);
    news.shards.push_back({shard.rank(), shard.bytes(), {begin, begin + shard.hashes()}});
    next += shard.hashes();
  }
  return next == all.hashes.size() ? std::optional(std::move(news)) : std::nullopt;
}

Result<std::vector<SessionNews>> shareNews(const Session &session, const SessionNews &own) {
  Result<std::vector<std::vector<uint8_t>>> all = session.gather(pack(own));
  if (!all.ok())
    return all.status();
  std::vector<SessionNews> news;
  for (const std::vector<uint8_t> &bytes : *all) {
    std::optional<SessionNews> one = unpackNews(bytes);
    if (!one)
      return Status(Code::Internal, "sessions perform different operations");
    news.push_back(std::move(*one));
  }
  return news;
}

} // namespace npar::engine
