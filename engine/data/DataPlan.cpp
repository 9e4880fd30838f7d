// Data blocks of programs and flags of runs, as one thing.
#include "engine/data/DataPlan.h"

#include "engine/program/Words.h"
#include "engine/text/TokenizerFiles.h"

#include <algorithm>
#include <cstdio>

namespace npar::engine {

using program::InputRole;

namespace {

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

/// ", resize(36), random_crop(4)"
std::string stepsText(const std::vector<pictures::Step> &steps) {
  std::string text;
  for (const pictures::Step &step : steps) {
    std::string values;
    for (double value : step.numbers)
      values += (values.empty() ? "" : ", ") + digits(value);
    text += std::string(", ") + wordOf(step.kind);
    if (step.interpolation != pictures::Interpolation::Antialiased)
      values += std::string(values.empty() ? "" : ", ") + "by " + wordOf(step.interpolation);
    text += values.empty() ? "" : "(" + values + ")";
  }
  return text;
}

TextFeed textOf(const program::TextFeed &from) {
  TextFeed text;
  text.kind = from.kind(), text.numbered = from.numbered(), text.of = from.of(), text.skipsEmpty = from.skip_empty();
  for (const flatbuffers::String *column : *from.columns())
    text.columns.push_back(column->str());
  for (const flatbuffers::String *name : *from.names())
    text.names.push_back(name->str());
  text.tokenizer = from.tokenizer()->str();
  if (from.padding())
    text.padding = *from.padding();
  return text;
}

} // namespace

std::optional<DataPlan> DataPlan::of(const program::Program &program) {
  const program::DataBlock *block = program.data();
  if (!block)
    return std::nullopt;
  DataPlan plan;
  for (const program::DataGroup *each : *block->groups()) {
    DataGroup &group = plan.groups.emplace_back();
    for (const program::DataFile *file : *each->files())
      group.files.push_back({file->path()->str(), file->format(), file->weight(), file->lengths()->str()});
    for (const program::DataFeed *feed : *each->feeds()) {
      group.feeds.push_back({feed->input(), feed->tensor()->str(), feed->shift(), feed->valid(), feed->folder_class()});
      if (feed->text())
        group.feeds.back().text = textOf(*feed->text());
    }
  }
  for (auto [steps, list] : {std::pair(block->training(), &plan.training), std::pair(block->evaluation(), &plan.evaluation)})
    for (uint32_t i = 0; steps && i < steps->size(); ++i)
      list->push_back(
          {steps->Get(i)->kind(), {steps->Get(i)->numbers()->begin(), steps->Get(i)->numbers()->end()}, steps->Get(i)->interpolation()});
  plan.order = block->order(), plan.last = block->last();
  if (block->seed())
    plan.seed = *block->seed();
  plan.split.shares.assign(block->shares()->begin(), block->shares()->end());
  plan.split.seed = block->split_seed();
  return plan;
}

Result<DataPlan> DataPlan::ofStream(const std::string &path, DataFormat format, const BatchShape &shape) {
  DataPlan plan;
  DataGroup &group = plan.groups.emplace_back();
  group.files.push_back({path, format});
  for (size_t i = 0; i < shape.inputs.size(); ++i) {
    const InputShape &input = shape.inputs[i];
    if (input.role == InputRole::Other)
      return Status::badInput("a file of tokens feeds only a sequence and its shifted targets: it cannot feed input '" + input.name +
                              "', " + input.typeText() + ", of " + shape.names() + "; give a safetensors file with a tensor for each");
    group.feeds.push_back({i, "", input.role == InputRole::Shifted});
  }
  return plan;
}

DataPlan DataPlan::ofTensors(const std::string &path, const BatchShape &shape) {
  DataPlan plan;
  DataGroup &group = plan.groups.emplace_back();
  group.files.push_back({path});
  for (size_t i = 0; i < shape.inputs.size(); ++i)
    group.feeds.push_back({i, shape.inputs[i].name});
  return plan;
}

TextFeed *DataPlan::find(TextFeedKind kind) {
  for (DataGroup &group : groups)
    for (DataFeed &feed : group.feeds)
      if (feed.text && feed.text->kind == kind)
        return &*feed.text;
  return nullptr;
}

std::set<std::string> DataPlan::tokenizers() const {
  std::set<std::string> found;
  for (const DataGroup &group : groups)
    for (const DataFeed &feed : group.feeds)
      if (feed.text && !feed.text->tokenizer.empty())
        found.insert(feed.text->tokenizer);
  return found;
}

int64_t DataPlan::reach() const {
  int64_t farthest = 0;
  for (const DataFeed &feed : groups[0].feeds)
    farthest = std::max(farthest, feed.shift);
  return farthest;
}

std::string DataPlan::stream() const { return hasTexts() ? "text" : (isStream() ? "tokens " : "") + std::string(wordOf(format())); }

std::string DataPlan::orderText() const {
  std::string text = wordOf(order), weights;
  if (seed)
    text += " seed " + std::to_string(*seed);
  if (last != LastBatch::Join)
    text += std::string(", ") + wordOf(last) + " last";
  for (size_t i = 0; i < split.shares.size(); ++i)
    text += (i ? ", " : ", split ") + digits(split.shares[i]);
  if (!split.shares.empty())
    text += " seed " + std::to_string(split.seed);
  for (const DataFile &file : groups[0].files)
    if (file.weight)
      weights += (weights.empty() ? ", weights " : " : ") + std::to_string(file.weight);
  return text + weights + stepsText(training);
}

std::vector<std::string> DataPlan::paths() const {
  std::vector<std::string> paths;
  for (const DataGroup &group : groups)
    for (const DataFile &file : group.files)
      for (const std::string &path : {file.path, file.lengths})
        if (!path.empty())
          paths.push_back(path);
  if (!mask.empty())
    paths.push_back(mask);
  for (const std::string &tokenizer : tokenizers())
    for (const std::string &path : tokenizerFiles(tokenizer))
      paths.push_back(path);
  return paths;
}

} // namespace npar::engine
