// Copies the lines of the text; measures are collected while an evaluation is built.
#include "compiler/import/ImportTables.h"

using namespace mlir;

namespace npar::compiler {

void setCheckpointRules(ModuleOp module, const dsl::Model &model) {
  std::vector<attributes::CheckpointEntry> rules;
  for (const dsl::CheckpointRule &rule : model.checkpoint)
    rules.push_back({rule.kind, rule.file, rule.model});
  if (!rules.empty())
    attributes::setCheckpointRules(module, rules);
}

void setDataBlock(ModuleOp module, const dsl::Data &data, llvm::function_ref<LocationAttr(const dsl::Location &)> location) {
  attributes::DataBlockEntry block;
  block.name = data.name;
  block.order = data.order;
  block.last = data.last;
  for (const dsl::DataGroup &group : data.groups) {
    attributes::DataGroupEntry &entry = block.groups.emplace_back();
    for (const dsl::DataFile &file : group.files)
      entry.files.push_back({file.path, file.format, file.weight, file.lengths});
    for (const dsl::DataFeed &feed : group.feeds) {
      entry.feeds.push_back(
          {feed.input, feed.tensor, feed.shift, feed.valid, feed.below, feed.belowAxis, location(feed.location), feed.isClass});
      if (const auto &text = feed.text)
        entry.feeds.back().text = {text->kind, text->columns,   text->numbered, text->names,
                                   text->of,   text->tokenizer, text->padding,  text->skipsEmpty};
    }
  }
  for (const auto &[from, to] : {std::pair(&data.training, &block.training), std::pair(&data.evaluation, &block.evaluation)})
    for (const dsl::PictureStep &step : *from)
      to->push_back({step.kind, step.numbers, step.interpolation, location(step.location)});
  block.shares = data.shares;
  block.splitSeed = data.splitSeed;
  block.seed = data.seed;
  block.loc = location(data.location);
  attributes::setDataBlock(module, block);
}

void MeasureList::add(StringRef name, program::MeasureKind kind, double weight, ArrayRef<std::string> values, StringRef counted) {
  measures.push_back({name.str(), kind, weight, values.vec(), counted.str()});
}

void MeasureList::addPrediction(StringRef name, StringRef result, bool scores) {
  predictions.push_back({name.str(), result.str(), scores});
}

void MeasureList::set(ModuleOp module) const {
  if (!measures.empty())
    attributes::setMeasures(module, measures);
  if (!predictions.empty())
    attributes::setPredictions(module, predictions);
}

} // namespace npar::compiler
