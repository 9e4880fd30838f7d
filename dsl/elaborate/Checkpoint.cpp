// The checkpoint block of a model: what the tensors of files with its weights are called.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/ModelElaborator.h"
#include "dsl/elaborate/NamePattern.h"

#include <algorithm>

namespace npar::dsl {
namespace {

/// Words of the rules, indexed by CheckpointRuleKind. The last one is not a kind: it is `fresh` for parameters that no loss needs.
const std::vector<std::string> words = {"rename", "ignore", "same", "fresh", "keep"};
const char *const forms[] = {"`rename \"name in the file\" -> \"parameter\"`", "`ignore \"name in the file\"`",
                             "`same \"name in the file\" = parameter`", "`fresh \"parameter\"`", "`keep \"parameter\"`"};

void checkPattern(Reporter &reporter, const ast::Name &text, bool star) {
  auto stars = std::count(text.text.begin(), text.text.end(), '*');
  if (text.text.empty())
    reporter.fail(Code::L19, text.location, "an empty name");
  if (stars > 1)
    reporter.fail(Code::L19, text.location, "the pattern \"" + text.text + "\" has " + std::to_string(stars) + " '*', at most one is read");
  if (stars == 1 && !star)
    reporter.fail(Code::L19, text.location, "a '*' stands for nothing here: \"" + text.text + "\" must be one name");
}

/// The placeholders for numbers in a pattern, in order, such as "{i}".
std::vector<std::string> numbersOf(const std::string &pattern) {
  std::vector<std::string> result;
  for (size_t open = pattern.find('{'), close; open != std::string::npos; open = pattern.find('{', close)) {
    if ((close = pattern.find('}', open)) == std::string::npos)
      break;
    result.push_back(pattern.substr(open, close - open + 1));
  }
  return result;
}

/// Placeholders that only the target of a `rename` has: an axis, whose indices are all copies of the tensor.
std::vector<std::string> onlyInTarget(const std::string &text, const std::string &target) {
  std::vector<std::string> numbers = numbersOf(text), others;
  for (const std::string &number : numbersOf(target))
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end())
      others.push_back(number);
  return others;
}

/// The numbers in the patterns of `rename` and `ignore`; `target` is empty for the latter.
void checkNumbers(const Graph &graph, Reporter &reporter, const ast::Name &text, const ast::Name &target) {
  constexpr size_t most = 4; // with the '*'
  const std::vector<std::string> numbers = numbersOf(text.text), others = onlyInTarget(text.text, target.text);
  if (size_t count = numbers.size() + (text.text.find('*') != std::string::npos ? 1 : 0); count > most)
    reporter.fail(Code::L19, text.location,
                  "the pattern \"" + text.text + "\" has " + std::to_string(count) + " parts that stand for something, at most " +
                      std::to_string(most) + " are read");
  for (size_t i = 0; i < others.size(); ++i) // the first one may be an axis
    if (const std::string name = others[i].substr(1, others[i].size() - 2); i > 0 || !graph.hasAxis(name))
      reporter.fail(Code::L19, target.location, "'" + others[i] + "' stands for nothing here: \"" + text.text + "\" does not have it");
}

/// Tells whether a model's text declares an axis, perhaps in blocks that these constants leave out.
bool declaresAxis(const std::vector<ast::Statement> &body, const std::string &name) {
  return std::any_of(body.begin(), body.end(), [&](const ast::Statement &s) {
    bool here = s.kind == ast::StatementKind::Axis &&
                std::any_of(s.items.begin(), s.items.end(), [&](const ast::Item &item) { return item.name.text == name; });
    return here || declaresAxis(s.body, name) || declaresAxis(s.otherwise, name);
  });
}

/// Tells whether a `rename` copies tensors along an axis of blocks that these constants leave out: it has no effect then.
bool copiesNothing(const Graph &graph, const ast::CheckpointRule &rule, const std::vector<ast::Statement> &body) {
  const std::vector<std::string> others = rule.target ? onlyInTarget(rule.text.text, rule.target->text) : std::vector<std::string>();
  if (others.size() != 1)
    return false;
  const std::string name = others[0].substr(1, others[0].size() - 2);
  return !graph.hasAxis(name) && declaresAxis(body, name);
}

} // namespace

void ModelElaborator::collectCheckpoint(const ast::Statement &s) {
  for (const ast::CheckpointRule &rule : s.rules)
    checkpointRules.push_back(&rule);
}

void ModelElaborator::resolveCheckpoint(Scope &scope) {
  for (const ast::CheckpointRule *source : checkpointRules)
    try {
      if (!copiesNothing(graph, *source, text->body))
        graph.model.checkpoint.push_back(checkpointRule(*source, scope));
    } catch (const Stop &) {
    }
  checkShadowed();
}

CheckpointRule ModelElaborator::checkpointRule(const ast::CheckpointRule &source, Scope &scope) {
  auto word = std::find(words.begin(), words.end(), source.word.text);
  if (word == words.end()) {
    Helps helps = didYouMean(source.word.text, words);
    reporter.fail(Code::L19, source.word.location, "a checkpoint block has no '" + source.word.text + "'",
                  helps.empty() ? Helps{"it has " + joined(words, "and")} : helps);
  }
  CheckpointRule rule;
  bool keep = *word == words.back();
  rule.kind = keep ? CheckpointRuleKind::Fresh : static_cast<CheckpointRuleKind>(word - words.begin());
  rule.location = source.text.location;
  bool rename = rule.kind == CheckpointRuleKind::Rename, same = rule.kind == CheckpointRuleKind::Same;
  if (source.target.has_value() != rename || (source.value != nullptr) != same)
    reporter.fail(Code::L19, source.word.location, "'" + source.word.text + "' is written in another way",
                  {std::string("write ") + forms[word - words.begin()]});
  checkPattern(reporter, source.text, !same);
  (rule.kind == CheckpointRuleKind::Fresh ? rule.model : rule.file) = source.text.text;
  if (keep)
    keptPatterns.push_back(rule.model);
  if (rename) {
    checkPattern(reporter, *source.target, source.text.text.find('*') != std::string::npos);
    rule.model = source.target->text;
  }
  if (rename || rule.kind == CheckpointRuleKind::Ignore)
    checkNumbers(graph, reporter, source.text, rename ? *source.target : ast::Name());
  if (same)
    rule.model = parameterPath(*source.value, scope);
  return rule;
}

/// A line without effect: another one has all names that it is for.
void ModelElaborator::checkShadowed() {
  const std::vector<CheckpointRule> &rules = graph.model.checkpoint;
  auto textOf = [](const CheckpointRule &rule) { return rule.kind == CheckpointRuleKind::Fresh ? rule.model : rule.file; };
  auto copies = [](const CheckpointRule &rule) { return !onlyInTarget(rule.file, rule.model).empty(); };
  for (size_t i = 0; i < rules.size(); ++i)
    for (size_t j = 0; j < rules.size(); ++j) {
      // An `ignore` line holds whatever other lines say; of two lines of one kind the first holds.
      bool ignored = rules[j].kind == CheckpointRuleKind::Ignore && rules[i].kind != CheckpointRuleKind::Fresh;
      // A line that copies is for tensors that are no parameters by the others.
      bool alike = rules[j].kind == rules[i].kind && copies(rules[j]) == copies(rules[i]);
      bool earlier = alike && j < i;
      if (i == j || !(earlier || (ignored && rules[i].kind != rules[j].kind)) || !coversPattern(textOf(rules[j]), textOf(rules[i])))
        continue;
      reporter.error(Code::L19, rules[i].location,
                     "this line has no effect: another line matches every name of \"" + textOf(rules[i]) + '"', rules[j].location,
                     "it is here", {earlier ? "remove one of them, or put the narrower one first" : "remove one of them"});
      break;
    }
}

bool ModelElaborator::isKept(const std::string &parameter) const {
  return std::any_of(keptPatterns.begin(), keptPatterns.end(), [&](const std::string &pattern) { return matchesName(pattern, parameter); });
}

/// `wte.weight`, or its path in quotes where the text has no name for it, as inside of a repeat.
std::string ModelElaborator::parameterPath(const ast::Expression &e, Scope &scope) {
  auto pathOf = [&](const Value &value, Location at) {
    if (std::holds_alternative<Poison>(value))
      throw Stop{};
    auto *parameter = std::get_if<ParameterValue>(&value);
    if (!parameter)
      reporter.fail(Code::L19, at, "'same' compares with a parameter, this is " + kindOf(value));
    return graph.model.parameters[parameter->index].path;
  };
  if (e.kind == ast::ExpressionKind::Text)
    return e.text;
  const ast::Expression &base = e.kind == ast::ExpressionKind::Suffixed ? *e.items[0] : e;
  if (base.kind != ast::ExpressionKind::Name)
    reporter.fail(Code::L19, e.location, "expected a parameter, such as wte.weight, or its path in quotes");
  Binding *binding = scope.find(base.text);
  if (!binding)
    unknown("name", base, scope);
  for (const ast::Suffix &suffix : e.suffixes) {
    auto *layer = std::get_if<Instance *>(&binding->value);
    if (std::holds_alternative<Poison>(binding->value))
      throw Stop{};
    if (suffix.kind != ast::SuffixKind::Member || !layer)
      reporter.fail(Code::L19, e.location, "expected a parameter, such as wte.weight, or its path in quotes");
    Binding *inner = (*layer)->scope.findHere(suffix.member.text);
    if (!inner)
      reporter.fail(Code::L19, suffix.member.location, "layer '" + (*layer)->path + "' has no member '" + suffix.member.text + "'",
                    didYouMean(suffix.member.text, (*layer)->scope.names()));
    binding = inner;
  }
  return pathOf(binding->value, e.location);
}

void ModelElaborator::checkCheckpoint() {
  std::vector<std::string> paths;
  for (const Parameter &p : graph.model.parameters)
    paths.push_back(p.path);
  auto suchAs = [&](const std::string &name) {
    Helps helps = didYouMean(name, paths);
    return helps.empty() ? Helps{"a parameter is called such as '" + paths.back() + "'"} : helps;
  };
  auto has = [&](const std::string &pattern) {
    return std::any_of(paths.begin(), paths.end(), [&](const std::string &path) { return matchesName(pattern, path); });
  };
  for (const CheckpointRule &rule : graph.model.checkpoint) {
    if (rule.kind == CheckpointRuleKind::Fresh && !has(rule.model))
      reporter.error(Code::L19, rule.location, "no parameter of model '" + graph.model.name + "' is called \"" + rule.model + '"',
                     suchAs(rule.model));
    if (rule.kind == CheckpointRuleKind::Same && std::find(paths.begin(), paths.end(), rule.model) == paths.end())
      reporter.error(Code::L19, rule.location, "model '" + graph.model.name + "' has no parameter '" + rule.model + "'",
                     suchAs(rule.model));
    if (rule.kind == CheckpointRuleKind::Same && rule.model.find('{') != std::string::npos)
      reporter.error(Code::L19, rule.location,
                     "\"" + rule.file + "\" cannot be the same as '" + rule.model + "', which is several tensors of the file");
    if (rule.kind == CheckpointRuleKind::Same && rule.file == rule.model)
      reporter.error(Code::L19, rule.location, "\"" + rule.file + "\" is the parameter's own name: there is nothing to compare",
                     {"remove this line"});
  }
}

} // namespace npar::dsl
