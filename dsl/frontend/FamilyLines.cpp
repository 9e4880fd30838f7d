// Checks the lines of families against the model that they are for.
#include "dsl/frontend/FamilyLines.h"

#include "dsl/Suggestions.h"
#include "dsl/elaborate/NamePattern.h"

#include <algorithm>

namespace npar::dsl {
namespace {

/// Words of the lines, indexed by FamilyWord.
const std::vector<std::string> words = {"class", "take", "must", "skip"};
const char *const forms[] = {"`class \"GPT2LMHeadModel\"`, or `class \"BertModel\"(task = \"sentence\")`",
                             "`take \"key\" = constant`, or `take \"key\" = constant else value`",
                             "`must \"key\" = value`, or `must \"key\" = [value, value]`", "`skip \"key\"`"};

class LineChecker {
public:
  LineChecker(Reporter &reporter, const ast::Family &family, const ast::Block &model) : reporter(reporter), family(family), model(model) {}

  std::vector<FamilyLine> run() {
    std::vector<FamilyLine> lines;
    for (const ast::FamilyRule &rule : family.rules)
      try {
        lines.push_back(line(rule));
      } catch (const Stop &) {
      }
    return lines;
  }

private:
  FamilyLine line(const ast::FamilyRule &rule) {
    auto found = std::find(words.begin(), words.end(), rule.word.text);
    if (found == words.end()) {
      Helps helps = didYouMean(rule.word.text, words);
      reporter.fail(Code::L20, rule.word.location, "a family has no '" + rule.word.text + "'",
                    helps.empty() ? Helps{"it has " + joined(words, "and")} : helps);
    }
    auto word = static_cast<FamilyWord>(found - words.begin());
    bool valued = word == FamilyWord::Take || word == FamilyWord::Must;
    bool isName = rule.value && rule.value->kind == ast::ExpressionKind::Name;
    if ((rule.value != nullptr) != valued || (rule.otherwise && word != FamilyWord::Take) || (word == FamilyWord::Take && !isName))
      reporter.fail(Code::L20, rule.word.location, "'" + rule.word.text + "' is written in another way",
                    {std::string("write ") + forms[static_cast<int>(word)]});
    if (word == FamilyWord::Take)
      checkConstant(rule.value->location, rule.value->text);
    if (!rule.values.empty() && word != FamilyWord::Class)
      reporter.fail(Code::L20, rule.values.front().name.location, "only a class has constants", {std::string("write ") + forms[0]});
    for (const ast::Item &item : rule.values) {
      checkConstant(item.name.location, item.name.text);
      if (!item.value)
        reporter.fail(Code::L20, item.name.location, "class \"" + rule.keys.front().text + "\" gives no value to '" + item.name.text + "'",
                      {"write " + item.name.text + " = ..."});
    }
    if (word != FamilyWord::Class)
      for (const ast::Name &key : rule.keys)
        checkKey(key, word);
    return {word, &rule};
  }

  void checkConstant(const Location &at, const std::string &name) {
    std::vector<std::string> constants;
    for (const ast::Item &constant : model.parameters)
      constants.push_back(constant.name.text);
    if (std::find(constants.begin(), constants.end(), name) == constants.end())
      reporter.fail(Code::L20, at, "model '" + model.name.text + "' has no constant '" + name + "'", didYouMean(name, constants));
  }

  void checkKey(const ast::Name &key, FamilyWord word) {
    auto stars = std::count(key.text.begin(), key.text.end(), '*');
    if (key.text.empty() || stars > (word == FamilyWord::Skip ? 1 : 0))
      reporter.fail(Code::L20, key.location, "\"" + key.text + "\" is no key of a configuration",
                    {"a key is a name; that of 'skip' may have one '*'"});
    for (const auto &[before, other] : keys)
      if (matchesName(before->text, key.text) && !(word == FamilyWord::Must && other == FamilyWord::Take))
        reporter.error(Code::L20, key.location, "the key \"" + key.text + "\" has a line already", before->location, "it is here",
                       {"remove one of them"});
    keys.emplace_back(&key, word);
  }

  Reporter &reporter;
  const ast::Family &family;
  const ast::Block &model;
  std::vector<std::pair<const ast::Name *, FamilyWord>> keys;
};

} // namespace

std::vector<FamilyLine> familyLines(Reporter &reporter, const ast::Family &family, const ast::Block &model) {
  return LineChecker(reporter, family, model).run();
}

} // namespace npar::dsl
