// Blocks of a tensor are read, converted and written in parallel: each has its own place in the file.
#include "engine/checkpoint/TensorFiles.h"

#include "engine/checkpoint/CountsAsFloats.h"
#include "engine/checkpoint/HuggingFaceStore.h"
#include "engine/checkpoint/IndexedParameter.h"
#include "engine/device/ParallelFor.h"
#include "engine/files/Destination.h"
#include "engine/files/Folders.h"
#include "engine/files/OpenFolder.h"
#include "engine/files/SyncedFile.h"
#include "engine/json/Json.h"
#include "engine/numbers/Convert.h"
#include "engine/pytorch/StateDictWriter.h"
#include "engine/safetensors/SafetensorsWriter.h"
#include "engine/safetensors/StoredType.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <unistd.h>

namespace npar::engine {

namespace {

/// That are read together. A multiple of 8, so that no byte is in two blocks, however narrow the elements are.
constexpr uint64_t blockElements = uint64_t{1} << 20;

uint64_t bytesOf(const std::string &type, uint64_t elements) { return elements * findStoredType(type)->bits / 8; }

StoreEntry entryOf(const TensorStore &store, const TensorToStore &tensor) {
  StoreEntry entry = store.tensors().at(tensor.source);
  if (tensor.indexed)
    entry.shape = tensor.indexed->shape;
  return entry;
}

uint64_t bytesOf(const TensorStore &store, const TensorToStore &tensor) { return bytesOf(tensor.type, entryOf(store, tensor).elements()); }

/// False where a finite value has become infinite, or a count is no whole number.
bool convertBlock(const std::string &from, const uint8_t *source, const std::string &to, uint8_t *target, uint64_t count) {
  if (to == countWord)
    return withType(*findStoredType(from)->element, [&](auto given) {
      std::vector<double> values(count);
      convert<double, decltype(given)>(values.data(), source, count);
      return writeCounts(values.data(), count, target);
    });
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

/// One tensor on its way into a file.
class TensorStream {
public:
  TensorStream(const TensorStore &store, const TensorToStore &tensor, TensorWriter &writer, size_t index, const WrittenPart &written)
      : store(store), tensor(tensor), writer(writer), index(index), written(written), type(entryOf(store, tensor).type),
        elements(entryOf(store, tensor).elements()) {}

  Status run() {
    const uint64_t blocks = (elements + blockElements - 1) / blockElements;
    if (!writer.isInOrder())
      parallelFor(blocks, [&](uint64_t number) { write(number); });
    for (uint64_t number = 0; number < blocks && writer.isInOrder(); ++number)
      write(number);
    return failure;
  }

private:
  /// The first block that fails says why, whichever comes first in time.
  void write(uint64_t number) {
    if (failed < number)
      return;
    Status status = writeBlock(number * blockElements, std::min(blockElements, elements - number * blockElements));
    if (status.ok())
      return;
    std::lock_guard<std::mutex> lock(mutex);
    if (number < failed)
      failed = number, failure = status;
  }

  Status writeBlock(uint64_t first, uint64_t count) {
    std::vector<uint8_t> bytes(bytesOf(type, count));
    Status status = tensor.indexed ? readPart(store, tensor.source, *tensor.indexed, tensor.index, first, count, bytes.data())
                                   : store.read(tensor.source, first, count, bytes.data());
    if (!status.ok())
      return status;
    if (type != tensor.type) {
      std::vector<uint8_t> converted(bytesOf(tensor.type, count));
      if (!convertBlock(type, bytes.data(), tensor.type, converted.data(), count))
        return Status::badInput("tensor " + quotedName(tensor.source) + " of " + store.description() +
                                (tensor.type == countWord ? " has values that are no whole numbers" : " has values beyond " + tensor.type));
      bytes.swap(converted);
    }
    status = writer.write(index, bytesOf(tensor.type, first), bytes.data(), bytes.size());
    if (!status.ok())
      return status;
    return !written || written(bytes.size()) ? Status() : Status::runFailed("stopped in tensor " + quotedName(tensor.name));
  }

  const TensorStore &store;
  const TensorToStore &tensor;
  TensorWriter &writer;
  const size_t index;
  const WrittenPart &written;
  const std::string type;
  const uint64_t elements;
  std::mutex mutex;
  Status failure;
  std::atomic<uint64_t> failed{UINT64_MAX};
};

Status writeText(const std::string &path, const std::string &text) {
  Result<files::SyncedFile> file = files::SyncedFile::create(path);
  if (!file.ok())
    return file.status();
  Status status = file->write(text.data(), text.size());
  return status.ok() ? file->finish() : status;
}

Result<std::unique_ptr<TensorWriter>> createFile(const std::string &path, const std::vector<TensorToWrite> &tensors, TensorFormat format) {
  auto asWriter = [](auto writer) -> Result<std::unique_ptr<TensorWriter>> {
    return writer.ok() ? Result<std::unique_ptr<TensorWriter>>(std::move(*writer)) : writer.status();
  };
  switch (format) {
  case TensorFormat::Safetensors:
    return asWriter(SafetensorsWriter::create(path, tensors));
  case TensorFormat::Pytorch:
    return asWriter(StateDictWriter::create(path, tensors));
  }
  return Status::internal("internal error: unknown format of tensors");
}

std::string fileName(size_t index, size_t count) {
  if (count == 1)
    return singleTensorFile;
  char name[64];
  std::snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return name;
}

/// Removes a folder that `fillFolder` has failed to fill, with what that may have written and nothing else.
void removeUnfinished(const std::filesystem::path &path, size_t files, const TensorFolder &options) {
  Result<files::OpenFolder> parent = files::OpenFolder::open(path.has_parent_path() ? path.parent_path().string() : ".");
  Result<files::OpenFolder> folder = parent.ok() ? parent->inside(path.filename().string()) : parent.status();
  if (!folder.ok())
    return;
  std::vector<std::string> names = {tensorIndexFile};
  for (size_t i = 0; i < files; ++i)
    names.push_back(fileName(i, files));
  for (const auto &[name, text] : options.texts)
    names.push_back(name);
  for (const std::string &name : names)
    (void)folder->removeFile(name); // what is wrong has been found already
  (void)parent->removeEmptyFolder(path.filename().string());
}

/// Into a folder that is there.
Status fillFolder(const TensorStore &store, const std::vector<std::vector<TensorToStore>> &files, const std::string &folder,
                  const TensorFolder &options, WrittenFolder &result) {
  OrderedJson index, map = OrderedJson::object();
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string name = fileName(i, files.size());
    if (Status status = writeTensorFile(store, files[i], folder + "/" + name, options.written); !status.ok())
      return status;
    for (const TensorToStore &tensor : files[i]) {
      map[tensor.name] = name;
      result.bytes += bytesOf(store, tensor);
    }
  }
  result.files = files.size();
  index["metadata"]["total_size"] = result.bytes;
  index["weight_map"] = std::move(map);
  if (files.size() > 1)
    if (Status status = writeText(folder + "/" + tensorIndexFile, index.dump(2) + "\n"); !status.ok())
      return status;
  for (const auto &[name, text] : options.texts)
    if (Status status = writeText(folder + "/" + name, text); !status.ok())
      return status;
  return files::syncFolder(folder);
}

} // namespace

Status writeTensorFile(const TensorStore &store, const std::vector<TensorToStore> &tensors, const std::string &path,
                       const WrittenPart &written, TensorFormat format) {
  std::vector<TensorToWrite> list;
  for (const TensorToStore &tensor : tensors)
    list.push_back({tensor.name, tensor.type, entryOf(store, tensor).shape});
  Result<std::unique_ptr<TensorWriter>> writer = createFile(path, list, format);
  if (!writer.ok())
    return writer.status();
  for (size_t i = 0; i < tensors.size(); ++i)
    if (Status status = TensorStream(store, tensors[i], **writer, i, written).run(); !status.ok())
      return status;
  return (*writer)->commit();
}

std::vector<std::vector<TensorToStore>> cutIntoFiles(const TensorStore &store, const std::vector<TensorToStore> &tensors, uint64_t most) {
  std::vector<std::vector<TensorToStore>> files;
  uint64_t used = 0; // of the last
  for (const TensorToStore &tensor : tensors) {
    uint64_t bytes = bytesOf(store, tensor);
    if (files.empty() || (used > 0 && bytes > most - std::min(most, used)))
      files.emplace_back(), used = 0;
    files.back().push_back(tensor);
    used += bytes;
  }
  return files;
}

Result<WrittenFolder> writeTensorFolder(const TensorStore &store, const std::vector<TensorToStore> &tensors, const TensorFolder &options) {
  std::string folder = options.folder;
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back(); // the temporary folder next to it is named after it
  if (Status status = files::checkLink(folder); !status.ok())
    return status;
  Result<std::vector<std::string>> there = files::namesIn(folder);
  if (!there.ok())
    return there.status();
  if (!there->empty())
    return Status::badInput("folder '" + folder + "' is not empty: give another folder");
  const std::string destination = files::destinationOf(folder).path; // no folder can take the place of a link to an empty one
  const std::string beside = destination + ".partial-" + std::to_string(::getpid());
  WrittenFolder result;
  const std::vector<std::vector<TensorToStore>> files = cutIntoFiles(store, tensors, options.fileBytes);
  Status made = files::makeNewFolder(beside), status = made;
  if (status.ok())
    status = fillFolder(store, files, beside, options, result);
  if (status.ok())
    status = files::renameFolder(beside, destination);
  if (status.ok()) {
    const std::filesystem::path parent = std::filesystem::path(destination).parent_path();
    status = files::syncFolder(parent.empty() ? "." : parent.string());
    return status.ok() ? Result<WrittenFolder>(result) : status;
  }
  if (made.ok())
    removeUnfinished(beside, files.size(), options);
  std::string message = status.message();
  for (size_t at; (at = message.find(beside)) != std::string::npos;)
    message.replace(at, beside.size(), folder); // the name that people know
  return Status(status.code(), message);
}

} // namespace npar::engine
