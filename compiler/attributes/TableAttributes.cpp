// Entries of tables to dictionaries and back, field by field.
#include "compiler/attributes/TableAttributes.h"

#include "compiler/attributes/Fields.h"
#include "compiler/attributes/ModuleAttributes.h"

using namespace mlir;

namespace npar::attributes {

//===- Inputs ---------------------------------------------------------------------------------------------------------------===//

std::optional<std::vector<InputEntry>> getInputs(ModuleOp module) {
  if (!inputs.isOn(module))
    return std::nullopt;
  std::vector<InputEntry> entries;
  for (DictionaryAttr each : inputs.get(module)) {
    FieldReader fields(each);
    entries.push_back({fields.get<StringAttr>("name"), fields.type("type"), fields.givenInteger("classes"), fields.get<StringAttr>("axis"),
                       fields.location("source"), fields.get<StringAttr>("role"), fields.get<IntegerAttr>("ignore")});
  }
  return entries;
}

void setInputs(ModuleOp module, ArrayRef<InputEntry> entries) {
  SmallVector<Attribute> list;
  for (const InputEntry &entry : entries) {
    FieldWriter fields(module.getContext());
    fields.addGiven("name", entry.name);
    fields.addGiven("type", entry.type);
    if (entry.classes)
      fields.addInteger("classes", *entry.classes);
    fields.addGiven("axis", entry.axis);
    fields.addGiven("source", entry.source);
    fields.addGiven("role", entry.role);
    fields.addGiven("ignore", entry.ignore);
    list.push_back(fields.get());
  }
  inputs.set(module, list);
}

//===- The data block -------------------------------------------------------------------------------------------------------===//

/// Takes the value that a word of the entry stands for. Returns false for a word without a value.
template <typename Enum> static bool takeWord(const FieldReader &fields, StringRef name, Enum &value) {
  std::optional<Enum> found = program::valueOf<Enum>(fields.text(name));
  if (found)
    value = *found;
  return found.has_value();
}

/// Returns false for a word without a value.
static bool readTextFeed(DictionaryAttr from, std::optional<TextFeedEntry> &text) {
  if (!from)
    return true;
  FieldReader fields(from);
  text.emplace();
  text->columns = fields.texts<std::string>("columns"), text->names = fields.texts<std::string>("names");
  text->numbered = fields.boolean("numbered"), text->skipsEmpty = fields.boolean("skip_empty");
  text->of = fields.text("of"), text->tokenizer = fields.text("tokenizer");
  text->padding = fields.givenInteger("padding");
  return takeWord(fields, "kind", text->kind);
}

static DictionaryAttr writeTextFeed(MLIRContext *context, const TextFeedEntry &text) {
  FieldWriter fields(context);
  fields.addText("kind", wordOf(text.kind));
  fields.addTexts("columns", text.columns);
  fields.addBool("numbered", text.numbered);
  fields.addTexts("names", text.names);
  fields.addText("of", text.of);
  fields.addText("tokenizer", text.tokenizer);
  if (text.padding)
    fields.addInteger("padding", *text.padding);
  fields.addBool("skip_empty", text.skipsEmpty);
  return fields.get();
}

static bool readGroup(DictionaryAttr from, DataGroupEntry &group) {
  bool known = true;
  FieldReader lists(from);
  for (auto each : lists.list<DictionaryAttr>("files")) {
    FieldReader fields(each);
    DataFileEntry file;
    file.path = fields.text("path"), file.lengths = fields.text("lengths");
    file.weight = fields.integer("weight");
    known &= takeWord(fields, "format", file.format);
    group.files.push_back(file);
  }
  for (auto each : lists.list<DictionaryAttr>("feeds")) {
    FieldReader fields(each);
    group.feeds.push_back({fields.text("input"), fields.text("tensor"), fields.integer("shift"), fields.boolean("valid"),
                           fields.integer("below"), fields.text("axis"), fields.location("loc"), fields.boolean("class")});
    known &= readTextFeed(fields.get<DictionaryAttr>("text"), group.feeds.back().text);
  }
  return known;
}

static DictionaryAttr writeGroup(MLIRContext *context, const DataGroupEntry &group) {
  SmallVector<Attribute> files, feeds;
  for (const DataFileEntry &file : group.files) {
    FieldWriter fields(context);
    fields.addText("path", file.path);
    fields.addText("format", wordOf(file.format));
    fields.addInteger("weight", file.weight);
    fields.addText("lengths", file.lengths);
    files.push_back(fields.get());
  }
  for (const DataFeedEntry &feed : group.feeds) {
    FieldWriter fields(context);
    fields.addText("input", feed.input);
    fields.addText("tensor", feed.tensor);
    fields.addInteger("shift", feed.shift);
    fields.addBool("valid", feed.valid);
    fields.addInteger("below", feed.below);
    fields.addText("axis", feed.axis);
    fields.addGiven("loc", feed.loc);
    if (feed.isClass)
      fields.addBool("class", true);
    if (feed.text)
      fields.add("text", writeTextFeed(context, *feed.text));
    feeds.push_back(fields.get());
  }
  FieldWriter lists(context);
  lists.addList("files", files);
  lists.addList("feeds", feeds);
  return lists.get();
}

static bool readSteps(const FieldReader &lists, StringRef name, std::vector<PictureStepEntry> &steps) {
  bool known = true;
  for (auto each : lists.list<DictionaryAttr>(name)) {
    FieldReader fields(each);
    PictureStepEntry &step = steps.emplace_back();
    known &= takeWord(fields, "kind", step.kind) && takeWord(fields, "interpolation", step.interpolation);
    for (auto number : fields.list<FloatAttr>("numbers"))
      step.numbers.push_back(number.getValueAsDouble());
    step.loc = fields.location("loc");
  }
  return known;
}

static void writeSteps(MLIRContext *context, ArrayRef<PictureStepEntry> steps, StringRef name, FieldWriter &lists) {
  SmallVector<Attribute> list;
  for (const PictureStepEntry &step : steps) {
    FieldWriter fields(context);
    fields.addText("kind", wordOf(step.kind));
    fields.add("numbers", Builder(context).getF64ArrayAttr(step.numbers));
    fields.addText("interpolation", wordOf(step.interpolation));
    fields.addGiven("loc", step.loc);
    list.push_back(fields.get());
  }
  if (!list.empty())
    lists.addList(name, list);
}

FailureOr<std::optional<DataBlockEntry>> getDataBlock(ModuleOp module) {
  DictionaryAttr found = dataBlock.get(module);
  if (!found)
    return std::optional<DataBlockEntry>();
  FieldReader fields(found);
  DataBlockEntry block;
  block.name = fields.text("name");
  bool known = takeWord(fields, "order", block.order) && takeWord(fields, "last", block.last);
  for (auto each : fields.list<DictionaryAttr>("groups"))
    known &= readGroup(each, block.groups.emplace_back());
  known &= readSteps(fields, "training", block.training) && readSteps(fields, "evaluation", block.evaluation);
  if (!known)
    return module.emitError("internal error: the data block '") << block.name << "' has a word that no program has";
  for (auto share : fields.list<FloatAttr>("shares"))
    block.shares.push_back(share.getValueAsDouble());
  block.splitSeed = static_cast<uint64_t>(fields.integer("split_seed"));
  if (std::optional<int64_t> seed = fields.givenInteger("seed"))
    block.seed = static_cast<uint64_t>(*seed);
  block.loc = fields.location("loc");
  return std::optional(std::move(block));
}

void setDataBlock(ModuleOp module, const DataBlockEntry &block) {
  SmallVector<Attribute> groups;
  for (const DataGroupEntry &group : block.groups)
    groups.push_back(writeGroup(module.getContext(), group));
  FieldWriter fields(module.getContext());
  fields.addText("name", block.name);
  fields.addText("order", wordOf(block.order));
  fields.addText("last", wordOf(block.last));
  fields.addList("groups", groups);
  fields.add("shares", Builder(module.getContext()).getF64ArrayAttr(block.shares));
  fields.addInteger("split_seed", static_cast<int64_t>(block.splitSeed));
  fields.addGiven("loc", block.loc);
  writeSteps(module.getContext(), block.training, "training", fields);
  writeSteps(module.getContext(), block.evaluation, "evaluation", fields);
  if (block.seed)
    fields.addInteger("seed", static_cast<int64_t>(*block.seed));
  dataBlock.set(module, fields.get());
}

//===- Evaluation -----------------------------------------------------------------------------------------------------------===//

FailureOr<std::vector<MeasureEntry>> getMeasures(ModuleOp module) {
  std::vector<MeasureEntry> entries;
  for (DictionaryAttr each : measures.get(module)) {
    FieldReader fields(each);
    StringRef word = fields.text("kind");
    std::optional<program::MeasureKind> kind = program::valueOf<program::MeasureKind>(word);
    if (!kind)
      return module.emitError("internal error: '") << word << "' is no kind of measure";
    entries.push_back(
        {fields.text("name").str(), *kind, fields.real("weight"), fields.texts<std::string>("values"), fields.text("counted").str()});
  }
  return entries;
}

void setMeasures(ModuleOp module, ArrayRef<MeasureEntry> entries) {
  SmallVector<Attribute> list;
  for (const MeasureEntry &entry : entries) {
    FieldWriter fields(module.getContext());
    fields.addText("name", entry.name);
    fields.addText("kind", wordOf(entry.kind));
    fields.addReal("weight", entry.weight);
    fields.addTexts("values", entry.values);
    if (!entry.counted.empty())
      fields.addText("counted", entry.counted);
    list.push_back(fields.get());
  }
  measures.set(module, list);
}

std::vector<PredictionEntry> getPredictions(ModuleOp module) {
  std::vector<PredictionEntry> entries;
  for (DictionaryAttr each : predictions.get(module)) {
    FieldReader fields(each);
    entries.push_back({fields.text("name").str(), fields.text("result").str(), fields.boolean("scores")});
  }
  return entries;
}

void setPredictions(ModuleOp module, ArrayRef<PredictionEntry> entries) {
  SmallVector<Attribute> list;
  for (const PredictionEntry &entry : entries) {
    FieldWriter fields(module.getContext());
    fields.addText("name", entry.name);
    fields.addText("result", entry.result);
    if (entry.scores)
      fields.addBool("scores", true);
    list.push_back(fields.get());
  }
  predictions.set(module, list);
}

//===- Weight files ---------------------------------------------------------------------------------------------------------===//

FailureOr<std::vector<CheckpointEntry>> getCheckpointRules(ModuleOp module) {
  std::vector<CheckpointEntry> entries;
  for (DictionaryAttr each : checkpointRules.get(module)) {
    FieldReader fields(each);
    StringRef word = fields.text("kind");
    std::optional<program::CheckpointRuleKind> kind = program::valueOf<program::CheckpointRuleKind>(word);
    if (!kind)
      return module.emitError("internal error: a checkpoint rule of unknown kind '") << word << "'";
    entries.push_back({*kind, fields.text("file"), fields.text("model")});
  }
  return entries;
}

void setCheckpointRules(ModuleOp module, ArrayRef<CheckpointEntry> entries) {
  SmallVector<Attribute> list;
  for (const CheckpointEntry &entry : entries) {
    FieldWriter fields(module.getContext());
    fields.addText("kind", wordOf(entry.kind));
    fields.addText("file", entry.file);
    fields.addText("model", entry.model);
    list.push_back(fields.get());
  }
  checkpointRules.set(module, list);
}

//===- Saved values ---------------------------------------------------------------------------------------------------------===//

std::vector<SavedEntry> getSavedValues(ModuleOp module) {
  std::vector<SavedEntry> entries;
  for (DictionaryAttr each : savedValues.get(module)) {
    FieldReader fields(each);
    entries.push_back({fields.text("op"), fields.text("path"), fields.text("as"), fields.integer("elements"), fields.integer("bits"),
                       fields.integer("home"), llvm::to_vector(fields.integers("uses")), llvm::to_vector(fields.integers("crossings"))});
  }
  return entries;
}

void setSavedValues(ModuleOp module, ArrayRef<SavedEntry> entries) {
  SmallVector<Attribute> list;
  for (const SavedEntry &entry : entries) {
    FieldWriter fields(module.getContext());
    fields.addText("op", entry.op);
    fields.addText("path", entry.path);
    fields.addText("as", entry.as);
    fields.addInteger("elements", entry.elements);
    fields.addInteger("bits", entry.bits);
    fields.addInteger("home", entry.home);
    fields.addIntegers("uses", entry.uses);
    if (!entry.crossings.empty())
      fields.addIntegers("crossings", entry.crossings);
    list.push_back(fields.get());
  }
  savedValues.set(module, list);
}

std::vector<RoutingEntry> getRoutings(ModuleOp module) {
  std::vector<RoutingEntry> entries;
  for (DictionaryAttr each : routings.get(module)) {
    FieldReader fields(each);
    entries.push_back({fields.text("path").str(), fields.text("way").str(), fields.integer("experts"), fields.integer("ranks"),
                       fields.integer("choices"), fields.integer("rows"), fields.real("filled"), fields.integer("kept"),
                       fields.integer("sent"), fields.real("elsewhere"), fields.givenInteger("rounds").value_or(1),
                       fields.givenInteger("buffered").value_or(0)});
  }
  return entries;
}

void setRoutings(ModuleOp module, ArrayRef<RoutingEntry> entries) {
  SmallVector<Attribute> list;
  for (const RoutingEntry &entry : entries) {
    FieldWriter fields(module.getContext());
    fields.addText("path", entry.path);
    fields.addText("way", entry.way);
    fields.addInteger("experts", entry.experts);
    fields.addInteger("ranks", entry.ranks);
    fields.addInteger("choices", entry.choices);
    fields.addInteger("rows", entry.rows);
    fields.addReal("filled", entry.filled);
    fields.addInteger("kept", entry.kept);
    fields.addInteger("sent", entry.sent);
    fields.addReal("elsewhere", entry.elsewhere);
    if (entry.rounds > 1) {
      fields.addInteger("rounds", entry.rounds);
      fields.addInteger("buffered", entry.buffered);
    }
    list.push_back(fields.get());
  }
  routings.set(module, list);
}

std::optional<ProductFlops> getProductFlops(ModuleOp module) {
  DictionaryAttr found = productFlops.get(module);
  if (!found)
    return std::nullopt;
  FieldReader fields(found);
  return ProductFlops{fields.real("forward"), fields.real("backward"), fields.real("repeated")};
}

void setProductFlops(ModuleOp module, const ProductFlops &flops) {
  FieldWriter fields(module.getContext());
  fields.addReal("forward", flops.forward);
  fields.addReal("backward", flops.backward);
  fields.addReal("repeated", flops.repeated);
  productFlops.set(module, fields.get());
}

} // namespace npar::attributes
