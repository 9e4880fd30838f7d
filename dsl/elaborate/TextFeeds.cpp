// One feed is a call: encode, valid, segment, class or number.
#include "dsl/elaborate/TextFeeds.h"

#include "dsl/Suggestions.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace npar::dsl {
namespace {

std::vector<std::string> feedWords() {
  std::vector<std::string> words;
  for (TextFeedKind kind : program::EnumValuesTextFeedKind())
    words.emplace_back(wordOf(kind));
  return words;
}

std::vector<Formal> formalsOf(TextFeedKind kind) {
  switch (kind) {
  case TextFeedKind::Tokens:
    return {{"column"}, {"pair", true}, {"tokenizer", true}, {"pad", true}, {"skip_empty", true}};
  case TextFeedKind::Valid:
  case TextFeedKind::Segment:
    return {{"tokens"}};
  case TextFeedKind::Class:
    return {{"column"}, {"names", true}};
  case TextFeedKind::Number:
    return {{"columns"}};
  }
  return {};
}

bool describesTokens(TextFeedKind kind) { return kind == TextFeedKind::Valid || kind == TextFeedKind::Segment; }

/// The function that a feed calls; null if it is no call.
const ast::Expression *calledBy(const ast::ExpressionPtr &value) {
  bool isCall = value && value->kind == ast::ExpressionKind::Suffixed && value->items[0]->kind == ast::ExpressionKind::Name &&
                value->suffixes.size() == 1 && value->suffixes[0].kind == ast::SuffixKind::Call;
  return isCall ? value->items[0].get() : nullptr;
}

} // namespace

DataFormat textFormat(const ast::DataFile &file, Reporter &reporter) {
  const std::string ending = std::filesystem::path(file.path.text).extension().string();
  const std::string word = file.format         ? file.format->text
                           : ending == ".txt"  ? wordOf(DataFormat::Lines)
                           : ending.size() > 1 ? ending.substr(1)
                                               : "";
  std::optional<DataFormat> format = program::valueOf<DataFormat>(word);
  if (format && program::hasTexts(*format))
    return *format;
  if (file.format)
    reporter.fail(Code::T11, file.format->location, "unknown kind of texts '" + word + "'", {"it is one of csv, tsv, jsonl or lines"});
  reporter.fail(Code::T11, file.path.location, "the format of '" + file.path.text + "' is missing",
                {"write `as csv`, `as tsv`, `as jsonl` or `as lines` after it"});
}

TextFeed TextFeedReader::run(const ast::DataFeed &from, const Node *node) {
  const ast::Expression *callee = calledBy(from.value);
  std::optional<TextFeedKind> kind = callee ? program::valueOf<TextFeedKind>(callee->text) : std::nullopt;
  if (!kind) {
    Helps helps = callee ? didYouMean(callee->text, feedWords()) : Helps();
    reporter.fail(Code::T11, from.value ? from.value->location : from.input.location,
                  "an input of a file of texts takes " + joined({"encode(...)", "valid(...)", "segment(...)", "class(...)", "number(...)"}),
                  helps.empty() ? Helps{"write `" + from.input.text + " = encode(\"COLUMN\", tokenizer = \"FOLDER\")` or `" +
                                        from.input.text + " = class(\"COLUMN\")`"}
                                : helps);
  }
  TextFeed feed;
  feed.kind = *kind;
  auto given =
      matchArguments(reporter, "'" + callee->text + "'", from.value->location, formalsOf(*kind), from.value->suffixes[0].arguments);
  switch (*kind) {
  case TextFeedKind::Tokens:
    tokens(given, feed);
    break;
  case TextFeedKind::Valid:
  case TextFeedKind::Segment:
    described(*given[0]->value, callee->text, feed);
    break;
  case TextFeedKind::Class:
    checkOnlyClass(from);
    column(*given[0]->value, feed);
    if (given[1])
      names(*given[1]->value, feed);
    break;
  case TextFeedKind::Number:
    columnsOf(*given[0]->value, feed);
    break;
  }
  if (node)
    checkInput(from, *node, feed);
  return feed;
}

void TextFeedReader::tokens(const std::vector<const ast::Argument *> &given, TextFeed &feed) {
  column(*given[0]->value, feed);
  if (given[1])
    column(*given[1]->value, feed);
  if (given[2]) {
    const ast::Expression &value = *given[2]->value;
    Value text = evaluator.evaluate(value, scope);
    auto *path = std::get_if<std::string>(&text);
    if (!path || path->empty())
      reporter.fail(Code::T11, value.location, "a tokenizer is a folder in quotes, a file of one, or \"bytes\"");
    feed.tokenizer = *path == "bytes" ? *path : found({*path, value.location});
  }
  if (given[3]) {
    feed.padding = evaluator.integer(*given[3]->value, scope, "the padding");
    if (*feed.padding < 0 || *feed.padding > INT32_MAX)
      reporter.fail(Code::T11, given[3]->value->location,
                    "the padding is " + std::to_string(*feed.padding) + ", it must be the number of a token");
  }
  if (given[4])
    feed.skipsEmpty = evaluator.truth(*given[4]->value, scope, "skip_empty");
}

void TextFeedReader::described(const ast::Expression &of, const std::string &word, TextFeed &feed) const {
  auto isTokens = [&](const ast::DataFeed &each) {
    const ast::Expression *callee = calledBy(each.value);
    return each.input.text == of.text && callee && callee->text == wordOf(TextFeedKind::Tokens);
  };
  if (of.kind != ast::ExpressionKind::Name || std::none_of(group.feeds.begin(), group.feeds.end(), isTokens))
    reporter.fail(Code::T11, of.location, "'" + word + "' needs the input that encode(...) of this file feeds");
  feed.of = of.text;
}

/// Checkpoints and predictions have one list of names.
void TextFeedReader::checkOnlyClass(const ast::DataFeed &from) const {
  for (const ast::DataFeed &each : group.feeds) {
    if (&each == &from)
      return;
    if (const ast::Expression *callee = calledBy(each.value); callee && callee->text == wordOf(TextFeedKind::Class))
      reporter.fail(Code::T11, from.input.location,
                    "one input of a file takes the names of classes, and class(...) feeds '" + each.input.text + "' already",
                    {"write " + from.input.text + " = number(\"COLUMN\") and the numbers of its classes in that column"});
  }
}

void TextFeedReader::column(const ast::Expression &from, TextFeed &feed) {
  constexpr int64_t mostColumns = 65536;
  Value value = evaluator.evaluate(from, scope);
  auto *name = std::get_if<std::string>(&value);
  auto *place = std::get_if<int64_t>(&value);
  if ((!name && !place) || (name && name->empty()) || (place && (*place < 1 || *place > mostColumns)))
    reporter.fail(Code::T11, from.location, "a column is its name in quotes, or its number from 1 in a file without names",
                  {"write \"NAME\", as the file's first line has it"});
  if (numbered.value_or(place != nullptr) != (place != nullptr))
    reporter.fail(Code::T11, from.location, "some columns of this file have names, others numbers",
                  {"with names the first line of the file has them; with numbers it is the first row"});
  numbered = feed.numbered = place != nullptr;
  feed.columns.push_back(name ? *name : std::to_string(*place));
}

/// One column, or several in a list.
void TextFeedReader::columnsOf(const ast::Expression &from, TextFeed &feed) {
  if (from.kind != ast::ExpressionKind::List)
    return column(from, feed);
  for (const ast::ExpressionPtr &each : from.items)
    column(*each, feed);
  if (feed.columns.empty())
    reporter.fail(Code::T11, from.location, "'number' needs at least one column");
}

void TextFeedReader::names(const ast::Expression &from, TextFeed &feed) {
  Value value = evaluator.evaluate(from, scope);
  auto *list = std::get_if<TextList>(&value);
  if (!list || list->empty())
    reporter.fail(Code::T11, from.location, "the names of classes are texts in a list",
                  {"write [\"negative\", \"positive\"], in the order of their numbers"});
  std::set<std::string> seen;
  for (const std::string &name : *list)
    if (name.empty() || !seen.insert(name).second)
      reporter.fail(Code::T11, from.location, name.empty() ? "a class has an empty name" : "class '" + name + "' is named twice");
  feed.names = *list;
}

void TextFeedReader::checkInput(const ast::DataFeed &from, const Node &node, const TextFeed &feed) const {
  const std::vector<std::string> &axes = node.type.axes;
  std::string over;
  for (const std::string &axis : axes)
    over += (over.empty() ? "" : ", ") + axis;
  const bool isNumber = isInteger(node.type.element);
  if (!isNumber && (feed.kind == TextFeedKind::Tokens || feed.kind == TextFeedKind::Segment || feed.kind == TextFeedKind::Class))
    reporter.fail(Code::T11, from.input.location,
                  "input '" + from.input.text + "' has floats, but " + wordOf(feed.kind) + "(...) feeds integers",
                  feed.kind == TextFeedKind::Class ? Helps{"number(\"COLUMN\") feeds floats"} : Helps());
  if (feed.kind == TextFeedKind::Tokens || describesTokens(feed.kind)) {
    if (axes.size() != 2)
      reporter.fail(Code::T11, from.input.location,
                    "tokens feed inputs over 'batch' and one axis, the sequence; '" + from.input.text + "' is over [" + over + "]");
  } else if (feed.kind == TextFeedKind::Class ? axes.size() != 1 : axes.size() > 2) {
    reporter.fail(Code::T11, from.input.location,
                  "a class is one number for each sample, and numbers fill at most one axis; '" + from.input.text + "' is over [" + over +
                      "]",
                  {"declare it over [batch]"});
  }
}

} // namespace npar::dsl
