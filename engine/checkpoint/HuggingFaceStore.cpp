// Opens files and folders of safetensors; the shards of a folder are found through its index and held against it.
#include "engine/checkpoint/HuggingFaceStore.h"

#include "engine/checkpoint/JsonTree.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/InsideFolder.h"
#include "engine/files/RangeFile.h"
#include "engine/safetensors/StoredType.h"

#include <sys/stat.h>

namespace npar::engine {

namespace {

constexpr uint64_t largestIndex = 100'000'000; ///< bytes, as of a safetensors header
constexpr size_t mostShards = 10'000;
constexpr JsonLimits indexLimits = {8, 2'000'000};

bool exists(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

class Store final : public TensorStore {
public:
  explicit Store(std::string description) : text(std::move(description)) {}
  const std::string &description() const override { return text; }
  const std::map<std::string, StoreEntry> &tensors() const override { return entries; }
  std::vector<std::string> paths() const override { return opened; }

  Status read(const std::string &name, uint64_t first, uint64_t count, uint8_t *bytes) const override {
    auto found = places.find(name);
    if (found == places.end())
      return Status(Code::Internal, text + " has no tensor " + quotedName(name));
    const auto &[file, tensor] = found->second;
    unsigned bits = findStoredType(tensor->type)->bits;
    if (bits % 8 != 0)
      return Status::badInput(text + ": tensor " + quotedName(name) + " has type " + tensor->type + ", whose elements are no whole bytes");
    if (first > tensor->elements() || count > tensor->elements() - first)
      return Status(Code::Internal, text + " has no element " + std::to_string(first + count) + " of tensor " + quotedName(name));
    return file->readBytes(*tensor, first * (bits / 8), count * (bits / 8), bytes);
  }

  /// The file stays open with the store. A tensor that another file has too is an error.
  Status add(const std::shared_ptr<SafetensorsFile> &file, const std::string &fileName) {
    for (const auto &[name, tensor] : file->tensors()) {
      if (auto [other, fresh] = places.insert({name, {file.get(), &tensor}}); !fresh)
        return Status::badInput("tensor " + quotedName(name) + " is in " + quotedName(fileName) + " and in " + quotedName(fileNames[name]));
      entries[name] = {tensor.type, tensor.shape};
      fileNames[name] = fileName;
    }
    files.push_back(file);
    return {};
  }
  void reads(const std::string &path) { opened.push_back(path); }
  /// The file that holds a tensor; empty when none does.
  std::string fileOf(const std::string &name) const {
    auto found = fileNames.find(name);
    return found == fileNames.end() ? "" : found->second;
  }

private:
  struct Place {
    const SafetensorsFile *file;
    const StoredTensor *tensor;
  };
  std::string text;
  std::vector<std::shared_ptr<SafetensorsFile>> files;
  std::vector<std::string> opened;
  std::map<std::string, StoreEntry> entries;
  std::map<std::string, Place> places;
  std::map<std::string, std::string> fileNames;
};

using StorePointer = std::shared_ptr<const TensorStore>;

Result<std::string> readIndex(const std::string &path) {
  Result<files::RangeFile> file = files::RangeFile::open(path, "index");
  if (!file.ok())
    return file.status();
  if (file->size() > largestIndex)
    return Status::badInput("cannot read " + file->description() + ": it has " + std::to_string(file->size()) +
                            " bytes, an index has at most " + std::to_string(largestIndex));
  std::string text(file->size(), '\0');
  Status status = file->read(0, text.size(), text.data());
  return status.ok() ? Result<std::string>(std::move(text)) : status;
}

Result<StorePointer> openShards(const std::string &folder) {
  std::string path = folder + "/" + tensorIndexFile;
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read index '" + path + "': " + why); };
  Result<std::string> text = readIndex(path);
  if (!text.ok())
    return text.status();
  Result<std::map<std::string, std::string>> index = parseShardIndex(*text);
  if (!index.ok())
    return failure(index.status().message());
  auto store = std::make_shared<Store>("weights '" + folder + "'");
  std::map<std::string, std::string> shards; // by name
  for (const auto &[name, file] : *index)
    if (!shards.count(file)) {
      if (shards.size() == mostShards)
        return failure("it names more than " + std::to_string(mostShards) + " files");
      Result<std::string> inside = files::pathInside(folder, file);
      if (!inside.ok())
        return failure("the file " + quotedName(file) + " of tensor " + quotedName(name) + " is not allowed: " + inside.status().message());
      shards[file] = *inside;
    }
  store->reads(path);
  for (const auto &[name, shard] : shards) {
    store->reads(shard);
    Result<std::shared_ptr<SafetensorsFile>> file = SafetensorsFile::open(shard);
    if (!file.ok())
      return file.status();
    if (Status status = store->add(*file, name); !status.ok())
      return failure(status.message());
  }
  for (const auto &[name, file] : *index)
    if (std::string holder = store->fileOf(name); holder != file)
      return failure("tensor " + quotedName(name) + " is not in " + quotedName(file) +
                     (holder.empty() ? ", nor in another file" : " but in " + quotedName(holder)));
  for (const auto &[name, entry] : store->tensors())
    if (!index->count(name))
      return failure("it does not name tensor " + quotedName(name) + " of " + quotedName(store->fileOf(name)));
  return StorePointer(std::move(store));
}

} // namespace

Result<std::map<std::string, std::string>> parseShardIndex(const std::string &text) {
  Result<Json> tree = parseJsonTree(text, indexLimits);
  if (!tree.ok())
    return tree.status();
  if (!tree->is_object() || !tree->contains("weight_map") || !(*tree)["weight_map"].is_object())
    return Status::badInput("it has no object 'weight_map'");
  std::map<std::string, std::string> map;
  for (const auto &[name, file] : (*tree)["weight_map"].items()) {
    if (!file.is_string())
      return Status::badInput("the file of tensor " + quotedName(name) + " is no text");
    map[name] = file.get<std::string>();
  }
  if (map.empty())
    return Status::badInput("it names no tensor");
  return map;
}

Result<StorePointer> openSafetensorsStore(const std::string &path) {
  Result<std::shared_ptr<SafetensorsFile>> file = SafetensorsFile::open(path);
  if (!file.ok())
    return file.status();
  auto store = std::make_shared<Store>("weights '" + path + "'");
  store->reads(path);
  if (Status status = store->add(*file, path); !status.ok())
    return status;
  return StorePointer(std::move(store));
}

bool hasWeights(const std::string &folder) { return exists(folder + "/" + singleTensorFile) || exists(folder + "/" + tensorIndexFile); }

Result<StorePointer> openFolderStore(const std::string &folder) {
  bool single = exists(folder + "/" + singleTensorFile), index = exists(folder + "/" + tensorIndexFile);
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read weights '" + folder + "': " + why); };
  if (single && index)
    return failure(std::string("the folder has both ") + singleTensorFile + " and " + tensorIndexFile + "; remove one of them");
  if (index)
    return openShards(folder);
  if (single)
    return openSafetensorsStore(folder + "/" + singleTensorFile);
  if (exists(folder + "/pytorch_model.bin") || exists(folder + "/pytorch_model.bin.index.json"))
    return failure("pytorch_model.bin contains Python objects, which npar does not execute; convert it to safetensors with transformers: "
                   "save_pretrained(FOLDER)");
  return failure(std::string("the folder has neither ") + singleTensorFile + " nor " + tensorIndexFile);
}

} // namespace npar::engine
