// Copies a data block to the module; `export` writes it into the compiled program.
#include "compiler/import/DataBlock.h"

#include "compiler/attributes/TableAttributes.h"

using namespace mlir;

void npar::setDataBlock(ModuleOp module, const dsl::Data &data, llvm::function_ref<LocationAttr(const dsl::Location &)> location) {
  attributes::DataBlockEntry block;
  block.name = data.name;
  block.order = data.order;
  block.last = data.last;
  for (const dsl::DataGroup &group : data.groups) {
    attributes::DataGroupEntry &entry = block.groups.emplace_back();
    for (const dsl::DataFile &file : group.files)
      entry.files.push_back({file.path, file.format, file.weight, file.lengths});
    for (const dsl::DataFeed &feed : group.feeds)
      entry.feeds.push_back({feed.input, feed.tensor, feed.shift, feed.valid, feed.below, feed.belowAxis, location(feed.location)});
  }
  block.shares = data.shares;
  block.splitSeed = data.splitSeed;
  block.seed = data.seed;
  block.loc = location(data.location);
  attributes::setDataBlock(module, block);
}
