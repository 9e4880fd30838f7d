// Streams a rank's pieces into a safetensors file, hashing each on the way.
#include "engine/checkpoint/Shard.h"

#include "engine/files/StreamHash.h"
#include "engine/files/SyncedFile.h"
#include "engine/safetensors/Safetensors.h"

#include <algorithm>
#include <cstdio>

namespace npar::engine {

namespace {

/// Bytes that are hashed and then written: what fits a processor's cache.
constexpr uint64_t writtenAtOnce = uint64_t{1} << 20;

/// Hashes pieces whose bytes follow each other, while these come in parts of any size.
class PieceHashes {
public:
  explicit PieceHashes(std::vector<uint64_t> sizes) : sizes(std::move(sizes)) {}
  void add(const uint8_t *bytes, uint64_t count) {
    while (count > 0) {
      uint64_t take = std::min(count, sizes[hashes.size()] - done);
      present.add(bytes, take);
      done += take, bytes += take, count -= take;
      if (done < sizes[hashes.size()])
        return;
      hashes.push_back(present.text());
      present = files::StreamHash(), done = 0;
    }
  }
  std::vector<std::string> hashes;

private:
  std::vector<uint64_t> sizes;
  files::StreamHash present;
  uint64_t done = 0; ///< of the present piece
};

} // namespace

std::string shardName(int64_t rank) {
  char text[64];
  std::snprintf(text, sizeof(text), "rank-%05lld.safetensors", static_cast<long long>(rank));
  return text;
}

Result<ShardRecord> writeShard(const std::string &folder, const std::vector<const ManifestTensor *> &tensors, const ShardContent &content) {
  std::vector<std::pair<std::string, StoredTensor>> stored;
  std::vector<uint64_t> sizes;
  uint64_t total = 0;
  for (size_t i = 0; i < content.count; ++i) {
    const program::OwnedPiece &piece = content.pieces[i];
    const ManifestTensor &tensor = *tensors[piece.variable];
    StoredTensor entry;
    entry.type = tensor.type;
    uint64_t volume = 1;
    for (int64_t size : piece.shape)
      volume *= static_cast<uint64_t>(size);
    entry.shape = piece.elements() == volume ? piece.shape : std::vector<int64_t>{static_cast<int64_t>(piece.elements())};
    stored.emplace_back(tensor.name, std::move(entry));
    sizes.push_back(piece.elements() * bytesOfType(tensor.type));
    total += sizes.back();
  }
  Result<files::SyncedFile> file = files::SyncedFile::create(folder + "/" + shardName(content.rank));
  if (!file.ok())
    return file.status();
  std::string header = safetensorsHeader(stored);
  Status status = file->write(header.data(), header.size());
  PieceHashes hashes(std::move(sizes));
  for (uint64_t at = 0; at < total && status.ok(); at += writtenAtOnce) {
    uint64_t size = std::min(writtenAtOnce, total - at);
    hashes.add(content.bytes + at, size);
    status = file->write(content.bytes + at, size);
  }
  if (status.ok())
    status = file->finish();
  if (!status.ok())
    return status;
  return ShardRecord{content.rank, file->size(), std::move(hashes.hashes)};
}

} // namespace npar::engine
