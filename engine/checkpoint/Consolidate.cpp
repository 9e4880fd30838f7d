// Blocks of a tensor are read and written in parallel: each has its own place in the file.
#include "engine/checkpoint/Consolidate.h"

#include "engine/checkpoint/SafetensorsWriter.h"
#include "engine/checkpoint/StoredType.h"
#include "engine/logging/Json.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <oneapi/tbb/parallel_for.h>

namespace npar::engine {

namespace {

constexpr uint64_t blockElements = uint64_t{1} << 20;

uint64_t bytesOf(const StoreEntry &entry) {
  Result<uint64_t> bytes = bytesOfTensor(entry.type, entry.shape);
  return bytes.ok() ? *bytes : 0; // an open store has no other
}

} // namespace

std::vector<std::vector<std::string>> groupsOf(const TensorStore &store, const std::vector<std::string> &names, uint64_t most) {
  std::vector<std::vector<std::string>> groups;
  uint64_t bytes = 0; // of the last
  for (const std::string &name : names) {
    uint64_t each = bytesOf(store.tensors().at(name));
    if (groups.empty() || (bytes > 0 && each > most - std::min(most, bytes)))
      groups.emplace_back(), bytes = 0;
    groups.back().push_back(name);
    bytes += each;
  }
  return groups;
}

Status writeTensors(const TensorStore &store, const std::vector<std::string> &names, const std::string &path,
                    const std::function<void(uint64_t)> &progress) {
  std::vector<TensorToWrite> tensors;
  for (const std::string &name : names)
    tensors.push_back({name, store.tensors().at(name).type, store.tensors().at(name).shape});
  Result<std::unique_ptr<SafetensorsWriter>> writer = SafetensorsWriter::create(path, tensors);
  if (!writer.ok())
    return writer.status();
  std::mutex mutex;
  Status failed;
  std::atomic<bool> stop = false;
  auto fail = [&](const Status &status) {
    std::lock_guard<std::mutex> lock(mutex);
    if (failed.ok())
      failed = status;
    stop = true;
  };
  for (size_t i = 0; i < names.size() && !stop; ++i) {
    const uint64_t bits = findStoredType(tensors[i].type)->bits, elements = (*writer)->bytesOf(i) * 8 / bits;
    auto writeBlock = [&](uint64_t number) {
      uint64_t first = number * blockElements, count = std::min(blockElements, elements - first), size = count * bits / 8;
      if (stop)
        return;
      std::vector<uint8_t> bytes(size);
      if (Status status = store.read(names[i], first, count, bytes.data()); !status.ok())
        return fail(status);
      if (Status status = (*writer)->write(i, first * bits / 8, bytes.data(), size); !status.ok())
        return fail(status);
      if (progress)
        progress(size);
    };
    const uint64_t blocks = (elements + blockElements - 1) / blockElements;
    if (!(*writer)->isInOrder())
      tbb::parallel_for(uint64_t{0}, blocks, writeBlock);
    for (uint64_t number = 0; number < blocks && (*writer)->isInOrder(); ++number)
      writeBlock(number);
  }
  return failed.ok() ? (*writer)->commit() : failed;
}

std::string groupFileName(size_t index, size_t count) {
  char name[64];
  std::snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return name;
}

std::string groupIndexText(const TensorStore &store, const std::vector<std::vector<std::string>> &groups) {
  uint64_t total = 0;
  std::string map;
  for (size_t i = 0; i < groups.size(); ++i)
    for (const std::string &name : groups[i]) {
      total += bytesOf(store.tensors().at(name));
      map += std::string(map.empty() ? "" : ",") + "\n    " + jsonString(name) + ": " + jsonString(groupFileName(i, groups.size()));
    }
  return "{\n  \"metadata\": {\"total_size\": " + std::to_string(total) + "},\n  \"weight_map\": {" + map + "\n  }\n}\n";
}

} // namespace npar::engine
