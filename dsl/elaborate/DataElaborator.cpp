// Evaluates a data block against its model: every input is fed, by one source, with what it can hold.
#include "dsl/elaborate/DataElaborator.h"

#include "dsl/Suggestions.h"
#include "dsl/elaborate/DataFiles.h"
#include "dsl/elaborate/PictureSteps.h"
#include "dsl/elaborate/TextFeeds.h"
#include "engine/program/Words.h"

#include <algorithm>

namespace npar::dsl {
namespace {

class DataElaborator {
public:
  DataElaborator(const ast::Data &source, Evaluator &evaluator, Scope &scope, const Model &model, const std::vector<std::string> &declared,
                 const Sources &sources)
      : source(source), evaluator(evaluator), reporter(evaluator.reporter), scope(scope), model(model), declared(declared),
        sources(sources) {}

  Data run() {
    data.name = source.name.text;
    data.location = source.name.location;
    for (const ast::DataSource &each : source.sources)
      attempt([&] { group(each); });
    for (const ast::DataSplit &each : source.splits)
      attempt([&] { split(each); });
    for (const ast::DataOrder &each : source.orders)
      attempt([&] { order(each); });
    for (const ast::Name &each : source.lasts)
      attempt([&] { last(each); });
    attempt([&] { steps(); });
    checkComplete();
    return std::move(data);
  }

private:
  template <typename F> void attempt(F f) {
    try {
      f();
    } catch (const Stop &) {
      incomplete = true;
    }
  }

  //===- Files ------------------------------------------------------------------------------------------------------------===//

  void group(const ast::DataSource &from) {
    const std::string &word = from.word.text;
    if (word != "stream" && word != "file" && word != "idx" && word != "images" && word != "text")
      reporter.fail(Code::T6, from.word.location, "a data block has no '" + word + "'", wordHelp(word));
    bool stream = word == "stream";
    DataGroup group;
    for (const ast::DataFile &each : from.files)
      group.files.push_back(dataFile(each, word, sources, reporter));
    weighFiles(from, evaluator, scope, group);
    if (word == "idx" && from.feeds.size() > 1)
      reporter.fail(Code::T6, from.feeds[1].input.location, "an IDX file has one array, so it feeds one input",
                    {"write `idx \"FILE\" " + from.feeds[1].input.text + "` for the file of '" + from.feeds[1].input.text + "'"});
    TextFeedReader texts(from, evaluator, scope, [this](const ast::Name &path) { return pathOfFile(path, sources); });
    for (const ast::DataFeed &each : from.feeds)
      attempt([&] {
        DataFeed made = stream           ? streamFeed(each, from, group)
                        : word == "file" ? tensorFeed(each)
                        : word == "idx"  ? arrayFeed(each)
                        : word == "text" ? textFeed(each, texts)
                                         : pictureFeed(each, from);
        if (made.location.line > 0) // otherwise the model does not need the input
          group.feeds.push_back(std::move(made));
      });
    if (stream)
      checkLengths(from, group);
    if (group.feeds.empty()) {
      incomplete = true; // the model's own warning says that it does not need them
      return;
    }
    checkBeside(from, group);
    data.groups.push_back(std::move(group));
  }

  static Helps wordHelp(const std::string &word) {
    Helps helps = didYouMean(word, {"stream", "file", "idx", "images", "text", "split", "shuffled", "sequential", "drop", "pad"});
    return helps.empty() ? Helps{"it has stream, file, idx, images, text, split, shuffled or sequential, drop last or pad last"} : helps;
  }

  void checkLengths(const ast::DataSource &from, const DataGroup &group) {
    for (size_t i = 0; i < group.files.size(); ++i)
      if (group.files[i].lengths.empty() != group.files[0].lengths.empty())
        reporter.fail(Code::T7, from.files[i].path.location, "only some of these files have the lengths of their documents");
    if (group.files[0].lengths.empty())
      return;
    needIgnored(from.files[0].lengths->location, "a document's last sample is filled up, which takes targets that do not count");
  }

  void needIgnored(Location at, const std::string &why) {
    auto ignores = [&](const Loss &loss) { return model.nodes[static_cast<size_t>(loss.node)].attributes.count("ignore") != 0; };
    auto counts = std::find_if_not(model.losses.begin(), model.losses.end(), ignores);
    if (counts != model.losses.end())
      reporter.fail(Code::T6, at,
                    why + ", but " + (counts->name.empty() ? "model '" + model.name + "'" : "loss '" + counts->name + "'") +
                        " counts every target",
                    {"let its loss ignore a number: cross_entropy(..., ignore = -100)"});
  }

  /// Checks that this group can feed samples together with the groups before it.
  void checkBeside(const ast::DataSource &from, const DataGroup &group) {
    if (data.groups.empty())
      return;
    const DataGroup &first = data.groups[0];
    DataFormat format = group.files[0].format, other = first.files[0].format;
    if (program::hasTexts(format) || program::hasTexts(other))
      reporter.fail(Code::T6, from.word.location, "a file of texts feeds a model alone",
                    {"columns of the same file feed further inputs: number(\"COLUMN\"), class(\"COLUMN\")"});
    if (isStream(format) || isStream(other))
      reporter.fail(Code::T6, from.word.location, "a stream of tokens feeds a model alone",
                    {"put what all inputs take into files of tensors, as many samples in each"});
    if (format == DataFormat::Images || format != other)
      reporter.fail(Code::T6, from.word.location,
                    std::string("'") + from.word.text + "' cannot feed a model together with '" + source.sources[0].word.text + "'",
                    {"the classes of a folder of pictures are fed by class(...): `images \"FOLDER\" image, label = class(image)`"});
    if (first.files.size() != group.files.size())
      reporter.fail(Code::T7, from.word.location,
                    "these are " + counted(static_cast<int64_t>(group.files.size()), "file") + ", but there are " +
                        counted(static_cast<int64_t>(first.files.size()), "file") + " with the same samples",
                    {"give equally many: file i of each must have the same samples"});
    if (from.files[0].weight)
      reporter.fail(Code::T7, from.files[0].weight->location, "give weights only to the first group of files; they apply to all groups");
  }

  //===- Feeds ------------------------------------------------------------------------------------------------------------===//

  /// The node of an input; null where the loss does not need it.
  const Node *input(const ast::Name &name) {
    if (std::find(declared.begin(), declared.end(), name.text) == declared.end()) {
      Helps helps = didYouMean(name.text, declared);
      reporter.fail(Code::T6, name.location, "model '" + model.name + "' has no input '" + name.text + "'",
                    helps.empty() ? Helps{"its inputs are " + joined(declared, "and")} : helps);
    }
    for (const auto &[fed, at] : known)
      if (fed == name.text) {
        reporter.error(Code::T6, name.location, "input '" + name.text + "' is fed twice", at, "first fed here");
        throw Stop{};
      }
    known.push_back({name.text, name.location});
    for (const Node &node : model.nodes)
      if (node.op == "input" && std::get<std::string>(node.attributes.at("name")) == name.text)
        return &node;
    return nullptr;
  }

  DataFeed tensorFeed(const ast::DataFeed &from) {
    const Node *node = input(from.input);
    DataFeed result;
    result.tensor = result.input = from.input.text;
    if (from.value) {
      if (from.value->kind != ast::ExpressionKind::Text || from.value->text.empty())
        reporter.fail(Code::T6, from.value->location, "an input takes a tensor of a file of tensors, by its name in quotes",
                      {"write " + from.input.text + " = \"name\""});
      result.tensor = from.value->text;
    }
    bound(from, node, result);
    return result;
  }

  /// The one array of an IDX file.
  DataFeed arrayFeed(const ast::DataFeed &from) {
    const Node *node = input(from.input);
    DataFeed result;
    result.input = from.input.text;
    if (from.value)
      reporter.fail(Code::T6, from.value->location, "an IDX file has one array, which has no name");
    if (node)
      needInteger(from, *node);
    if (node && node->type.axes.size() >= 3) {
      picture(from, *node);
      if (node->type.element != ElementType::U8)
        unmixed.push_back(from.input);
    }
    bound(from, node, result);
    return result;
  }

  /// A picture of a folder, or `class(image)`, where `image` is an input of the same folder.
  DataFeed pictureFeed(const ast::DataFeed &from, const ast::DataSource &group) {
    const Node *node = input(from.input);
    DataFeed result;
    result.input = from.input.text;
    if (node)
      needInteger(from, *node);
    if (from.value) {
      const ast::Expression &value = *from.value;
      bool isCall = value.kind == ast::ExpressionKind::Suffixed && value.items[0]->kind == ast::ExpressionKind::Name &&
                    value.items[0]->text == "class" && value.suffixes.size() == 1 && value.suffixes[0].kind == ast::SuffixKind::Call;
      if (!isCall)
        reporter.fail(Code::T6, value.location, "an input of a folder takes its pictures or class(...)",
                      {"write `images \"FOLDER\" image, label = class(image)`"});
      auto arguments = matchArguments(reporter, "'class'", value.location, {{"image"}}, value.suffixes[0].arguments);
      const ast::Expression &of = *arguments[0]->value;
      if (of.kind != ast::ExpressionKind::Name ||
          std::none_of(group.feeds.begin(), group.feeds.end(), [&](const auto &feed) { return feed.input.text == of.text && !feed.value; }))
        reporter.fail(Code::T6, of.location, "'class' needs the input that has this folder's pictures");
      result.isClass = true;
      if (node && node->type.axes.size() != 1)
        reporter.fail(Code::T9, from.input.location,
                      "a class is one number for each sample; '" + from.input.text + "' is over [" + joinedAxes(node->type.axes) + "]",
                      {"declare it over [batch]"});
    } else if (node) {
      picture(from, *node);
    }
    bound(from, node, result);
    return result;
  }

  DataFeed textFeed(const ast::DataFeed &from, TextFeedReader &texts) {
    const Node *node = input(from.input);
    DataFeed result;
    result.input = from.input.text;
    result.text = texts.run(from, node);
    if (node && node->type.axes.size() == 2)
      checkSecondAxis(from, *node, *result.text);
    bound(from, node, result);
    return result;
  }

  /// Each column has a place along the second axis; what describes tokens is over their sequence.
  void checkSecondAxis(const ast::DataFeed &from, const Node &node, const TextFeed &feed) {
    const std::string &axis = node.type.axes[1];
    for (const Axis &each : model.axes)
      if (each.name == axis && feed.kind == TextFeedKind::Number && each.size != static_cast<int64_t>(feed.columns.size()))
        reporter.fail(Code::T9, from.input.location,
                      "axis '" + axis + "' of '" + from.input.text + "' has " + std::to_string(each.size) + " entries, and " +
                          counted(static_cast<int64_t>(feed.columns.size()), "column") + " feed it",
                      {"name one column for each entry: number([\"FIRST\", \"SECOND\"])"});
    for (const Node &other : model.nodes)
      if (other.op == "input" && std::get<std::string>(other.attributes.at("name")) == feed.of && other.type.axes.size() == 2 &&
          other.type.axes[1] != axis)
        reporter.fail(Code::T9, from.input.location,
                      "input '" + from.input.text + "' is over '" + axis + "', the tokens that it describes over '" + other.type.axes[1] +
                          "'");
  }

  void needInteger(const ast::DataFeed &from, const Node &node) {
    if (!isInteger(node.type.element))
      reporter.fail(Code::T9, from.input.location, "input '" + from.input.text + "' has floats, but pictures and IDX files have integers",
                    {"declare it u8 and convert it in the model: float(" + from.input.text + ") / 255"});
  }

  /// Checks that an input can hold pictures, and notes that there are some.
  void picture(const ast::DataFeed &from, const Node &node) {
    const std::vector<std::string> &axes = node.type.axes;
    if (axes.size() != 3 && axes.size() != 4)
      reporter.fail(Code::T9, from.input.location,
                    "pictures feed an input over [batch, row, column] or [batch, channel, row, column]; '" + from.input.text +
                        "' is over [" + joinedAxes(axes) + "]");
    for (const Axis &axis : model.axes)
      if (axes.size() == 4 && axis.name == axes[1] && axis.size != 1 && axis.size != 3)
        reporter.fail(Code::T9, from.input.location,
                      "pictures have 1 channel (grey) or 3 (red, green, blue), but axis '" + axis.name + "' of '" + from.input.text +
                          "' has " + std::to_string(axis.size));
    hasPictures = true;
  }

  void steps() {
    elaborateSteps(source.steps, evaluator, scope, data);
    if (!source.steps.empty() && !hasPictures && !incomplete)
      reporter.fail(Code::T8, source.steps[0].word.location, "these steps prepare pictures, but data block '" + data.name + "' feeds none",
                    {"`images \"FOLDER\" image` and `idx \"FILE\" image` feed pictures"});
    if (!source.steps.empty() && !unmixed.empty())
      reporter.fail(Code::T8, unmixed[0].location,
                    "steps mix the values of u8 pictures, but input '" + unmixed[0].text + "' has other integers",
                    {"declare it u8 if it is a picture; otherwise give arrays that have the sizes of the inputs and remove the steps"});
  }

  DataFeed streamFeed(const ast::DataFeed &from, const ast::DataSource &group, const DataGroup &made) {
    const Node *node = input(from.input);
    DataFeed result;
    result.input = from.input.text;
    if (from.value)
      streamValue(*from.value, group, result);
    if (result.valid && made.files[0].lengths.empty())
      reporter.fail(Code::T6, from.value->location, "'valid' needs documents: a stream without documents has a token everywhere",
                    {"give the documents: lengths \"FILE.i32\""});
    if (node && (!isInteger(node->type.element) && !result.valid))
      reporter.fail(Code::T9, from.input.location,
                    "input '" + from.input.text + "' has floats, but a stream has tokens, which are integers");
    if (node) {
      const std::vector<std::string> &axes = node->type.axes;
      if (axes.size() != 2)
        reporter.fail(Code::T9, from.input.location,
                      "a stream feeds inputs over 'batch' and one axis, the sequence; '" + from.input.text + "' is over [" +
                          joinedAxes(axes) + "]");
      if (!sequence.empty() && axes[1] != sequence)
        reporter.fail(Code::T9, from.input.location,
                      "input '" + from.input.text + "' is over '" + axes[1] + "', the others of this stream over '" + sequence + "'");
      sequence = axes[1];
    }
    bound(from, node, result);
    return result;
  }

  static std::string joinedAxes(const std::vector<std::string> &axes) {
    std::string text;
    for (const std::string &axis : axes)
      text += (text.empty() ? "" : ", ") + axis;
    return text;
  }

  /// `shift(tokens, 1)` or `valid(tokens)`, where `tokens` is an input of the same stream.
  void streamValue(const ast::Expression &value, const ast::DataSource &group, DataFeed &result) {
    bool isCall = value.kind == ast::ExpressionKind::Suffixed && value.items[0]->kind == ast::ExpressionKind::Name &&
                  value.suffixes.size() == 1 && value.suffixes[0].kind == ast::SuffixKind::Call;
    std::string word = isCall ? value.items[0]->text : "";
    if (word != "shift" && word != "valid")
      reporter.fail(Code::T6, value.location, "an input of a stream takes the tokens, shift(tokens, 1) or valid(tokens)");
    std::vector<Formal> formals{{"tokens"}};
    if (word == "shift")
      formals.push_back({"by"});
    auto arguments = matchArguments(reporter, "'" + word + "'", value.location, formals, value.suffixes[0].arguments);
    const ast::Expression &of = *arguments[0]->value;
    bool isTokens = of.kind == ast::ExpressionKind::Name && std::any_of(group.feeds.begin(), group.feeds.end(), [&](const auto &feed) {
                      return feed.input.text == of.text && !feed.value;
                    });
    if (!isTokens)
      reporter.fail(Code::T6, of.location, "'" + word + "' needs the input that has this stream's unshifted tokens");
    result.valid = word == "valid";
    if (result.valid)
      return;
    result.shift = evaluator.integer(*arguments[1]->value, scope, "the shift");
    if (result.shift < 0 || result.shift > 65536)
      reporter.fail(Code::T6, arguments[1]->value->location, "the shift is " + std::to_string(result.shift) + ", it must be 0 to 65536");
  }

  /// Sets the bound from `below`, and the location of the feed.
  void bound(const ast::DataFeed &from, const Node *node, DataFeed &result) {
    if (from.below && node && !isInteger(node->type.element))
      reporter.fail(Code::T9, from.below->location, "input '" + from.input.text + "' has floats, which have no upper bound");
    if (from.below) {
      for (const Axis &axis : model.axes)
        if (from.below->kind == ast::ExpressionKind::Name && from.below->text == axis.name)
          result.below = axis.size, result.belowAxis = axis.name;
      if (result.belowAxis.empty())
        result.below = evaluator.integer(*from.below, scope, "what '" + from.input.text + "' is below");
      if (result.below < 1 || result.below > INT32_MAX)
        reporter.fail(Code::T9, from.below->location,
                      "what '" + from.input.text + "' is below is " + std::to_string(result.below) + ", it must be 1 to " +
                          std::to_string(INT32_MAX));
    }
    if (node)
      result.location = from.below ? from.below->location : from.input.location;
  }

  //===- Order ------------------------------------------------------------------------------------------------------------===//

  uint64_t seed(const ast::Expression &e) {
    int64_t value = evaluator.integer(e, scope, "the seed");
    if (value < 0)
      reporter.fail(Code::T10, e.location, "the seed is " + std::to_string(value) + ", it must not be negative");
    return static_cast<uint64_t>(value);
  }

  void split(const ast::DataSplit &from) {
    if (&from != &source.splits[0])
      reporter.fail(Code::T10, from.location, "'split' is given twice");
    double sum = 0;
    for (const ast::ExpressionPtr &each : from.shares) {
      double share = evaluator.number(*each, scope, "a part of the data");
      if (!(share > 0) || (sum += share) > 1 + 1e-9)
        reporter.fail(Code::T10, each->location,
                      share > 0 ? "the parts of the data are more than 1 together, " + textOf(sum)
                                : "a part of the data is " + textOf(share) + ", it must be above 0",
                      {"write split 0.9, 0.1: the first part is trained on"});
      data.shares.push_back(share);
    }
    if (!from.seed)
      reporter.fail(Code::T10, from.location, "a split needs a seed of its own, so that its parts stay the same whatever is trained",
                    {"write `seed 42` after the parts"});
    data.splitSeed = seed(*from.seed);
  }

  void order(const ast::DataOrder &from) {
    if (from.word.text != "shuffled" && from.word.text != "sequential")
      reporter.fail(Code::T10, from.word.location, "a data block has no '" + from.word.text + "'", wordHelp(from.word.text));
    if (&from != &source.orders[0])
      reporter.fail(Code::T10, from.word.location, "the order of samples is given twice");
    data.order = from.word.text == "shuffled" ? DataOrder::Shuffled : DataOrder::Sequential;
    if (from.seed && data.order == DataOrder::Sequential)
      reporter.fail(Code::T10, from.seed->location, "samples in the data's own order need no seed");
    if (from.seed)
      data.seed = seed(*from.seed);
  }

  void last(const ast::Name &word) {
    if (word.text != "drop" && word.text != "pad")
      reporter.fail(Code::T10, word.location, "the last batch of an epoch has no '" + word.text + "'",
                    {"drop last leaves it out, pad last fills it up with samples that do not count"});
    if (&word != &source.lasts[0])
      reporter.fail(Code::T10, word.location, "what becomes of the last batch is given twice");
    data.last = word.text == "drop" ? DataLast::Drop : DataLast::Pad;
    if (data.last == DataLast::Pad)
      needIgnored(word.location, "'pad last' fills up a batch, which takes targets that do not count");
  }

  /// Every input that the loss needs is fed.
  void checkComplete() {
    if (source.sources.empty())
      reporter.error(Code::T6, source.name.location, "data block '" + data.name + "' names no file",
                     {"write `stream \"FILE.u16\" tokens, targets = shift(tokens, 1)` or `file \"FILE.safetensors\" NAME`"});
    if (incomplete || source.sources.empty())
      return;
    for (const Node &node : model.nodes) {
      if (node.op != "input")
        continue;
      const std::string &name = std::get<std::string>(node.attributes.at("name"));
      if (std::none_of(known.begin(), known.end(), [&](const auto &fed) { return fed.first == name; }))
        reporter.error(Code::T6, source.name.location, "nothing in data block '" + data.name + "' feeds input '" + name + "'",
                       node.location, "declared here", {"name it after a file"});
    }
  }

  const ast::Data &source;
  Evaluator &evaluator;
  Reporter &reporter;
  Scope &scope;
  const Model &model;
  const std::vector<std::string> &declared;
  const Sources &sources;
  Data data;
  std::vector<std::pair<std::string, Location>> known; ///< inputs that are fed
  std::vector<ast::Name> unmixed;                      ///< inputs over rows and columns whose integers are no colours
  std::string sequence;                                ///< axis of what the stream feeds
  bool hasPictures = false, incomplete = false;
};

void collectInputs(const std::vector<ast::Statement> &statements, std::vector<std::string> &names) {
  for (const ast::Statement &s : statements) {
    if (s.kind == ast::StatementKind::Input)
      for (const ast::Item &item : s.items)
        names.push_back(item.name.text);
    collectInputs(s.body, names);
    collectInputs(s.otherwise, names);
  }
}

} // namespace

Data elaborateData(const ast::Data &source, Evaluator &evaluator, Scope &scope, const Model &model,
                   const std::vector<std::string> &declared, const Sources &sources) {
  return DataElaborator(source, evaluator, scope, model, declared, sources).run();
}

std::vector<std::string> declaredInputs(const ast::Block &model) {
  std::vector<std::string> names;
  collectInputs(model.body, names);
  return names;
}

} // namespace npar::dsl
