// Writes the table of the data block, entry by entry.
#include "compiler/passes/export/DataTable.h"

#include "compiler/passes/export/ProgramTables.h"
#include "engine/program/Words.h"

using namespace mlir;

namespace npar {
namespace {

std::string text(DictionaryAttr entry, StringRef name) {
  auto attribute = entry.getAs<StringAttr>(name);
  return attribute ? attribute.str() : std::string();
}

int64_t number(DictionaryAttr entry, StringRef name) {
  auto attribute = entry.getAs<IntegerAttr>(name);
  return attribute ? attribute.getInt() : 0;
}

/// Takes the value that a word of the entry stands for; false when there is none.
template <typename Enum> bool take(DictionaryAttr entry, StringRef name, Enum &value) {
  std::optional<Enum> found = program::valueOf<Enum>(text(entry, name));
  if (found)
    value = *found;
  return found.has_value();
}

std::unique_ptr<program::DataFeedT> feedOf(DictionaryAttr entry, uint32_t input) {
  auto feed = std::make_unique<program::DataFeedT>();
  feed->input = input;
  feed->tensor = text(entry, "tensor");
  feed->shift = static_cast<uint32_t>(number(entry, "shift"));
  feed->valid = entry.getAs<BoolAttr>("valid") && entry.getAs<BoolAttr>("valid").getValue();
  feed->below = number(entry, "below");
  feed->axis = text(entry, "axis");
  if (auto source = entry.getAs<LocationAttr>("loc"))
    feed->source = sourceOf(source);
  return feed;
}

} // namespace

LogicalResult fillData(ModuleOp module, program::ProgramT &program) {
  auto data = module->getAttrOfType<DictionaryAttr>("npar.data");
  if (!data)
    return success();
  auto block = std::make_unique<program::DataBlockT>();
  block->name = text(data, "name");
  bool known = take(data, "order", block->order) && take(data, "last", block->last);
  for (auto group : data.getAs<ArrayAttr>("groups").getAsRange<DictionaryAttr>()) {
    auto made = std::make_unique<program::DataGroupT>();
    for (auto entry : group.getAs<ArrayAttr>("files").getAsRange<DictionaryAttr>()) {
      auto file = std::make_unique<program::DataFileT>();
      file->path = text(entry, "path"), file->lengths = text(entry, "lengths");
      file->weight = static_cast<uint32_t>(number(entry, "weight"));
      known &= take(entry, "format", file->format);
      made->files.push_back(std::move(file));
    }
    for (auto entry : group.getAs<ArrayAttr>("feeds").getAsRange<DictionaryAttr>())
      if (uint32_t input = findInput(program, text(entry, "input")); input < program.inputs.size())
        made->feeds.push_back(feedOf(entry, input));
    if (!made->feeds.empty())
      block->groups.push_back(std::move(made));
  }
  if (!known)
    return module.emitError("internal error: the data block '") << block->name << "' has a word that no program has";
  for (auto share : data.getAs<ArrayAttr>("shares").getAsValueRange<FloatAttr>())
    block->shares.push_back(share.convertToDouble());
  block->split_seed = static_cast<uint64_t>(number(data, "split_seed"));
  if (data.get("seed"))
    block->seed = static_cast<uint64_t>(number(data, "seed"));
  block->source = sourceOf(data.getAs<LocationAttr>("loc"));
  program.data = std::move(block);
  return success();
}

} // namespace npar
