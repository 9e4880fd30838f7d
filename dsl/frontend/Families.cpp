// Reads configuration files by the lines of a family, and writes them by the same lines.
#include "dsl/Families.h"

#include "dsl/constants/Settings.h"
#include "dsl/elaborate/Library.h"
#include "dsl/elaborate/NamePattern.h"
#include "dsl/frontend/ConfigValues.h"
#include "dsl/frontend/FamilyLines.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

namespace npar::dsl {
namespace {

/// A family that a text declares or imports, with its model.
class FamilyText {
public:
  FamilyText(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics)
      : sources(sources), diagnostics(diagnostics), reporter(diagnostics), evaluator(reporter), library(options, sources, diagnostics) {
    root = library.load();
  }

  bool loaded() const { return root && !diagnostics.hasErrors(); }

  std::vector<const ast::Family *> all() const {
    std::vector<const ast::Family *> result;
    for (SourceFile *file : Library::reach(root))
      for (const ast::Family &each : file->tree->families)
        result.push_back(&each);
    return result;
  }

  /// The families that `accept` accepts.
  template <typename Accept> std::vector<const ast::Family *> those(Accept accept) const {
    std::vector<const ast::Family *> result;
    for (const ast::Family *each : all())
      if (accept(*each))
        result.push_back(each);
    return result;
  }

  std::vector<std::pair<std::string, std::string>> configurations() const {
    std::vector<std::pair<std::string, std::string>> result;
    for (SourceFile *file : Library::reach(root))
      for (const ast::Config &each : file->tree->configs)
        result.emplace_back(each.name.text, each.model.text);
    return result;
  }

  /// Reads the lines of a family. False when it has an error.
  bool choose(const ast::Family &chosen) {
    family = &chosen, model = nullptr;
    for (SourceFile *file : Library::reach(root))
      for (const ast::Block &block : file->tree->models)
        if (!model && block.name.text == family->model.text)
          model = &block;
    if (!model)
      reporter.error(Code::L20, family->model.location, "unknown model '" + family->model.text + "'");
    else
      lines = familyLines(reporter, *family, *model);
    return !diagnostics.hasErrors();
  }

  bool hasClasses() const {
    return std::any_of(lines.begin(), lines.end(), [](const FamilyLine &line) { return line.word == FamilyWord::Class; });
  }

  std::vector<std::string> classes() const {
    std::vector<std::string> names;
    for (const FamilyLine &line : lines)
      if (line.word == FamilyWord::Class)
        for (const ast::Name &name : line.rule->keys)
          names.push_back(name.text);
    return names;
  }

  /// The class of models with these constants; null if no class fits or the family has none.
  const FamilyLine *classOf() {
    for (const FamilyLine &line : lines)
      if (line.word == FamilyWord::Class && std::all_of(line.rule->values.begin(), line.rule->values.end(), [&](const ast::Item &item) {
            return same(evaluator.evaluate(*item.value, constants), constants.find(item.name.text)->value);
          }))
        return &line;
    return nullptr;
  }

  /// The constants that the model has without settings; those that must be set are left out in silence.
  void bindDefaults() {
    Diagnostics ignored(sources);
    Reporter quiet(ignored);
    Evaluator plain(quiet);
    Settings none({}, sources, ignored);
    bindConstants(plain, model->parameters, none, defaults, modelText());
  }

  void bind(const std::vector<std::pair<std::string, std::string>> &pairs, const std::optional<std::string> &configName) {
    const ast::Config *config = nullptr;
    for (SourceFile *file : Library::reach(root))
      for (const ast::Config &each : file->tree->configs)
        if (!config && configName && each.name.text == *configName && each.model.text == model->name.text)
          config = &each;
    Settings settings(pairs, sources, diagnostics);
    bindConstants(evaluator, model->parameters, settings, constants, modelText(), config);
  }

  FamilyCall call(const std::vector<std::string> &architectures, const std::vector<ConfigEntry> &config);
  FamilyConfig config();

private:
  std::string modelText() const { return "model '" + model->name.text + "'"; }
  std::string place(const ast::Name &name) const {
    return " (" + sources.name(name.location.file) + ":" + std::to_string(name.location.line) + ")";
  }
  const ConfigEntry *find(const std::string &key) {
    if (key.size() > 2 && key.compare(key.size() - 2, 2, ".#") == 0)
      return count(key);
    for (const ConfigEntry &entry : *given)
      if (entry.key == key) {
        known.push_back(&entry);
        return &entry;
      }
    return nullptr;
  }
  /// The number of entries of the object before ".#", as an entry; null if the file has no such object.
  const ConfigEntry *count(const std::string &key) {
    int64_t entries = 0;
    for (const ConfigEntry &entry : *given)
      if (entry.key.compare(0, key.size() - 1, key, 0, key.size() - 1) == 0) {
        known.push_back(&entry);
        ++entries;
      }
    if (entries == 0)
      return nullptr;
    return &counts.emplace_back(ConfigEntry{key, entries, std::to_string(entries)});
  }
  void take(const ast::FamilyRule &rule, FamilyCall &result);
  void must(const ast::FamilyRule &rule, FamilyCall &result);
  void checkClasses(const std::vector<std::string> &architectures, FamilyCall &result);
  /// The constants that the file's class gives; of a file without classes the first one.
  void takeClass(const std::vector<std::string> &architectures, FamilyCall &result);
  /// The entry that a line writes; without a key if lines before it, whose keys are `taken`, write all of its keys.
  ConfigEntry written(const FamilyLine &line, std::set<std::string> &taken);
  /// The value of a constant for the file: an integer or a fraction as the value after `else` is one, or else the constant's default.
  Value writtenValue(const ast::FamilyRule &rule);
  /// Empty, or why a constant cannot have the value.
  std::string unfit(const std::string &constant, const Value &value);
  /// A list is all that npar computes.
  std::vector<Value> values(const ast::Expression &expression) {
    std::vector<Value> result;
    if (expression.kind == ast::ExpressionKind::List)
      for (const ast::ExpressionPtr &item : expression.items)
        result.push_back(evaluator.evaluate(*item, constants));
    else
      result.push_back(evaluator.evaluate(expression, constants));
    return result;
  }

  Sources &sources;
  Diagnostics &diagnostics;
  Reporter reporter;
  Evaluator evaluator;
  Library library;
  SourceFile *root = nullptr;
  const ast::Family *family = nullptr;
  const ast::Block *model = nullptr;
  std::vector<FamilyLine> lines;
  Scope defaults, constants, taken;
  const std::vector<ConfigEntry> *given = nullptr;
  std::vector<const ConfigEntry *> known; ///< entries that a line covers
  std::deque<ConfigEntry> counts;
};

std::string FamilyText::unfit(const std::string &constant, const Value &value) {
  const Value &fallback = defaults.find(constant)->value;
  auto *text = std::get_if<std::string>(&value);
  auto *texts = std::get_if<TextList>(&value);
  if ((text && !isPlainWord(*text)) || (texts && !std::all_of(texts->begin(), texts->end(), isPlainWord)))
    return text ? "is no word" : "is no list of words";
  bool whole = std::holds_alternative<int64_t>(fallback) && std::holds_alternative<double>(value);
  bool alike = fallback.index() == value.index() || (isNumber(fallback) && isNumber(value) && !whole);
  if (alike || std::holds_alternative<None>(fallback) || std::holds_alternative<Poison>(fallback))
    return "";
  return "and the constant '" + constant + "' of " + modelText() + " is " + kindOf(fallback);
}

void FamilyText::take(const ast::FamilyRule &rule, FamilyCall &result) {
  const ConfigEntry *entry = nullptr;
  bool nullMeansNone = std::holds_alternative<None>(defaults.find(rule.value->text)->value), none = false;
  for (const ast::Name &key : rule.keys)
    if (const ConfigEntry *each = find(key.text); each && (isNull(*each) || (nullMeansNone && isEmptyList(*each)))) {
      none |= nullMeansNone;
    } else if (each) {
      if (entry && !same(valueOf(*entry), valueOf(*each)))
        result.wrong.push_back("'" + entry->key + "' is " + entry->text + " and '" + each->key + "' is " + each->text +
                               ", which must be the same");
      entry = entry ? entry : each;
    }
  const std::string &constant = rule.value->text;
  result.constants[rule.keys.front().text] = constant;
  taken.bind(constant, Poison{}, rule.value->location); // values that follow from one that is missing are not complained of
  if (!entry && !none && !rule.otherwise) {
    result.wrong.push_back("'" + rule.keys.front().text + "' is missing" + place(rule.keys.front()));
    return;
  }
  Value value;
  try {
    value = entry ? valueOf(*entry) : none ? Value(None{}) : evaluator.evaluate(*rule.otherwise, taken);
  } catch (const Stop &) {
    return;
  }
  if (std::string why = entry && !entry->plain ? "is no plain value" : unfit(constant, value); !why.empty()) {
    result.wrong.push_back("'" + (entry ? entry->key : rule.keys.front().text) + "' is " + (entry ? entry->text : jsonText(value)) + ", " +
                           why + place(rule.keys.front()));
    return;
  }
  taken.bind(constant, value, rule.value->location);
  if (entry || none || !std::holds_alternative<None>(value) || !nullMeansNone)
    result.settings.emplace_back(constant, settingText(value));
}

void FamilyText::must(const ast::FamilyRule &rule, FamilyCall &result) {
  for (const ast::Name &key : rule.keys)
    if (const ConfigEntry *entry = find(key.text)) {
      std::vector<Value> good = values(*rule.value);
      auto isGood = [&](const Value &found) {
        return std::any_of(good.begin(), good.end(), [&](const Value &value) { return same(value, found); });
      };
      Value found = valueOf(*entry);
      auto *list = std::get_if<TextList>(&found); // such as the kinds of all layers: each one counts
      if (entry->plain && (isGood(found) || (list && std::all_of(list->begin(), list->end(), isGood))))
        continue;
      std::string texts;
      for (size_t i = 0; i < good.size(); ++i)
        texts += (i == 0 ? "" : i + 1 == good.size() ? " or " : ", ") + jsonText(good[i]);
      result.wrong.push_back("'" + entry->key + "' is " + entry->text + ", npar's " + model->name.text + " computes " + texts + " only" +
                             place(key));
    }
}

void FamilyText::checkClasses(const std::vector<std::string> &architectures, FamilyCall &result) {
  std::vector<std::string> classes;
  std::string texts;
  for (const FamilyLine &line : lines)
    if (line.word == FamilyWord::Class)
      for (const ast::Name &name : line.rule->keys) {
        texts += (classes.empty() ? "\"" : " or \"") + name.text + '"';
        classes.push_back(name.text);
      }
  for (const std::string &each : architectures)
    if (!classes.empty() && std::find(classes.begin(), classes.end(), each) == classes.end())
      result.wrong.push_back("'architectures' is \"" + each + "\", npar's " + model->name.text + " is " + texts + " only" +
                             place(family->name));
}

void FamilyText::takeClass(const std::vector<std::string> &architectures, FamilyCall &result) {
  auto isNamed = [&](const FamilyLine &line) {
    return line.word == FamilyWord::Class &&
           (architectures.empty() || std::any_of(line.rule->keys.begin(), line.rule->keys.end(), [&](const ast::Name &name) {
              return std::find(architectures.begin(), architectures.end(), name.text) != architectures.end();
            }));
  };
  if (auto line = std::find_if(lines.begin(), lines.end(), isNamed); line != lines.end())
    for (const ast::Item &item : line->rule->values) {
      Value value = evaluator.evaluate(*item.value, taken);
      taken.bind(item.name.text, value, item.name.location);
      result.settings.emplace_back(item.name.text, settingText(value));
    }
}

FamilyCall FamilyText::call(const std::vector<std::string> &architectures, const std::vector<ConfigEntry> &config) {
  given = &config;
  FamilyCall result;
  result.model = model->name.text;
  bindDefaults();
  checkClasses(architectures, result);
  takeClass(architectures, result);
  for (const FamilyLine &line : lines)
    if (line.word == FamilyWord::Take)
      take(*line.rule, result);
  if (!result.wrong.empty())
    return result;
  bind(result.settings, std::nullopt);
  for (const FamilyLine &line : lines)
    if (line.word == FamilyWord::Must)
      must(*line.rule, result);
  for (const ConfigEntry &entry : config) {
    if (std::find(known.begin(), known.end(), &entry) != known.end())
      continue;
    bool skipped = entry.scope == ConfigEntry::Scope::General || entry.isOff();
    for (const FamilyLine &line : lines)
      if (line.word == FamilyWord::Skip)
        for (const ast::Name &key : line.rule->keys)
          skipped |= matchesName(key.text, entry.key);
    if (skipped)
      result.skipped.push_back(entry.key);
    else if (entry.scope == ConfigEntry::Scope::Absent)
      result.wrong.push_back("'" + entry.key + "' is " + entry.text + ", which npar's " + model->name.text + " is not" +
                             place(family->name));
    else
      result.wrong.push_back("'" + entry.key + "' is " + entry.text + ", a key that family \"" + family->name.text + "\" does not know" +
                             place(family->name));
  }
  return result;
}

FamilyConfig FamilyText::config() {
  FamilyConfig result;
  result.family = family->name.text;
  if (const FamilyLine *line = classOf())
    result.architecture = line->rule->keys.front().text;
  std::set<std::string> taken;
  for (const FamilyLine &line : lines)
    if (line.word == FamilyWord::Take || line.word == FamilyWord::Must)
      if (ConfigEntry entry = written(line, taken); !entry.key.empty())
        result.entries.push_back(std::move(entry));
  return result;
}

ConfigEntry FamilyText::written(const FamilyLine &line, std::set<std::string> &taken) {
  const ast::FamilyRule &rule = *line.rule;
  const bool must = line.word == FamilyWord::Must;
  std::vector<std::string> keys;
  for (const ast::Name &key : rule.keys)
    if (must ? !taken.count(key.text) : taken.insert(key.text).second)
      keys.push_back(key.text);
  if (keys.empty())
    return {};
  std::vector<Value> good = must ? values(*rule.value) : std::vector<Value>{writtenValue(rule)};
  const bool none = std::holds_alternative<None>(good.front()), inside = keys.front().find('.') != std::string::npos;
  ConfigEntry entry = {keys.front(), configValueOf(good.front()), jsonText(good.front())};
  entry.otherKeys.assign(keys.begin() + 1, keys.end());
  for (size_t i = 1; i < good.size(); ++i)
    entry.otherValues.push_back(configValueOf(good[i]));
  entry.optional = must ? none || inside : none && inside;
  if (!must && rule.otherwise) {
    bool followsAnyway = same(good.front(), evaluator.evaluate(*rule.otherwise, constants));
    entry.optional |= none && followsAnyway;
    if (followsAnyway && !std::holds_alternative<None>(defaults.find(rule.value->text)->value)) // null is a missing key then
      entry.otherValues.emplace_back();
  }
  return entry;
}

Value FamilyText::writtenValue(const ast::FamilyRule &rule) {
  Value value = constants.find(rule.value->text)->value, kind = defaults.find(rule.value->text)->value;
  if (rule.otherwise)
    if (Value otherwise = evaluator.evaluate(*rule.otherwise, constants); isNumber(otherwise))
      kind = otherwise;
  constexpr double largestWhole = 9e15; // every integer up to here is a double
  if (std::holds_alternative<double>(kind) && std::holds_alternative<int64_t>(value))
    return toDouble(value);
  if (auto *number = std::get_if<double>(&value);
      number && std::holds_alternative<int64_t>(kind) && *number == std::floor(*number) && std::fabs(*number) < largestWhole)
    return static_cast<int64_t>(*number);
  return value;
}

/// Runs `body` and keeps what it throws inside: what is wrong with the text has been reported.
template <typename Body> auto guarded(Diagnostics &diagnostics, Body body) -> decltype(body()) {
  try {
    auto result = body();
    if (!diagnostics.hasErrors())
      return result;
  } catch (const Stop &) {
  } catch (const Abort &) {
  }
  return {};
}

} // namespace

std::vector<std::string> familiesOf(const FrontendOptions &options, Sources &sources, Diagnostics &diagnostics) {
  return guarded(diagnostics, [&] {
    std::vector<std::string> names;
    FamilyText text(options, sources, diagnostics);
    if (text.loaded())
      for (const ast::Family *family : text.all())
        names.push_back(family->name.text);
    return names;
  });
}

std::optional<FamilyCall> callOf(const FrontendOptions &options, const std::string &family, const std::vector<std::string> &architectures,
                                 const std::vector<ConfigEntry> &config, Sources &sources, Diagnostics &diagnostics) {
  return guarded(diagnostics, [&]() -> std::optional<FamilyCall> {
    FamilyText text(options, sources, diagnostics);
    if (!text.loaded())
      return std::nullopt;
    std::vector<const ast::Family *> found = text.those([&](const ast::Family &each) { return each.name.text == family; });
    if (found.empty() || !text.choose(*found.front()))
      return std::nullopt;
    return text.call(architectures, config);
  });
}

std::optional<FamilyConfig> configOf(const FrontendOptions &options, const std::string &model, Sources &sources, Diagnostics &diagnostics) {
  return guarded(diagnostics, [&]() -> std::optional<FamilyConfig> {
    FamilyText text(options, sources, diagnostics);
    if (!text.loaded())
      return std::nullopt;
    bool bound = false;
    for (const ast::Family *each : text.those([&](const ast::Family &each) { return each.model.text == model; })) {
      if (!text.choose(*each))
        return std::nullopt;
      if (!bound) {
        text.bindDefaults();
        text.bind(options.settings, options.config);
        bound = true;
      }
      if (!text.hasClasses() || text.classOf())
        return text.config();
    }
    return std::nullopt;
  });
}

std::vector<std::string> classesOf(const FrontendOptions &options, const std::string &family, Sources &sources, Diagnostics &diagnostics) {
  return guarded(diagnostics, [&] {
    FamilyText text(options, sources, diagnostics);
    std::vector<const ast::Family *> found;
    if (text.loaded())
      found = text.those([&](const ast::Family &each) { return each.name.text == family; });
    return found.empty() || !text.choose(*found.front()) ? std::vector<std::string>() : text.classes();
  });
}

std::vector<std::pair<std::string, std::string>> configurationsOf(const FrontendOptions &options, Sources &sources,
                                                                  Diagnostics &diagnostics) {
  return guarded(diagnostics, [&] {
    FamilyText text(options, sources, diagnostics);
    return text.loaded() ? text.configurations() : std::vector<std::pair<std::string, std::string>>();
  });
}

} // namespace npar::dsl
