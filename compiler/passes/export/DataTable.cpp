// Writes the table of the data block, entry by entry.
#include "compiler/passes/export/DataTable.h"

#include "compiler/attributes/TableAttributes.h"
#include "compiler/passes/export/ProgramTables.h"

using namespace mlir;

namespace npar {
namespace {

std::unique_ptr<program::DataFeedT> feedOf(const attributes::DataFeedEntry &entry, uint32_t input) {
  auto feed = std::make_unique<program::DataFeedT>();
  feed->input = input;
  feed->tensor = entry.tensor.str();
  feed->shift = static_cast<uint32_t>(entry.shift);
  feed->valid = entry.valid;
  feed->below = entry.below;
  feed->axis = entry.axis.str();
  if (entry.loc)
    feed->source = sourceOf(entry.loc);
  return feed;
}

std::unique_ptr<program::DataFileT> fileOf(const attributes::DataFileEntry &entry) {
  auto file = std::make_unique<program::DataFileT>();
  file->path = entry.path.str();
  file->format = entry.format;
  file->weight = static_cast<uint32_t>(entry.weight);
  file->lengths = entry.lengths.str();
  return file;
}

} // namespace

LogicalResult fillData(ModuleOp module, program::ProgramT &program) {
  FailureOr<std::optional<attributes::DataBlockEntry>> read = attributes::getDataBlock(module);
  if (failed(read))
    return failure();
  if (!*read)
    return success();
  const attributes::DataBlockEntry &data = **read;
  auto block = std::make_unique<program::DataBlockT>();
  block->name = data.name.str();
  block->order = data.order;
  block->last = data.last;
  for (const attributes::DataGroupEntry &group : data.groups) {
    auto made = std::make_unique<program::DataGroupT>();
    for (const attributes::DataFileEntry &file : group.files)
      made->files.push_back(fileOf(file));
    for (const attributes::DataFeedEntry &feed : group.feeds)
      if (uint32_t input = findInput(program, feed.input); input < program.inputs.size())
        made->feeds.push_back(feedOf(feed, input));
    if (!made->feeds.empty())
      block->groups.push_back(std::move(made));
  }
  block->shares = data.shares;
  block->split_seed = data.splitSeed;
  if (data.seed)
    block->seed = *data.seed;
  block->source = sourceOf(data.loc);
  program.data = std::move(block);
  return success();
}

} // namespace npar
