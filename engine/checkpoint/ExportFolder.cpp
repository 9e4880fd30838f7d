// Cuts tensors into shards and writes them into a folder beside the one that is asked for, which then takes its place.
#include "engine/checkpoint/ExportFolder.h"

#include "engine/checkpoint/SafetensorsWriter.h"
#include "engine/checkpoint/StoredType.h"
#include "engine/files/Folders.h"
#include "engine/files/SyncedFile.h"
#include "engine/runtime/Convert.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <oneapi/tbb/parallel_for.h>
#include <unistd.h>

namespace npar::engine {

namespace {

constexpr uint64_t block = uint64_t{1} << 20; ///< elements that are converted together

uint64_t bytesOf(const std::string &type, uint64_t elements) { return elements * (findStoredType(type)->bits / 8); }

uint64_t elementsOf(const StoreEntry &entry) {
  uint64_t count = 1;
  for (int64_t size : entry.shape)
    count *= static_cast<uint64_t>(size);
  return count;
}

/// Without slashes at its end, where they say nothing.
std::string plainPath(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

class FolderExport {
public:
  FolderExport(const TensorStore &store, std::vector<ExportedTensor> list, const ExportOptions &options)
      : store(store), tensors(std::move(list)), options(options), folder(plainPath(options.folder)),
        beside(folder + ".partial-" + std::to_string(::getpid())) {
    std::sort(tensors.begin(), tensors.end(), [](const ExportedTensor &a, const ExportedTensor &b) { return a.name < b.name; });
  }

  Result<Exported> run() {
    Result<std::vector<std::string>> there = program::namesIn(folder);
    if (!there.ok())
      return there.status();
    if (!there->empty())
      return Status::badInput("folder '" + folder + "' is not empty: give the weights another one");
    std::vector<std::string> sources;
    for (const ExportedTensor &tensor : tensors)
      sources.push_back(tensor.source);
    if (Status status = store.compareHashes(sources); !status.ok())
      return status;
    Status status = program::makeFolder(beside);
    if (status.ok())
      status = fill();
    if (status.ok())
      status = program::syncFolder(beside);
    if (status.ok())
      status = program::renameFolder(beside, folder);
    if (status.ok())
      return result;
    (void)program::removeFolder(beside); // what is wrong has been found already
    std::string message = status.message();
    for (size_t at; (at = message.find(beside)) != std::string::npos;)
      message.replace(at, beside.size(), folder); // the name that people know
    return Status(status.code(), message);
  }

private:
  using Shard = std::vector<const ExportedTensor *>;

  const StoreEntry &entryOf(const ExportedTensor &tensor) const { return store.tensors().at(tensor.source); }
  uint64_t bytesOfTensor(const ExportedTensor &tensor) const { return bytesOf(tensor.type, elementsOf(entryOf(tensor))); }

  /// In order; a tensor that is too large for any file has one of its own.
  std::vector<Shard> cut() const {
    std::vector<Shard> shards(1);
    uint64_t used = 0;
    for (const ExportedTensor &tensor : tensors) {
      uint64_t bytes = bytesOfTensor(tensor);
      if (!shards.back().empty() && (bytes > options.shardBytes || used > options.shardBytes - bytes)) {
        shards.emplace_back();
        used = 0;
      }
      shards.back().push_back(&tensor);
      used += bytes;
    }
    return shards;
  }

  Status fill() {
    std::vector<Shard> shards = cut();
    nlohmann::ordered_json index, map = nlohmann::ordered_json::object();
    for (size_t i = 0; i < shards.size(); ++i) {
      char name[64] = "model.safetensors";
      if (shards.size() > 1)
        std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1, shards.size());
      if (Status status = writeShard(beside + "/" + name, shards[i]); !status.ok())
        return status;
      for (const ExportedTensor *tensor : shards[i])
        map[tensor->name] = name;
    }
    result.files = shards.size(), result.bytes = done;
    index["metadata"]["total_size"] = result.bytes;
    index["weight_map"] = std::move(map);
    if (shards.size() > 1)
      if (Status status = writeText("model.safetensors.index.json", index.dump(2) + "\n"); !status.ok())
        return status;
    for (const auto &[name, text] : options.texts)
      if (Status status = writeText(name, text); !status.ok())
        return status;
    return {};
  }

  Status writeText(const std::string &name, const std::string &text) {
    Result<program::SyncedFile> file = program::SyncedFile::create(beside + "/" + name);
    if (!file.ok())
      return file.status();
    Status status = file->write(text.data(), text.size());
    return status.ok() ? file->finish() : status;
  }

  Status writeShard(const std::string &path, const Shard &shard) {
    std::vector<TensorToWrite> list;
    for (const ExportedTensor *tensor : shard)
      list.push_back({tensor->name, tensor->type, entryOf(*tensor).shape});
    Result<std::unique_ptr<SafetensorsWriter>> writer = SafetensorsWriter::create(path, list);
    if (!writer.ok())
      return writer.status();
    for (size_t i = 0; i < shard.size(); ++i)
      if (Status status = writeTensor(**writer, i, *shard[i]); !status.ok())
        return status;
    return (*writer)->commit();
  }

  Status writeTensor(SafetensorsWriter &writer, size_t index, const ExportedTensor &tensor) {
    uint64_t elements = elementsOf(entryOf(tensor));
    std::mutex mutex;
    Status failure;
    std::atomic<uint64_t> failed{UINT64_MAX}; // the first block that failed
    tbb::parallel_for(uint64_t{0}, (elements + block - 1) / block, [&](uint64_t i) {
      if (failed < i)
        return;
      Status status = writeBlock(writer, index, tensor, i * block, std::min(block, elements - i * block));
      std::lock_guard<std::mutex> lock(mutex);
      if (!status.ok() && i < failed)
        failed = i, failure = status;
    });
    return failure;
  }

  Status writeBlock(SafetensorsWriter &writer, size_t index, const ExportedTensor &tensor, uint64_t first, uint64_t count) {
    const std::string &type = entryOf(tensor).type;
    std::vector<uint8_t> bytes(bytesOf(type, count));
    if (Status status = store.read(tensor.source, first, count, bytes.data()); !status.ok())
      return status;
    if (type != tensor.type) {
      std::vector<uint8_t> converted(bytesOf(tensor.type, count));
      if (!convertBlock(type, bytes.data(), tensor.type, converted.data(), count))
        return Status::badInput("tensor " + quotedName(tensor.source) + " of " + store.description() + " has values beyond " + tensor.type);
      bytes.swap(converted);
    }
    if (Status status = writer.write(index, bytesOf(tensor.type, first), bytes.data(), bytes.size()); !status.ok())
      return status;
    uint64_t written = done += bytes.size();
    return !options.goOn || options.goOn(written) ? Status() : Status::runFailed("stopped after " + std::to_string(written) + " bytes");
  }

  /// False where a finite value has become infinite.
  static bool convertBlock(const std::string &from, const uint8_t *source, const std::string &to, uint8_t *target, uint64_t count) {
    return withType(*findStoredType(from)->element, [&](auto given) {
      return withType(*findStoredType(to)->element, [&](auto kept) {
        using From = decltype(given);
        using To = decltype(kept);
        convert<To, From>(reinterpret_cast<To *>(target), source, count);
        bool good = true;
        for (uint64_t i = 0; i < count; ++i)
          good &= std::isfinite(static_cast<float>(reinterpret_cast<const To *>(target)[i])) ||
                  !std::isfinite(static_cast<float>(reinterpret_cast<const From *>(source)[i]));
        return good;
      });
    });
  }

  const TensorStore &store;
  std::vector<ExportedTensor> tensors;
  const ExportOptions &options;
  const std::string folder, beside;
  std::atomic<uint64_t> done{0};
  Exported result;
};

} // namespace

Result<Exported> exportFolder(const TensorStore &store, std::vector<ExportedTensor> tensors, const ExportOptions &options) {
  return FolderExport(store, std::move(tensors), options).run();
}

} // namespace npar::engine
