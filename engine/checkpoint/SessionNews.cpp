// News as bytes: numbers of 64 bits and texts with their lengths.
#include "engine/checkpoint/SessionNews.h"

#include <cstring>

namespace npar::engine {

namespace {

class Packer {
public:
  void number(uint64_t value) {
    auto *from = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(value));
  }
  void text(const std::string &value) {
    number(value.size());
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
  std::vector<uint8_t> bytes;
};

/// Reads zeros beyond the end, and remembers that it did.
class Unpacker {
public:
  explicit Unpacker(const std::vector<uint8_t> &bytes) : bytes(bytes) {}
  bool good = true;
  uint64_t number() {
    uint64_t value = 0;
    if (good = good && bytes.size() - at >= sizeof(value); good)
      std::memcpy(&value, &bytes[at], sizeof(value)), at += sizeof(value);
    return value;
  }
  std::string text() {
    uint64_t size = number();
    if (good = good && bytes.size() - at >= size; !good)
      return "";
    at += size;
    return {bytes.begin() + static_cast<int64_t>(at - size), bytes.begin() + static_cast<int64_t>(at)};
  }
  /// Number of items that follow, each of which has at least one number.
  uint64_t count() {
    uint64_t value = number();
    good = good && value <= (bytes.size() - at) / sizeof(uint64_t);
    return good ? value : 0;
  }

private:
  const std::vector<uint8_t> &bytes;
  size_t at = 0;
};

std::vector<uint8_t> pack(const SessionNews &news) {
  Packer packer;
  packer.number(static_cast<uint64_t>(news.state));
  packer.number(static_cast<uint64_t>(news.failure.code()));
  packer.text(news.failure.message());
  packer.text(news.tag);
  packer.number(news.shards.size());
  for (const ShardRecord &shard : news.shards) {
    packer.number(static_cast<uint64_t>(shard.rank));
    packer.number(shard.bytes);
    packer.number(shard.hashes.size());
    for (const std::string &hash : shard.hashes)
      packer.text(hash);
  }
  return std::move(packer.bytes);
}

bool unpack(const std::vector<uint8_t> &bytes, SessionNews &news) {
  Unpacker unpacker(bytes);
  news.state = static_cast<SaveState>(unpacker.number());
  auto code = static_cast<Code>(unpacker.number());
  std::string message = unpacker.text();
  news.failure = code == Code::Ok ? Status() : Status(code, std::move(message));
  news.tag = unpacker.text();
  news.shards.resize(unpacker.count());
  for (ShardRecord &shard : news.shards) {
    shard.rank = static_cast<int64_t>(unpacker.number());
    shard.bytes = unpacker.number();
    shard.hashes.resize(unpacker.count());
    for (std::string &hash : shard.hashes)
      hash = unpacker.text();
  }
  return unpacker.good;
}

} // namespace

Result<std::vector<SessionNews>> shareNews(const Session &session, const SessionNews &own) {
  Result<std::vector<std::vector<uint8_t>>> all = session.gather(pack(own));
  if (!all.ok())
    return all.status();
  std::vector<SessionNews> news(all->size());
  for (size_t i = 0; i < news.size(); ++i)
    if (!unpack((*all)[i], news[i]))
      return Status(Code::Internal, "sessions perform different operations");
  return news;
}

} // namespace npar::engine
