// Groups the tokens that a grammar position accepts into what a person would call them.
#include "dsl/parse/SyntaxMessage.h"

namespace npar::dsl {
namespace {

const std::set<std::string> operators = {"'or'", "'and'", "'=='", "'!='", "'<'", "'<='", "'>'", "'>='",
                                         "'+'",  "'-'",   "'*'",  "'/'",  "'%'", "'('",  "'['", "'.'"};
// Words that are names outside of the place where they mean something.
const std::set<std::string> names = {
    "ID",       "'in'",     "'op'",     "'by'",           "'store'",  "'per'",    "'recompute'", "'every'",      "'compute'",
    "'keep'",   "'bucket'", "'stages'", "'hierarchical'", "'under'",  "'config'", "'as'",        "'checkpoint'", "'family'",
    "'else'",   "'place'",  "'inside'", "'machine'",      "'data'",   "'below'",  "'lengths'",   "'weight'",     "'seed'",
    "'last'",   "'freeze'", "'except'", "'where'",        "'metric'", "'output'", "'live'",      "'optimizer'",  "'experts'",
    "'buffer'", "'state'",  "'update'", "'log'",          "'epoch'",  "'epochs'", "'run'"};
// May follow any argument, but mean something in learning rates only.
const std::set<std::string> units = {"'epoch'", "'epochs'", "'run'"};

std::set<std::string> withNames(std::set<std::string> others) {
  others.insert(names.begin(), names.end());
  return others;
}

const std::set<std::string> expressions = withNames({"NUMBER", "STRING", "'true'", "'false'", "'('", "'['", "'-'"});
const std::set<std::string> statements =
    withNames({"'axis'", "'input'", "'param'", "'repeat'", "'loss'", "'metric'", "'output'", "'require'", "'if'", "'forward'", "'return'"});
const std::set<std::string> declarations = {"'import'", "'layer'",  "'model'",   "'train'", "'plan'",
                                            "'config'", "'family'", "'machine'", "'data'",  "'optimizer'"};
const std::set<std::string> words = {"import",  "layer",   "model",  "train", "plan",  "for", "axis", "input", "param", "repeat", "loss",
                                     "require", "forward", "return", "mesh",  "split", "if",  "and",  "or",    "not",   "true",   "false"};

/// Replaces a whole group by one phrase when all of it is there.
void group(std::set<std::string> &tokens, const std::set<std::string> &members, const char *phrase, std::vector<std::string> &out) {
  for (const std::string &member : members)
    if (!tokens.count(member))
      return;
  for (const std::string &member : members)
    tokens.erase(member);
  if (phrase)
    out.push_back(phrase);
}

} // namespace

bool isReservedWord(const std::string &text) { return words.count(text) != 0; }

std::vector<std::string> languageWords() {
  std::vector<std::string> result(words.begin(), words.end());
  for (const std::string &name : names)
    if (name[0] == '\'')
      result.push_back(name.substr(1, name.size() - 2));
  return result;
}

std::string describeSyntaxError(std::set<std::string> expected, const std::string &found, const std::string &whole) {
  std::vector<std::string> phrases;
  group(expected, declarations, "a declaration (import, layer, model, train, plan, config, family, machine, data or optimizer)", phrases);
  group(expected, expressions, "an expression", phrases);
  if (!phrases.empty())
    expected.erase("'not'");
  size_t before = phrases.size();
  group(expected, statements, "a statement", phrases);
  bool statement = phrases.size() > before;
  // Any operator may follow an expression, so the message mentions operators only if nothing else may follow.
  std::vector<std::string> continuation;
  std::set<std::string> rest = expected;
  group(rest, operators, "an operator", continuation);
  if (!continuation.empty() && (!rest.empty() || !phrases.empty()))
    expected = rest;
  else if (!statement)
    group(expected, operators, "an operator", phrases);
  bool name = expected.count("ID") != 0;
  group(expected, names, "a name", phrases);
  group(expected, units, nullptr, phrases);
  for (const std::string &token : expected) {
    if (token == "<EOF>")
      phrases.push_back("the end of the " + whole);
    else if (token == "STRING")
      phrases.push_back("a text in quotes");
    else if (token == "NUMBER")
      phrases.push_back("a number");
    else if (token == "WORD")
      phrases.push_back("a schedule such as 1f1b");
    else
      phrases.push_back(token);
  }
  std::string message = "expected ";
  for (size_t i = 0; i < phrases.size(); ++i)
    message += (i == 0 ? "" : i + 1 == phrases.size() ? " or " : ", ") + phrases[i];
  if (phrases.empty())
    message += "something else";
  if (found.empty())
    return message + ", found the end of the " + whole;
  message += ", found '" + (found.size() > 40 ? found.substr(0, 37) + "..." : found) + "'";
  return name && words.count(found) ? message + ", a reserved word" : message;
}

} // namespace npar::dsl
