// Walks the parser's own tables: the rules that a block's item may be, and the tokens that each may begin with.
#include "dsl/parse/GrammarWords.h"

#include "NparParser.h"

#include <algorithm>
#include <set>

namespace npar::dsl {
namespace {

using grammar::NparParser;

/// The rules that `state` leads to before any token is read, in the grammar's order.
void collectRules(const antlr4::atn::ATNState *state, std::set<const antlr4::atn::ATNState *> &seen, std::vector<size_t> &rules) {
  if (!seen.insert(state).second)
    return;
  for (const antlr4::atn::Transition *transition : state->transitions)
    if (const auto *rule = dynamic_cast<const antlr4::atn::RuleTransition *>(transition))
      rules.push_back(rule->ruleIndex);
    else if (transition->isEpsilon())
      collectRules(transition->target, seen, rules);
}

} // namespace

std::vector<std::string> keywordsOf(GrammarItem item) {
  NparParser parser(nullptr);
  const antlr4::atn::ATN &tables = parser.getATN();
  std::set<const antlr4::atn::ATNState *> seen;
  std::vector<size_t> rules;
  collectRules(tables.ruleToStartState[item == GrammarItem::Train ? NparParser::RuleTrainItem : NparParser::RulePlanItem], seen, rules);
  std::vector<std::string> words;
  for (size_t rule : rules)
    if (rule != NparParser::RuleSetting)
      for (ssize_t token : tables.nextTokens(tables.ruleToStartState[rule]).toList()) {
        std::string literal = parser.getVocabulary().getLiteralName(static_cast<size_t>(token)); // in quotes
        if (literal.size() > 2)
          words.push_back(literal.substr(1, literal.size() - 2));
      }
  std::set<std::string> known; // `require` begins two rules
  words.erase(std::remove_if(words.begin(), words.end(), [&](const std::string &word) { return !known.insert(word).second; }), words.end());
  return words;
}

} // namespace npar::dsl
