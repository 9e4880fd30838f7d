#include "engine/data/TextSamples.h"

#include "engine/data/NumberText.h"
#include "engine/readable/Printable.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace npar::engine {
namespace {

constexpr std::string_view spaces = " \t\r\n\v\f";

bool isBlank(const std::string &text) { return text.find_first_not_of(spaces) == std::string::npos; }

bool describesTokens(const TextFeed &feed) { return feed.kind == TextFeedKind::Valid || feed.kind == TextFeedKind::Segment; }

template <typename Number> std::optional<Number> numberOf(std::string_view text) {
  const size_t begin = text.find_first_not_of(spaces), end = text.find_last_not_of(spaces);
  if (begin == std::string_view::npos)
    return std::nullopt;
  text = text.substr(begin, end + 1 - begin);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-')
    text.remove_prefix(1);
  Number value{};
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The name of a class as checkpoints keep it.
std::string labelOf(const std::string &text) { return readable::printableName(text); }

/// A label as messages show it: short and printable.
std::string shown(const std::string &text) {
  constexpr size_t most = 60;
  return "'" + readable::printableName(text.size() > most ? text.substr(0, wholeCharacters(text.substr(0, most))) + "..." : text) + "'";
}

/// Whole numbers by value, before other names in the order of their bytes.
bool comesBefore(const std::string &a, const std::string &b) {
  const std::optional<int64_t> left = numberOf<int64_t>(a), right = numberOf<int64_t>(b);
  if (left && right && *left != *right)
    return *left < *right;
  return left.has_value() != right.has_value() ? left.has_value() : a < b;
}

/// The lengths of two texts that together take at most `room` tokens: tokens are taken from the longer one, as the tokenizers package does
/// for "longest_first".
std::pair<size_t, size_t> fitting(size_t first, size_t second, size_t room) {
  size_t shorter = std::min(first, second), longer = std::max(first, second);
  if (shorter + longer <= room)
    return {first, second};
  longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room)
    shorter = room / 2, longer = shorter + room % 2;
  return first > second ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

/// Adds names of classes; refuses more than a model can have.
Status addName(std::set<std::string> &names, const std::string &name) {
  constexpr size_t most = 65536;
  names.insert(name);
  return names.size() <= most ? Status()
                              : Status::badInput("there are more than " + number(most) +
                                                 " different labels\nnpar: help: "
                                                 "number(\"COLUMN\") reads numbers");
}

std::vector<std::string> inOrder(const std::set<std::string> &found) {
  std::vector<std::string> names(found.begin(), found.end());
  std::sort(names.begin(), names.end(), comesBefore);
  return names;
}

} // namespace

Status nameClasses(DataPlan &plan) {
  TextFeed *feed = plan.hasTexts() ? plan.find(TextFeedKind::Class) : nullptr;
  if (!feed || !feed->names.empty())
    return {};
  const TextFeed *tokens = plan.find(TextFeedKind::Tokens);
  const bool skips = tokens && tokens->skipsEmpty;
  std::set<std::string> found;
  for (const DataFile &file : plan.groups[0].files) {
    auto visit = [&](const TextFields &fields) -> Result<bool> {
      if (!fields[0] || isBlank(*fields[0]))
        return skips ? Result<bool>(false) : Status::badInput("the label is empty");
      TRY_STATUS(addName(found, labelOf(*fields[0])));
      return false;
    };
    Result<TextTable> table = TextTable::open(file.path, file.format, {feed->columns, feed->numbered}, visit);
    if (!table.ok())
      return table.status();
  }
  feed->names = inOrder(found);
  return {};
}

Result<std::unique_ptr<Samples>> TextSamples::open(const DataPlan &given, size_t file, const BatchShape &shape, PictureUse) {
  DataPlan plan = given;
  if (plan.groups[0].files.size() > 1)
    TRY_STATUS(nameClasses(plan));
  std::unique_ptr<TextSamples> samples(new TextSamples(plan, file, shape));
  TRY_STATUS(samples->prepare());
  TRY_STATUS(samples->scan());
  samples->part.emplace(samples->table->rows(), plan.split, file);
  return std::unique_ptr<Samples>(std::move(samples));
}

/// Opens the tokenizers and finds the columns that are read.
Status TextSamples::prepare() {
  std::map<std::string, std::shared_ptr<const Tokenizer>> opened;
  for (const DataFeed &from : plan.groups[0].feeds) {
    Feed feed;
    feed.input = from.input, feed.text = *from.text;
    columns.numbered |= feed.text.numbered;
    for (const std::string &column : feed.text.columns) {
      auto known = std::find(columns.wanted.begin(), columns.wanted.end(), column);
      feed.fields.push_back(static_cast<size_t>(known - columns.wanted.begin()));
      if (known == columns.wanted.end())
        columns.wanted.push_back(column);
    }
    if (feed.text.kind == TextFeedKind::Tokens)
      TRY_STATUS(openTokenizer(feed, opened));
    if (feed.text.kind == TextFeedKind::Class && !feed.text.names.empty()) {
      listsNames = true;
      for (const std::string &name : feed.text.names)
        names.push_back(labelOf(name));
      for (const std::string &name : names)
        codes.emplace(name, static_cast<int32_t>(codes.size()));
    }
    feeds.push_back(std::move(feed));
  }
  return {};
}

Status TextSamples::openTokenizer(Feed &feed, std::map<std::string, std::shared_ptr<const Tokenizer>> &opened) const {
  const InputShape &input = shape.inputs[feed.input];
  const std::string &folder = feed.text.tokenizer;
  if (folder.empty())
    return Status::badInput("no tokenizer is known for the texts of input '" + input.name +
                            "': write encode(..., tokenizer = \"FOLDER\"), or give "
                            "--tokenizer FOLDER");
  std::shared_ptr<const Tokenizer> &tokenizer = opened[folder];
  if (!tokenizer) {
    TRY(tokenizer, engine::openTokenizer(folder, StatedLength::Ignored));
  }
  feed.tokenizer = tokenizer;
  const std::string which = "the tokenizer '" + folder + "' ";
  if (input.range.classes && tokenizer->vocabularySize() > input.range.classes)
    return Status::badInput(which + "has " + engine::number(tokenizer->vocabularySize()) + " tokens, but " + input.rangeText() +
                            "\nnpar: help: give the tokenizer of this model, or a model with as many tokens");
  feed.form = tokenizer->form(feed.text.columns.size() > 1);
  if (feed.form.empty())
    return Status::badInput(which + "states no form for pairs of texts\nnpar: help: save a tokenizer.json with a template for pairs");
  if (feed.form.size() - feed.text.columns.size() > input.elementsOfSample())
    return Status::badInput(which + "puts " + engine::number(static_cast<int64_t>(feed.form.size() - feed.text.columns.size())) +
                            " tokens around a text, but '" + input.name + "' has " +
                            engine::number(static_cast<int64_t>(input.elementsOfSample())));
  const std::optional<int32_t> padding = feed.text.padding ? feed.text.padding : tokenizer->padding();
  if (!padding)
    return Status::badInput(which + "has no token for padding\nnpar: help: name one, which the model must hide: encode(..., pad = ID)");
  if (!input.has(*padding))
    return Status::badInput("the padding of input '" + input.name + "' is token " + engine::number(*padding) + ", but " +
                            input.rangeText());
  feed.padding = *padding;
  return {};
}

Status TextSamples::scan() {
  trial = batchOf(shape, 1);
  std::set<std::string> found;
  TRY(table, TextTable::open(path(), plan.groups[0].files[number].format, columns, [&](const TextFields &fields) -> Result<bool> {
        TRY(const bool keeps, check(fields));
        for (const Feed &feed : feeds)
          if (keeps && feed.text.kind == TextFeedKind::Class && !listsNames)
            TRY_STATUS(addName(found, labelOf(*fields[feed.fields[0]])));
        return keeps;
      }));
  if (!listsNames) {
    names = inOrder(found);
    for (const std::string &name : names)
      codes.emplace(name, static_cast<int32_t>(codes.size()));
  }
  for (const Feed &feed : feeds)
    if (const InputShape &input = shape.inputs[feed.input]; feed.text.kind == TextFeedKind::Class && !names.empty()) {
      if (!input.has(static_cast<int64_t>(names.size()) - 1))
        return Status::badInput("'" + path() + "' has " + engine::number(static_cast<int64_t>(names.size())) +
                                " different labels for input '" + input.name + "', but " + input.rangeText());
      if (input.range.classes > static_cast<int64_t>(names.size()))
        worthKnowing.push_back("'" + path() + "' has " + engine::number(static_cast<int64_t>(names.size())) + " different labels, but " +
                               input.rangeText());
    }
  if (skipped)
    worthKnowing.push_back(engine::number(skipped) + (skipped == 1 ? " row" : " rows") + " of '" + path() + "' with an empty text " +
                           (skipped == 1 ? "is" : "are") + " left out");
  if (table->quoted() > 0)
    worthKnowing.push_back(engine::number(table->quoted()) + " texts of '" + path() +
                           "' are in quotes, which belong to the text in a TSV file: write `as csv`, with commas, if they do not");
  return {};
}

/// True if the row is a sample; an error if it is wrong.
Result<bool> TextSamples::check(const TextFields &fields) {
  const bool skips = std::any_of(feeds.begin(), feeds.end(), [](const Feed &feed) { return feed.text.skipsEmpty; });
  for (size_t i = 0; i < fields.size(); ++i)
    if (!fields[i] || isBlank(*fields[i])) {
      if (skips) {
        ++skipped;
        return false;
      }
      return Status::badInput("the text of column '" + columns.wanted[i] +
                              "' is empty\nnpar: help: remove the row, or leave out such rows: encode(..., skip_empty = true)");
    }
  for (const Feed &feed : feeds) {
    if (feed.text.kind == TextFeedKind::Class)
      TRY_STATUS(checkClass(feed, *fields[feed.fields[0]]));
    for (size_t place = 0; feed.text.kind == TextFeedKind::Number && place < feed.fields.size(); ++place)
      if (Status status = writeNumber(feed, place, *fields[feed.fields[place]], trial, 0); !status.ok())
        return Status::badInput("column '" + feed.text.columns[place] + "' " + status.message());
  }
  return true;
}

Status TextSamples::checkClass(const Feed &feed, const std::string &text) {
  if (!listsNames || codes.count(labelOf(text)))
    return {};
  std::string known;
  constexpr size_t most = 20;
  for (size_t i = 0; i < std::min(most, names.size()); ++i)
    known += (i ? ", " : "") + shown(names[i]);
  return Status::badInput("the label " + shown(text) + " of column '" + feed.text.columns[0] + "' is none of the " +
                          engine::number(static_cast<int64_t>(names.size())) + " classes\nnpar: help: they are " + known +
                          (names.size() > most ? ", ..." : ""));
}

Status TextSamples::writeNumber(const Feed &feed, size_t place, const std::string &text, Batch &batch, size_t row) const {
  const InputShape &input = shape.inputs[feed.input];
  if (!input.isInteger()) {
    const std::optional<double> value = numberOf<double>(text);
    if (!value || !std::isfinite(static_cast<float>(*value)))
      return Status::badInput("has " + shown(text) + ", but input '" + input.name + "' takes finite numbers");
    rowOf(std::get<std::vector<float>>(batch[feed.input]), input, row)[place] = static_cast<float>(*value);
    return {};
  }
  const std::optional<int64_t> value = numberOf<int64_t>(text);
  if (!value)
    return Status::badInput("has " + shown(text) + ", but input '" + input.name +
                            "' takes whole numbers\nnpar: help: names of classes are read by class(\"COLUMN\")");
  if (!input.takes(*value))
    return Status::badInput("has " + engine::number(*value) + ", but " + input.rangeText());
  std::visit([&](auto &values) { rowOf(values, input, row)[place] = static_cast<std::decay_t<decltype(values[0])>>(*value); },
             batch[feed.input]);
  return {};
}

Result<TextSamples::Encoded> TextSamples::encode(const Feed &feed, const TextFields &fields) const {
  const size_t length = shape.inputs[feed.input].elementsOfSample();
  const size_t texts = feed.fields.size(), room = length - (feed.form.size() - texts);
  std::vector<int32_t> ids[2];
  for (size_t i = 0; i < texts; ++i) {
    constexpr size_t step = 4096;
    std::unique_ptr<TextEncoder> encoder = feed.tokenizer->encoder(/*additions=*/false);
    std::string_view rest = *fields[feed.fields[i]];
    for (; !rest.empty() && (texts > 1 || ids[i].size() < room);
         rest.remove_prefix(std::min(step, rest.size()))) // later tokens are cut off
      TRY_STATUS(encoder->push(rest.substr(0, step), ids[i]));
    if (rest.empty())
      TRY_STATUS(encoder->finish(ids[i]));
  }
  const auto [first, second] =
      texts > 1 ? fitting(ids[0].size(), ids[1].size(), room) : std::pair(std::min(ids[0].size(), room), size_t{0});
  ids[0].resize(first), ids[1].resize(second);
  Encoded encoded;
  for (const TextPart &part : feed.form) {
    if (part.id >= 0)
      encoded.ids.push_back(static_cast<int32_t>(part.id));
    else
      encoded.ids.insert(encoded.ids.end(), ids[part.text].begin(), ids[part.text].end());
    encoded.types.resize(encoded.ids.size(), part.type);
  }
  return encoded;
}

Status TextSamples::fill(const TextFields &fields, Batch &batch, size_t row) const {
  std::map<size_t, Encoded> encoded; // by input
  for (const Feed &feed : feeds)
    if (feed.text.kind == TextFeedKind::Tokens) {
      TRY(encoded[feed.input], encode(feed, fields));
    }
  for (const Feed &feed : feeds) {
    const InputShape &input = shape.inputs[feed.input];
    if (feed.text.kind == TextFeedKind::Number) {
      for (size_t place = 0; place < feed.fields.size(); ++place)
        TRY_STATUS(writeNumber(feed, place, *fields[feed.fields[place]], batch, row));
      continue;
    }
    auto write = [&](auto &values) -> Status {
      using Element = std::decay_t<decltype(values[0])>;
      Element *to = rowOf(values, input, row);
      if (feed.text.kind == TextFeedKind::Class) {
        const auto code = codes.find(labelOf(*fields[feed.fields[0]]));
        if (code == codes.end())
          return Status::badInput("the label was changed after the file was opened");
        *to = static_cast<Element>(code->second);
        return {};
      }
      const Encoded &tokens = encoded[describesTokens(feed.text) ? feed.text.of : feed.input];
      for (size_t i = 0; i < input.elementsOfSample(); ++i) {
        const bool isThere = i < tokens.ids.size();
        to[i] = static_cast<Element>(feed.text.kind == TextFeedKind::Valid     ? isThere
                                     : feed.text.kind == TextFeedKind::Segment ? (isThere ? tokens.types[i] : 0)
                                                                               : (isThere ? tokens.ids[i] : feed.padding));
        if (isThere && feed.text.kind != TextFeedKind::Valid && !input.has(static_cast<int64_t>(to[i])))
          return Status::badInput("'" + input.name + "' gets " + engine::number(static_cast<int64_t>(to[i])) + ", but " +
                                  input.rangeText());
      }
      return {};
    };
    TRY_STATUS(std::visit(write, batch[feed.input]));
  }
  return {};
}

Status TextSamples::write(int64_t sample, int64_t, Batch &batch, size_t row) const {
  const int64_t item = (*part)(sample);
  TRY(const TextFields fields, table->read(item));
  for (const std::optional<std::string> &field : fields)
    if (!field)
      return Status::badInput(path() + ":" + engine::number(table->line(item)) + ": the row was changed after the file was opened");
  const Status status = fill(fields, batch, row);
  return status.ok() ? status : Status(status.code(), path() + ":" + engine::number(table->line(item)) + ": " + status.message());
}

std::string TextSamples::description() const {
  return "'" + path() + "' has " + engine::number(samples()) + (samples() == 1 ? " sample" : " samples");
}

std::string TextSamples::name(int64_t sample) const { return "line " + engine::number(table->line((*part)(sample))); }

std::vector<std::string> TextSamples::texts(int64_t sample) const {
  std::vector<std::string> result;
  Result<TextFields> fields = table->read((*part)(sample));
  for (const Feed &feed : feeds)
    for (size_t field : feed.text.kind == TextFeedKind::Tokens && fields.ok() ? feed.fields : std::vector<size_t>())
      result.push_back((*fields)[field].value_or(""));
  return result;
}

} // namespace npar::engine
