// Finds out which parameters a part has, and leaves their tensors in the base out.
#include "engine/checkpoint/Parts.h"

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/FileNames.h"

#include <optional>
#include <set>

namespace npar::engine {

namespace {

using StorePointer = std::shared_ptr<const TensorStore>;

/// Tensors of two stores under their own names.
class Replaced final : public TensorStore {
public:
  /// `kept`: the tensors of `base` that stay.
  Replaced(StorePointer base, const std::set<std::string> &kept, StorePointer part)
      : text(base->description() + " with a part from " + part->description()), base(std::move(base)), part(std::move(part)),
        entries(weightsOf(*this->part)) {
    for (const auto &[name, entry] : entries)
      ofPart.insert(name);
    for (const std::string &name : kept)
      entries.insert({name, this->base->tensors().at(name)});
  }
  const std::string &description() const override { return text; }
  const std::map<std::string, StoreEntry> &tensors() const override { return entries; }
  std::vector<std::string> paths() const override {
    std::vector<std::string> paths = base->paths(), more = part->paths();
    paths.insert(paths.end(), more.begin(), more.end());
    return paths;
  }
  Status read(const std::string &name, uint64_t first, uint64_t count, uint8_t *bytes) const override {
    return (ofPart.count(name) ? part : base)->read(name, first, count, bytes);
  }
  Status compareHashes(const std::vector<std::string> &names) const override {
    std::vector<std::string> ofBase, others;
    for (const std::string &name : names)
      (ofPart.count(name) ? others : ofBase).push_back(name);
    Status status = base->compareHashes(ofBase);
    return status.ok() ? part->compareHashes(others) : status;
  }

private:
  std::string text;
  StorePointer base, part;
  std::map<std::string, StoreEntry> entries;
  std::set<std::string> ofPart;
};

/// The tensors of each parameter that a store has.
std::map<const program::Variable *, std::vector<NamedTensor>> tensorsByParameter(const FileNames &names) {
  std::map<const program::Variable *, std::vector<NamedTensor>> found;
  for (const auto *list : {&names.loaded, &names.same})
    for (const NamedTensor &each : *list)
      found[each.parameter].push_back(each);
  return found;
}

/// The indices of a parameter that a part has; nothing if it has them all.
std::optional<std::set<int64_t>> someIndices(const program::Variable &parameter, const std::vector<NamedTensor> &tensors) {
  std::set<int64_t> indices;
  for (const NamedTensor &each : tensors)
    if (each.index < 0)
      return std::nullopt;
    else
      indices.insert(each.index);
  return indices.size() < program::indexedTensor(parameter)->count ? std::optional(indices) : std::nullopt;
}

Result<StorePointer> replace(const program::Program &program, StorePointer base, StorePointer part) {
  const std::map<std::string, StoreEntry> ofBase = weightsOf(*base), ofPart = weightsOf(*part);
  const FileNames names = namesOf(program, ofPart);
  if (!names.unknown.empty())
    return Status::badInput(part->description() + " cannot be a part of the model, which has no parameter for its tensor " +
                            quotedName(names.unknown.front()));
  const auto replaced = tensorsByParameter(names);
  if (replaced.empty())
    return Status::badInput(part->description() + " has no tensor of the model");
  std::set<std::string> kept;
  for (const auto &[name, entry] : ofBase)
    kept.insert(name);
  const FileNames namesOfBase = namesOf(program, ofBase);
  for (const auto &[parameter, tensors] : tensorsByParameter(namesOfBase)) {
    const auto found = replaced.find(parameter);
    if (found == replaced.end())
      continue;
    const std::optional<std::set<int64_t>> some = someIndices(*parameter, found->second);
    for (const NamedTensor &each : tensors)
      if (some && each.index < 0)
        return Status::badInput(part->description() + " has " + std::to_string(some->size()) + " of the " +
                                std::to_string(program::indexedTensor(*parameter)->count) + " tensors of parameter '" +
                                parameter->name()->str() + "', which is one tensor " + quotedName(each.name) + " in " +
                                base->description() + "\nnpar: help: export all of the parameter: --only '" + parameter->name()->str() +
                                "'");
      else if (!some || some->count(each.index))
        kept.erase(each.name);
  }
  return StorePointer(std::make_shared<const Replaced>(std::move(base), kept, std::move(part)));
}

} // namespace

std::map<std::string, StoreEntry> weightsOf(const TensorStore &store) {
  std::map<std::string, StoreEntry> tensors = store.tensors();
  if (auto *checkpoint = dynamic_cast<const CheckpointStore *>(&store))
    for (const ManifestTensor &tensor : checkpoint->manifest().tensors)
      if (tensor.kind != "parameter")
        tensors.erase(tensor.name);
  return tensors;
}

Result<StorePointer> withParts(const program::Program &program, StorePointer base, const std::vector<std::string> &parts) {
  for (const std::string &path : parts) {
    Result<StorePointer> part = openTensorStore(path);
    if (!part.ok())
      return part.status();
    Result<StorePointer> whole = replace(program, std::move(base), *part);
    if (!whole.ok())
      return whole.status();
    base = *whole;
  }
  return base;
}

} // namespace npar::engine
