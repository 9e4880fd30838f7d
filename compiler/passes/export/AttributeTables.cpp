// Copies the tables from the module's attributes, entry by entry.
#include "compiler/passes/export/AttributeTables.h"

#include "compiler/attributes/TableAttributes.h"
#include "compiler/passes/export/ProgramTables.h"

using namespace mlir;

namespace npar::compiler {
namespace {

/// `of`: the number of the input with the tokens that it describes.
std::unique_ptr<program::TextFeedT> textFeedOf(const attributes::TextFeedEntry &entry, uint32_t of) {
  auto text = std::make_unique<program::TextFeedT>();
  text->kind = entry.kind;
  text->columns = entry.columns;
  text->numbered = entry.numbered;
  text->names = entry.names;
  text->of = of;
  text->tokenizer = entry.tokenizer.str();
  if (entry.padding)
    text->padding = static_cast<int32_t>(*entry.padding);
  text->skip_empty = entry.skipsEmpty;
  return text;
}

std::unique_ptr<program::DataFeedT> feedOf(const attributes::DataFeedEntry &entry, uint32_t input) {
  auto feed = std::make_unique<program::DataFeedT>();
  feed->input = input;
  feed->tensor = entry.tensor.str();
  feed->shift = static_cast<uint32_t>(entry.shift);
  feed->valid = entry.valid;
  feed->below = entry.below;
  feed->axis = entry.axis.str();
  feed->folder_class = entry.isClass;
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

std::vector<std::unique_ptr<program::PictureStepT>> stepsOf(ArrayRef<attributes::PictureStepEntry> entries) {
  std::vector<std::unique_ptr<program::PictureStepT>> steps;
  for (const attributes::PictureStepEntry &entry : entries) {
    auto step = std::make_unique<program::PictureStepT>();
    step->kind = entry.kind;
    step->numbers = entry.numbers;
    step->interpolation = entry.interpolation;
    if (entry.loc)
      step->source = sourceOf(entry.loc);
    steps.push_back(std::move(step));
  }
  return steps;
}

/// The index of a result; nothing, with an error reported, where the program has none of that name.
std::optional<uint32_t> findResult(ModuleOp module, const program::ProgramT &program, StringRef name) {
  for (auto [index, result] : llvm::enumerate(program.results))
    if (result->name == name)
      return static_cast<uint32_t>(index);
  module.emitError("internal error: the program has no result '") << name << "'";
  return std::nullopt;
}

LogicalResult fillMeasure(ModuleOp module, const attributes::MeasureEntry &entry, program::ProgramT &program) {
  auto measure = std::make_unique<program::MeasureT>();
  measure->name = entry.name;
  measure->kind = entry.kind;
  measure->weight = entry.weight;
  for (const std::string &name : entry.values) {
    std::optional<uint32_t> index = findResult(module, program, name);
    if (!index)
      return failure();
    measure->values.push_back(*index);
  }
  if (!entry.counted.empty()) {
    std::optional<uint32_t> index = findResult(module, program, entry.counted);
    if (!index)
      return failure();
    measure->counted = static_cast<int32_t>(*index);
  }
  program.measures.push_back(std::move(measure));
  return success();
}

} // namespace

LogicalResult fillCheckpointRules(ModuleOp module, program::ProgramT &program) {
  FailureOr<std::vector<attributes::CheckpointEntry>> rules = attributes::getCheckpointRules(module);
  if (failed(rules))
    return failure();
  for (const attributes::CheckpointEntry &rule : *rules) {
    auto entry = std::make_unique<program::CheckpointRuleT>();
    entry->kind = rule.kind;
    entry->file = rule.file.str();
    entry->model = rule.model.str();
    program.checkpoint.push_back(std::move(entry));
  }
  return success();
}

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
      if (uint32_t input = findInput(program, feed.input); input < program.inputs.size()) {
        made->feeds.push_back(feedOf(feed, input));
        if (feed.text)
          made->feeds.back()->text = textFeedOf(*feed.text, feed.text->of.empty() ? 0 : findInput(program, feed.text->of));
      }
    if (!made->feeds.empty())
      block->groups.push_back(std::move(made));
  }
  block->shares = data.shares;
  block->split_seed = data.splitSeed;
  block->training = stepsOf(data.training);
  block->evaluation = stepsOf(data.evaluation);
  if (data.seed)
    block->seed = *data.seed;
  block->source = sourceOf(data.loc);
  program.data = std::move(block);
  return success();
}

LogicalResult fillMeasures(ModuleOp module, program::ProgramT &program) {
  FailureOr<std::vector<attributes::MeasureEntry>> measures = attributes::getMeasures(module);
  if (failed(measures))
    return failure();
  for (const attributes::MeasureEntry &entry : *measures)
    if (failed(fillMeasure(module, entry, program)))
      return failure();
  for (const attributes::PredictionEntry &entry : attributes::getPredictions(module)) {
    std::optional<uint32_t> index = findResult(module, program, entry.result);
    if (!index)
      return failure();
    program.predictions.push_back(std::make_unique<program::PredictionT>());
    program.predictions.back()->name = entry.name;
    program.predictions.back()->result = *index;
    program.predictions.back()->scores = entry.scores;
  }
  return success();
}

} // namespace npar::compiler
