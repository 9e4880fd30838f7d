// Copies a data block to the module; `emit` writes it into the compiled program.
#include "compiler/import/DataBlock.h"

#include "engine/program/Words.h"

using namespace mlir;

namespace npar {
namespace {

using Locate = llvm::function_ref<LocationAttr(const dsl::Location &)>;

class Writer {
public:
  Writer(Builder &builder, Locate location) : builder(builder), location(location) {}

  Attribute block(const dsl::Data &data) {
    SmallVector<Attribute> groups;
    for (const dsl::DataGroup &each : data.groups)
      groups.push_back(group(each));
    SmallVector<NamedAttribute> entries{text("name", data.name),
                                        text("order", wordOf(data.order)),
                                        text("last", wordOf(data.last)),
                                        list("groups", groups),
                                        entry("shares", builder.getF64ArrayAttr(data.shares)),
                                        number("split_seed", static_cast<int64_t>(data.splitSeed)),
                                        entry("loc", location(data.location))};
    if (data.seed)
      entries.push_back(number("seed", static_cast<int64_t>(*data.seed)));
    return builder.getDictionaryAttr(entries);
  }

private:
  NamedAttribute entry(StringRef name, Attribute value) { return builder.getNamedAttr(name, value); }
  NamedAttribute text(StringRef name, StringRef value) { return entry(name, builder.getStringAttr(value)); }
  NamedAttribute number(StringRef name, int64_t value) { return entry(name, builder.getI64IntegerAttr(value)); }
  NamedAttribute list(StringRef name, ArrayRef<Attribute> values) { return entry(name, builder.getArrayAttr(values)); }

  Attribute group(const dsl::DataGroup &group) {
    SmallVector<Attribute> files, feeds;
    for (const dsl::DataFile &file : group.files)
      files.push_back(builder.getDictionaryAttr({text("path", file.path), text("format", wordOf(file.format)),
                                                 number("weight", file.weight), text("lengths", file.lengths)}));
    for (const dsl::DataFeed &feed : group.feeds)
      feeds.push_back(builder.getDictionaryAttr({text("input", feed.input), text("tensor", feed.tensor), number("shift", feed.shift),
                                                 entry("valid", builder.getBoolAttr(feed.valid)), number("below", feed.below),
                                                 text("axis", feed.belowAxis), entry("loc", location(feed.location))}));
    return builder.getDictionaryAttr({list("files", files), list("feeds", feeds)});
  }

  Builder &builder;
  Locate location;
};

} // namespace

void setDataBlock(ModuleOp module, const dsl::Data &data, Builder &builder, Locate location) {
  module->setAttr("npar.data", Writer(builder, location).block(data));
}

} // namespace npar
