// Opens a checkpoint with all its shards, and reads ranges of its tensors from the pieces that hold them.
#include "engine/checkpoint/CheckpointStore.h"

#include "engine/checkpoint/PieceGrid.h"
#include "engine/device/ParallelFor.h"
#include "engine/files/Folders.h"
#include "engine/files/StreamHash.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <unordered_map>

namespace npar::engine {

namespace {

/// Bytes that are read at once to be hashed: what fits a processor's cache.
constexpr uint64_t hashedAtOnce = uint64_t{256} << 10;

/// Part of a piece: where another plan has cut the tensor, its ranges are short and take turns over several pieces.
struct CachedBlock {
  static constexpr uint64_t size = uint64_t{64} << 10;
  uint64_t store = 0; ///< OpenCheckpoint::number; 0: nothing is here
  const ManifestPiece *piece = nullptr;
  uint64_t block = 0;
  std::vector<uint8_t> bytes;
};
thread_local std::array<CachedBlock, 16> cachedBlocks;

class OpenCheckpoint final : public CheckpointStore {
public:
  OpenCheckpoint(std::string folder, Manifest manifest)
      : path(std::move(folder)), text("checkpoint '" + path + "'"), content(std::move(manifest)) {}
  Status open();

  const std::string &description() const override { return text; }
  const std::map<std::string, StoreEntry> &tensors() const override { return entries; }
  std::vector<std::string> paths() const override;
  Status read(const std::string &name, uint64_t first, uint64_t count, uint8_t *bytes) const override;
  const Manifest &manifest() const override { return content; }
  const std::string &folder() const override { return path; }
  Status readPiece(const ManifestTensor &tensor, const ManifestPiece &piece, uint64_t first, uint64_t count, uint8_t *bytes) const override;
  Status verify(uint64_t part, uint64_t parts, const std::function<void(uint64_t)> &progress) const override;
  Status compareHashes(const std::vector<std::string> &names) const override;

private:
  Status openShard(size_t number);
  std::string holdings(size_t file) const;
  Status placePiece(const ManifestTensor &tensor, const ManifestPiece &piece);
  using PieceOf = std::pair<const ManifestTensor *, const ManifestPiece *>;
  Status verifyPiece(const ManifestTensor &tensor, const ManifestPiece &piece, const std::function<void(uint64_t)> &progress) const;
  Status verifyPieces(const std::vector<PieceOf> &pieces, const std::function<void(uint64_t)> &progress) const;
  Status failure(const std::string &why) const { return Status::badInput(text + ": " + why); }
  std::string placeOf(const ManifestTensor &tensor, const ManifestPiece &piece) const {
    return "file '" + content.files[piece.file].name + "', tensor " + quotedName(tensor.name);
  }

  static std::atomic<uint64_t> opened;
  const uint64_t number = ++opened; ///< among all that this process opens
  std::string path, text;
  Manifest content;
  std::unordered_map<const ManifestPiece *, const StoredTensor *> places; ///< of pieces in their shards
  std::vector<std::shared_ptr<SafetensorsFile>> shards;                   ///< by Manifest::files
  std::map<std::string, StoreEntry> entries;
  std::map<std::string, PieceGrid> grids;
};

std::atomic<uint64_t> OpenCheckpoint::opened{0};

std::vector<std::string> OpenCheckpoint::paths() const {
  std::vector<std::string> paths = {path + "/" + Manifest::fileName};
  for (const ManifestFile &file : content.files)
    paths.push_back(path + "/" + file.name);
  return paths;
}

/// Describes the tensors in a file: its first one, and the number of others.
std::string OpenCheckpoint::holdings(size_t file) const {
  std::string first;
  size_t more = 0;
  for (const ManifestTensor &tensor : content.tensors)
    if (std::any_of(tensor.pieces.begin(), tensor.pieces.end(), [&](const ManifestPiece &piece) { return piece.file == file; }))
      first.empty() ? void(first = quotedName(tensor.name)) : void(++more);
  if (first.empty())
    return "";
  return "; it holds tensor " + first + (more ? " and " + std::to_string(more) + " more" : "");
}

Status OpenCheckpoint::openShard(size_t number) {
  const ManifestFile &file = content.files[number];
  std::string name = path + "/" + file.name, which = "file '" + file.name + "'";
  auto damaged = [&](const std::string &what) { return failure(which + what + holdings(number)); };
  struct stat info;
  if (::lstat(name.c_str(), &info) != 0)
    return damaged(std::string(": ") + std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return damaged(" is not a regular file");
  if (static_cast<uint64_t>(info.st_size) != file.bytes)
    return damaged(" has " + std::to_string(info.st_size) + " bytes, its manifest says " + std::to_string(file.bytes));
  Result<std::shared_ptr<SafetensorsFile>> shard = SafetensorsFile::open(name, "checkpoint");
  if (!shard.ok())
    return Status(shard.status().code(), shard.status().message() + holdings(number));
  Result<bool> own = (*shard)->hasOwnHeader();
  if (!own.ok())
    return own.status();
  if (!*own)
    return damaged(": its header was changed after it was written");
  shards.push_back(std::move(*shard));
  return {};
}

Status OpenCheckpoint::placePiece(const ManifestTensor &tensor, const ManifestPiece &piece) {
  const auto &there = shards[piece.file]->tensors();
  auto found = there.find(piece.tensor);
  if (found == there.end())
    return failure(placeOf(tensor, piece) + ": the file has no tensor " + quotedName(piece.tensor));
  if (found->second.type != tensor.type || found->second.shape != storedShape(piece))
    return failure(placeOf(tensor, piece) + ": the file has " + shapeText(found->second.shape) + " of " + found->second.type +
                   ", the manifest says " + shapeText(storedShape(piece)) + " of " + tensor.type);
  places[&piece] = &found->second;
  return {};
}

Status OpenCheckpoint::open() {
  for (size_t i = 0; i < content.files.size(); ++i)
    if (Status status = openShard(i); !status.ok())
      return status;
  std::vector<std::set<std::string>> used(shards.size());
  for (const ManifestTensor &tensor : content.tensors) {
    for (const ManifestPiece &piece : tensor.pieces) {
      if (Status status = placePiece(tensor, piece); !status.ok())
        return status;
      if (!used[piece.file].insert(piece.tensor).second)
        return failure(placeOf(tensor, piece) + ": two pieces refer to the file's tensor " + quotedName(piece.tensor));
    }
    entries[tensor.name] = {tensor.type, tensor.stored};
    grids.emplace(tensor.name, PieceGrid(tensor));
  }
  for (size_t i = 0; i < shards.size(); ++i)
    for (const auto &[name, tensor] : shards[i]->tensors())
      if (!used[i].count(name))
        return failure("file '" + content.files[i].name + "': its tensor " + quotedName(name) + " is not in the manifest");
  return {};
}

Status OpenCheckpoint::readPiece(const ManifestTensor &tensor, const ManifestPiece &piece, uint64_t first, uint64_t count,
                                 uint8_t *bytes) const {
  const StoredTensor &stored = *places.at(&piece);
  uint64_t unit = bytesOfType(tensor.type), begin = first * unit, end = begin + count * unit;
  if (end - begin >= CachedBlock::size / 2)
    return shards[piece.file]->readBytes(stored, begin, end - begin, bytes);
  for (uint64_t at = begin; at < end;) {
    uint64_t block = at / CachedBlock::size, place = at % CachedBlock::size, take = std::min(end - at, CachedBlock::size - place);
    CachedBlock &cached = cachedBlocks[(reinterpret_cast<uintptr_t>(&piece) / sizeof(ManifestPiece) + block) % cachedBlocks.size()];
    if (cached.store != number || cached.piece != &piece || cached.block != block) {
      cached = {0, &piece, block, std::move(cached.bytes)};
      cached.bytes.resize(std::min(CachedBlock::size, stored.end - stored.begin - block * CachedBlock::size));
      if (Status status = shards[piece.file]->readBytes(stored, block * CachedBlock::size, cached.bytes.size(), cached.bytes.data());
          !status.ok())
        return status;
      cached.store = number;
    }
    std::memcpy(bytes + (at - begin), &cached.bytes[place], take);
    at += take;
  }
  return {};
}

Status OpenCheckpoint::read(const std::string &name, uint64_t first, uint64_t count, uint8_t *bytes) const {
  auto grid = grids.find(name);
  const ManifestTensor *tensor = grid == grids.end() ? nullptr : &grid->second.of();
  if (!tensor || first > tensor->elements() || count > tensor->elements() - first)
    return failure("it has no elements " + std::to_string(first) + " to " + std::to_string(first + count) + " of " + quotedName(name));
  uint64_t unit = bytesOfType(tensor->type);
  while (count > 0) {
    PieceGrid::Found found = grid->second.find(first);
    uint64_t take = std::min(found.count, count);
    if (Status status = readPiece(*tensor, *found.piece, found.first, take, bytes); !status.ok())
      return status;
    first += take, count -= take, bytes += take * unit;
  }
  return {};
}

Status OpenCheckpoint::verifyPiece(const ManifestTensor &tensor, const ManifestPiece &piece,
                                   const std::function<void(uint64_t)> &progress) const {
  uint64_t unit = bytesOfType(tensor.type), atOnce = hashedAtOnce / unit;
  std::unique_ptr<uint8_t[]> block(new uint8_t[std::min(atOnce, piece.elements()) * unit]);
  files::StreamHash hash;
  for (uint64_t at = 0; at < piece.elements(); at += atOnce) {
    uint64_t count = std::min(atOnce, piece.elements() - at);
    if (Status status = readPiece(tensor, piece, at, count, block.get()); !status.ok())
      return status;
    hash.add(block.get(), count * unit);
    if (progress)
      progress(count * unit);
  }
  return hash.text() == piece.hash ? Status() : failure(placeOf(tensor, piece) + ": its bytes were changed after they were written");
}

Status OpenCheckpoint::verify(uint64_t part, uint64_t parts, const std::function<void(uint64_t)> &progress) const {
  std::vector<PieceOf> pieces;
  uint64_t number = 0;
  for (const ManifestTensor &tensor : content.tensors)
    for (const ManifestPiece &piece : tensor.pieces)
      if (number++ % parts == part)
        pieces.emplace_back(&tensor, &piece);
  return verifyPieces(pieces, progress);
}

Status OpenCheckpoint::compareHashes(const std::vector<std::string> &names) const {
  std::vector<PieceOf> pieces;
  for (const std::string &name : names)
    if (const ManifestTensor *tensor = content.find(name))
      for (const ManifestPiece &piece : tensor->pieces)
        pieces.emplace_back(tensor, &piece);
  return verifyPieces(pieces, nullptr);
}

Status OpenCheckpoint::verifyPieces(const std::vector<PieceOf> &pieces, const std::function<void(uint64_t)> &progress) const {
  std::mutex mutex;
  Status failed;
  std::atomic<size_t> firstFailed{pieces.size()}; // the first in the manifest: the same whatever the threads do
  parallelFor(pieces.size(), [&](uint64_t i) {
    if (firstFailed < i)
      return;
    Status status = verifyPiece(*pieces[i].first, *pieces[i].second, progress);
    std::lock_guard<std::mutex> lock(mutex);
    if (!status.ok() && i < firstFailed)
      firstFailed = i, failed = status;
  });
  return failed;
}

/// The number of a committed checkpoint's name, "step-100".
std::optional<uint64_t> stepOf(const std::string &name) {
  const std::string prefix = "step-";
  std::string digits = name.compare(0, prefix.size(), prefix) == 0 ? name.substr(prefix.size()) : "";
  bool number = !digits.empty() && digits.size() <= 18 && digits.find_first_not_of("0123456789") == std::string::npos;
  return number && (digits == "0" || digits[0] != '0') ? std::optional<uint64_t>(std::stoull(digits)) : std::nullopt;
}

} // namespace

bool holdsCheckpoint(const std::string &folder) {
  if (hasManifest(folder))
    return true;
  const std::string ending = ".safetensors";
  Result<std::vector<std::string>> names = files::namesIn(folder);
  return names.ok() && std::any_of(names->begin(), names->end(), [&](const std::string &name) {
           return name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
         });
}

Result<std::vector<CommittedCheckpoint>> namedCheckpoints(const std::string &folder) {
  Result<std::vector<std::string>> names = files::namesIn(folder);
  if (!names.ok())
    return names.status();
  std::vector<CommittedCheckpoint> found;
  for (const std::string &name : *names)
    if (std::optional<uint64_t> step = stepOf(name))
      found.push_back({*step, folder + "/" + name});
  std::sort(found.begin(), found.end(), [](const CommittedCheckpoint &a, const CommittedCheckpoint &b) { return a.step < b.step; });
  return found;
}

Result<std::vector<CommittedCheckpoint>> committedCheckpoints(const std::string &folder) {
  Result<std::vector<CommittedCheckpoint>> named = namedCheckpoints(folder);
  if (named.ok())
    named->erase(std::remove_if(named->begin(), named->end(), [](const CommittedCheckpoint &each) { return !holdsCheckpoint(each.path); }),
                 named->end());
  return named;
}

bool isCheckpoint(const std::string &path) {
  if (hasManifest(path))
    return true;
  Result<std::vector<CommittedCheckpoint>> found = committedCheckpoints(path);
  return found.ok() && !found->empty();
}

Result<std::shared_ptr<const CheckpointStore>> openCheckpointStore(const std::string &path) {
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back();
  if (!hasManifest(folder)) {
    Result<std::vector<CommittedCheckpoint>> found = namedCheckpoints(folder);
    if (!found.ok())
      return found.status();
    if (found->empty())
      return Status::badInput("'" + path + "' holds no checkpoint: it has neither a " + Manifest::fileName + " nor a folder 'step-N'");
    Result<std::shared_ptr<const CheckpointStore>> newest = openNamed(found->back());
    if (newest.ok())
      return newest;
    Result<NewestCheckpoint> whole = newestWhole(folder);
    return whole.ok() ? Status(newest.status().code(), newest.status().message() + "; '" + whole->store->folder() + "' is whole")
                      : newest.status();
  }
  Result<Manifest> manifest = readManifest(folder);
  if (!manifest.ok())
    return manifest.status();
  auto store = std::make_shared<OpenCheckpoint>(folder, std::move(*manifest));
  if (Status status = store->open(); !status.ok())
    return status;
  return std::shared_ptr<const CheckpointStore>(std::move(store));
}

Result<std::shared_ptr<const CheckpointStore>> openNamed(const CommittedCheckpoint &named) {
  if (!hasManifest(named.path)) {
    Result<std::vector<std::string>> names = files::namesIn(named.path);
    return names.ok() ? Status::badInput("'" + named.path + "' holds no checkpoint: it has no " + Manifest::fileName) : names.status();
  }
  Result<std::shared_ptr<const CheckpointStore>> opened = openCheckpointStore(named.path);
  if (opened.ok() && (*opened)->manifest().step != named.step)
    return Status::badInput("'" + named.path + "' holds the checkpoint of step " + std::to_string((*opened)->manifest().step));
  return opened;
}

Result<std::string> folderOfCheckpoint(const std::string &path) {
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back();
  if (hasManifest(folder))
    return folder;
  TRY(std::vector<CommittedCheckpoint> found, namedCheckpoints(folder));
  if (found.empty())
    return Status::badInput("'" + path + "' holds no checkpoint: it has neither a " + Manifest::fileName + " nor a folder 'step-N'");
  return found.back().path;
}

Result<NewestCheckpoint> newestWhole(const std::string &folder, uint64_t below) {
  Result<std::vector<CommittedCheckpoint>> named = namedCheckpoints(folder);
  if (!named.ok())
    return named.status();
  NewestCheckpoint found;
  Status newest = Status::badInput("'" + folder + "' holds no checkpoint");
  for (auto each = named->rbegin(); each != named->rend(); ++each) {
    if (each->step >= below)
      continue;
    Result<std::shared_ptr<const CheckpointStore>> opened = openNamed(*each);
    if (opened.ok()) {
      found.store = std::move(*opened);
      return found;
    }
    if (found.skipped.empty())
      newest = opened.status();
    if (opened.status().code() != Code::BadInput || isOfLaterFormat(each->path))
      return opened.status();
    found.skipped.push_back({each->path, opened.status().message()});
  }
  return newest;
}

} // namespace npar::engine
