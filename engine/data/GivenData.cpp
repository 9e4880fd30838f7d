// Combines the flags with a program's data block.
#include "engine/data/GivenData.h"

#include "engine/data/TextTable.h"
#include "engine/data/TokenFile.h"
#include "engine/files/Ending.h"
#include "engine/files/Folders.h"
#include "engine/program/Words.h"
#include "engine/status/OptionNames.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <sys/stat.h>

namespace npar::engine {
namespace {

bool endsWithTensors(const std::string &path) { return files::endsWith(path, ".safetensors"); }

/// The format of a data file: for tokens as --tokens states, else by the name's ending, else the format of the data block's files. Nothing
/// if it is unknown.
std::optional<DataFormat> formatOf(const GivenData &given, const std::string &path, const std::optional<DataPlan> &block) {
  if (endsWithTensors(path))
    return DataFormat::Tensors;
  if (!given.tokens.empty())
    return program::valueOf<DataFormat>(given.tokens);
  if (std::optional<DataFormat> format = given.textFormat(path, block ? std::optional(block->format()) : std::nullopt))
    return format;
  if (!block)
    return std::nullopt;
  if (block->hasPictures())
    return block->format();
  for (DataFormat format : {DataFormat::U16, DataFormat::I32})
    if (files::endsWith(path, std::string(".") + program::wordOf(format)))
      return format;
  return block->isStream() ? std::optional(block->groups[0].files[0].format) : std::nullopt;
}

class PlanMaker {
public:
  PlanMaker(const GivenData &given, const program::Program &program, const BatchShape &shape)
      : given(given), shape(shape), plan(DataPlan::of(program)), block(program.data() ? program.data()->name()->str() : "") {}

  Result<DataPlan> run() {
    if (given.files.empty() && !plan)
      return noData(given.mayBeRandom);
    if (given.files.empty() && !(given.tokens.empty() && given.mask.empty()))
      return Status::usage(nameOf(given.tokens.empty() ? Option::Mask : Option::Tokens) + " needs " + nameOf(Option::Data, "FILE"));
    for (const std::string &text : given.files)
      if (GivenFile file = GivenFile::of(text); file.input.empty())
        TRY_STATUS(takeAll(file.path));
    for (const std::string &text : given.files)
      if (GivenFile file = GivenFile::of(text); !file.input.empty())
        TRY_STATUS(takeInput(file));
    TRY_STATUS(checkFed());
    if (!given.order.empty()) {
      TRY(plan->order, sampleOrder(given.order));
    }
    if (!given.mask.empty() && !shape.ignoring())
      return Status::badInput(nameOf(Option::Mask) +
                              " needs a model that ignores targets: cross_entropy(..., ignore = -100); for a model "
                              "of the standard library " +
                              nameOf(Option::Setting, "ignore=-100"));
    plan->mask = given.mask;
    if (!plan->hasTexts() && !(given.columns.empty() && given.tokenizer.empty()))
      return Status::usage(std::string(given.columns.empty() ? "--tokenizer" : "--text") +
                           " needs texts: --data FILE.csv, or a data block with `text`");
    if (plan->hasTexts())
      TRY_STATUS(takeColumns());
    return std::move(*plan);
  }

private:
  /// Uses one file for all inputs, in place of the data block's files.
  Status takeAll(const std::string &path) {
    if (taken++)
      return Status::usage(nameOf(Option::Data) + " is given twice; for the file of a single input write " +
                           nameOf(Option::Data, "INPUT=FILE") + ", with one of " + shape.names());
    std::optional<DataFormat> format = formatOf(given, path, plan);
    if (!format && plan && plan->hasTexts())
      return Status::badInput(fmt::format("data block '{}' reads texts, and '{}' is a folder", block, path));
    if (!format)
      return files::isFolder(path)
                 ? Status::badInput(fmt::format("'{}' is a folder, and no data block reads pictures\nnpar: help: write a data block "
                                                "for the model, with images \"FOLDER\" INPUT",
                                                path))
                 : noTokens();
    bool tensors = *format == DataFormat::Tensors;
    auto kindText = [](DataFormat format) -> std::string {
      return program::isStream(format)       ? "a stream of tokens"
             : format == DataFormat::Tensors ? "tensors"
             : program::hasTexts(format)     ? "texts"
             : format == DataFormat::Idx     ? "IDX files"
                                             : "pictures";
    };
    if (!plan) {
      Result<DataPlan> made = tensors                      ? DataPlan::ofTensors(path, shape)
                              : program::hasTexts(*format) ? planOfTexts(path, *format)
                                                           : DataPlan::ofStream(path, *format, shape);
      if (!made.ok())
        return made.status();
      plan = std::move(*made);
      return {};
    }
    const bool isOther = plan->isStream()   ? !program::isStream(*format)
                         : plan->hasTexts() ? !program::hasTexts(*format)
                                            : *format != plan->format();
    if (isOther)
      return Status::badInput(fmt::format("data block '{}' reads {}, and '{}' is {}\nnpar: help: {} leaves the block out", block,
                                          kindText(plan->format()), path,
                                          tensors                      ? "a file of tensors"
                                          : program::hasTexts(*format) ? "a file of texts"
                                                                       : kindText(*format),
                                          nameOf(Option::Setting, "data=none")));
    if (plan->groups.size() > 1)
      return Status::badInput(fmt::format("data block '{}' reads several files in parallel: name the input that '{}' feeds, as in {}",
                                          block, path, nameOf(Option::Data, shape.inputs[0].name + "=" + path)));
    plan->groups[0].files = {{path, *format}};
    return {};
  }

  /// Texts for a model without a data block: columns feed the inputs that have the usual names.
  Result<DataPlan> planOfTexts(const std::string &path, DataFormat format) const {
    DataPlan made;
    DataGroup &group = made.groups.emplace_back();
    group.files.push_back({path, format});
    size_t tokens = shape.inputs.size();
    for (size_t i = 0; i < shape.inputs.size(); ++i)
      if (usualTextFeed(shape.inputs[i].name) == TextFeedKind::Tokens)
        tokens = i;
    for (size_t i = 0; i < shape.inputs.size(); ++i) {
      const InputShape &input = shape.inputs[i];
      const std::optional<TextFeedKind> kind = usualTextFeed(input.name);
      if (!kind || tokens == shape.inputs.size() || !program::takesTextFeed(*kind, input.type, input.shape))
        return Status::badInput(
            fmt::format("'{}' has texts, and without a data block they feed the inputs tokens (or input_ids), mask "
                        "(attention_mask) and segment (token_type_ids), but not '{}', {}\nnpar: help: write a data block with "
                        "`text \"FILE\" {} = ...`",
                        path, input.name, input.typeText(), input.name));
      group.feeds.push_back({i});
      group.feeds.back().text = TextFeed{*kind};
      group.feeds.back().text->of = tokens;
    }
    TextFeed &feed = *made.find(TextFeedKind::Tokens);
    if (!given.columns.empty())
      return made; // takeColumns sets them
    TRY(const std::vector<std::string> names, TextTable::names(path, format));
    const bool hasText = std::find(names.begin(), names.end(), "text") != names.end();
    if (format != DataFormat::Lines && names.size() != 1 && !hasText)
      return Status::usage(fmt::format("'{}' has the columns '{}': name the one with the texts, --text COLUMN, or two for pairs", path,
                                       fmt::join(names, "', '")));
    feed.columns = {format == DataFormat::Lines ? "1" : hasText ? "text" : names[0]};
    feed.numbered = format == DataFormat::Lines;
    return made;
  }

  /// Columns and tokenizer that the user gives, and the tokenizer of the model where the data block names none that is there.
  Status takeColumns() {
    TextFeed *only = nullptr;
    const bool isOne = plan->tokenizers().size() <= 1; // a checkpoint keeps one
    for (DataFeed &feed : plan->groups[0].feeds) {
      if (feed.text->kind != TextFeedKind::Tokens)
        continue;
      if (only && !given.columns.empty())
        return Status::usage("--text names the columns of one input, but the data block feeds tokens to several: name the columns there");
      only = &*feed.text;
      if (!given.tokenizer.empty())
        only->tokenizer = given.tokenizer;
      else if (only->tokenizer.empty() || (given.keepsTokenizer && isOne && only->tokenizer != "bytes"))
        only->tokenizer = given.ownTokenizer.empty() ? only->tokenizer : given.ownTokenizer;
    }
    if (given.columns.empty())
      return {};
    if (!only)
      return Status::usage("--text names columns for tokens, and no input takes tokens");
    const bool isNumbered = std::all_of(given.columns.begin(), given.columns.end(), [](const std::string &column) {
      return column.size() < 6 && column[0] != '0' && column.find_first_not_of("0123456789") == std::string::npos;
    });
    for (const DataFeed &feed : plan->groups[0].feeds)
      if (!feed.text->columns.empty() && &*feed.text != only && feed.text->numbered != isNumbered)
        return Status::usage(std::string("--text gives ") + (isNumbered ? "the number of a column" : "a column's name") +
                             ", but the data block has " + (isNumbered ? "names" : "numbers") + " for the others");
    only->columns = given.columns, only->numbered = isNumbered;
    return {};
  }

  Status takeInput(const GivenFile &file) {
    auto found = std::find_if(shape.inputs.begin(), shape.inputs.end(), [&](const auto &input) { return input.name == file.input; });
    if (found == shape.inputs.end())
      return Status::badInput(fmt::format("the model has no input '{}': it has {}", file.input, shape.names()));
    bool isArray = plan && plan->format() == DataFormat::Idx;
    if (plan && plan->hasTexts())
      return Status::badInput(
          fmt::format("data block '{}' reads a file of texts: give one file for all inputs, {}", block, nameOf(Option::Data, "FILE.csv")));
    if (plan && plan->format() == DataFormat::Images)
      return Status::badInput(
          fmt::format("data block '{}' reads a folder of pictures and their classes: give the folder for all inputs, {}", block,
                      nameOf(Option::Data, "FOLDER")));
    if (isArray ? endsWithTensors(file.path) : !endsWithTensors(file.path) || (plan && plan->isStream()))
      return Status::badInput(fmt::format("'{}' is given for one input: it must be {} file, as must the files of the "
                                          "other inputs; a stream of tokens feeds all inputs",
                                          file.path, isArray ? "an IDX" : "a .safetensors"));
    if (!plan)
      plan.emplace();
    DataFeed feed{static_cast<size_t>(found - shape.inputs.begin()), file.input};
    for (DataGroup &group : plan->groups) {
      auto same = std::find_if(group.feeds.begin(), group.feeds.end(), [&](const auto &each) { return each.input == feed.input; });
      if (same == group.feeds.end())
        continue;
      feed = *same;
      group.feeds.erase(same);
    }
    auto empty = std::remove_if(plan->groups.begin(), plan->groups.end(), [](const auto &group) { return group.feeds.empty(); });
    plan->groups.erase(empty, plan->groups.end());
    plan->groups.push_back({{{file.path, isArray ? DataFormat::Idx : DataFormat::Tensors}}, {feed}});
    if (plan->groups[0].files.size() != 1)
      return Status::badInput(fmt::format("data block '{}' reads {} files one after another, but '{}' is a single file", block,
                                          plan->groups[0].files.size(), file.path));
    return {};
  }

  Status checkFed() const {
    for (size_t i = 0; i < shape.inputs.size(); ++i)
      if (std::none_of(plan->groups.begin(), plan->groups.end(), [i](const DataGroup &group) {
            return std::any_of(group.feeds.begin(), group.feeds.end(), [i](const auto &feed) { return feed.input == i; });
          }))
        return Status::badInput(fmt::format("no file feeds input '{}': give {} too", shape.inputs[i].name,
                                            nameOf(Option::Data, shape.inputs[i].name + "=FILE.safetensors")));
    return {};
  }

  const GivenData &given;
  const BatchShape &shape;
  std::optional<DataPlan> plan;
  std::string block;
  int taken = 0;
};

} // namespace

GivenFile GivenFile::of(const std::string &text) {
  size_t equals = text.find('=');
  struct stat info;
  bool isName = equals != std::string::npos && equals > 0 && !std::isdigit(static_cast<unsigned char>(text[0])) &&
                std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(equals),
                            [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  if (!isName || ::stat(text.c_str(), &info) == 0)
    return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

bool GivenFile::hasTensors() const { return endsWithTensors(path); }

std::optional<DataFormat> GivenFile::textFormat() const {
  for (DataFormat format : {DataFormat::Csv, DataFormat::Tsv, DataFormat::JsonLines})
    if (files::endsWith(path, std::string(".") + program::wordOf(format)))
      return format;
  return std::nullopt;
}

bool GivenFile::mustBeStream() const { return input.empty() && !hasTensors() && !textFormat() && !files::isFolder(path); }

Status GivenData::check() const {
  if (std::optional<DataFormat> format = program::valueOf<DataFormat>(tokens); !tokens.empty() && (!format || !program::isStream(*format)))
    return Status::usage(nameOf(Option::Tokens) + " is '" + tokens + "': bytes, u16 or i32");
  if (!order.empty() && !sampleOrder(order).ok())
    return Status::usage(nameOf(Option::DataOrder) + " is '" + order + "': shuffled or sequential");
  bool allTensors = std::all_of(files.begin(), files.end(), endsWithTensors);
  if (!files.empty() && random)
    return Status::usage(nameOf(Option::Data) + " and " + nameOf(Option::RandomData) + " cannot be used together");
  if (!files.empty() && allTensors && !(tokens.empty() && mask.empty()))
    return Status::usage(nameOf(tokens.empty() ? Option::Mask : Option::Tokens) +
                         " needs a file of tokens; a .safetensors file states its own types");
  if (columns.size() > 2)
    return Status::usage("--text is given " + std::to_string(columns.size()) + " times: one column, or two for pairs of texts");
  if (std::find(columns.begin(), columns.end(), "") != columns.end())
    return Status::usage("--text is empty: name a column");
  if (!columns.empty() && !tokens.empty())
    return Status::usage("--text and " + nameOf(Option::Tokens) + " cannot be used together: a file has texts or tokens");
  if (random && !(tokens.empty() && order.empty()))
    return Status::usage(nameOf(tokens.empty() ? Option::DataOrder : Option::Tokens) + " needs " + nameOf(Option::Data) +
                         "; it cannot be used with " + nameOf(Option::RandomData));
  if (!mask.empty() && files.empty())
    return Status::usage(nameOf(Option::Mask) + " needs " + nameOf(Option::Data) + ": it marks the targets among that file's tokens");
  return {};
}

std::string unusedParts(const DataPlan &plan, bool evaluates, bool other) {
  const std::vector<double> &shares = plan.split.shares;
  std::vector<std::string> unused;
  double left = 1;
  for (size_t part = 0; part < shares.size(); ++part) {
    left -= shares[part];
    if (part > 0 && !(evaluates && part + 1 == shares.size()))
      unused.push_back(fmt::format("part {} of {} ({:.3g} %)", part + 1, shares.size(), 100 * shares[part]));
  }
  if (!shares.empty() && left > 1e-9)
    unused.push_back(fmt::format("the {:.3g} % that are in no part", 100 * left));
  if (unused.empty())
    return "";
  return fmt::format("this run does not read {} of the data split{}", fmt::join(unused, " and "),
                     other       ? ": it evaluates on " + nameOf(Option::EvaluateData)
                     : evaluates ? ""
                                 : "; " + nameOf(Option::EvaluateEvery, "N") + " evaluates the last part");
}

std::optional<TextFeedKind> usualTextFeed(const std::string &input) {
  if (input == "tokens" || input == "input_ids")
    return TextFeedKind::Tokens;
  if (input == "mask" || input == "attention_mask")
    return TextFeedKind::Valid;
  if (input == "segment" || input == "token_type_ids")
    return TextFeedKind::Segment;
  return std::nullopt;
}

std::optional<DataFormat> GivenData::textFormat(const std::string &path, std::optional<DataFormat> block) const {
  if (!tokens.empty() || endsWithTensors(path) || files::isFolder(path))
    return std::nullopt;
  if (std::optional<DataFormat> format = GivenFile{"", path}.textFormat())
    return format;
  const bool isOfTexts = block && program::hasTexts(*block);
  if (!isOfTexts && columns.empty())
    return std::nullopt;
  return isOfTexts && !files::endsWith(path, ".txt") ? block : DataFormat::Lines;
}

bool GivenData::lacksTokens() const {
  return tokens.empty() && columns.empty() &&
         std::any_of(files.begin(), files.end(), [](const auto &text) { return GivenFile::of(text).mustBeStream(); });
}

Status noTokens() {
  return Status::usage(nameOf(Option::Data) + " needs " + nameOf(Option::Tokens) +
                       ": bytes (a text), u16 or i32 (little-endian token numbers); or it is a FILE.safetensors");
}

Status noData(bool mayBeRandom) {
  return Status::usage(
      "no data: give " + nameOf(Option::Data, "FILE") + (optionsAreMembers ? " and " : " ") + nameOf(Option::Tokens, "bytes|u16|i32") +
      ", or " + nameOf(Option::Data, "FILE.safetensors") + " with a tensor per input" +
      (mayBeRandom ? ", or " + nameOf(Option::RandomData) + " for a trial run" : ", or write a data block in the model file"));
}

Result<DataPlan> planOf(const GivenData &given, const program::Program &program, const BatchShape &shape) {
  return PlanMaker(given, program, shape).run();
}

} // namespace npar::engine
