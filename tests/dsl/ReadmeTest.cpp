// Checks the language reference: every ```npar example elaborates without an error or a warning, and its reserved words are those of the
// grammar.
#include "Npar.h"
#include "dsl/parse/SyntaxMessage.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

using namespace npar::dsl::test;

namespace {

/// The number of examples on a page.
int elaborateExamples(const std::string &page) {
  std::istringstream lines(readFile(NPAR_DSL "/" + page));
  std::string example;
  int number = 0, start = 0, examples = 0;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line == "```npar") {
      inside = true;
      start = number;
      example.clear();
    } else if (line == "```" && inside) {
      inside = false;
      ++examples;
      Result r = elaborateText(example);
      EXPECT_TRUE(r.program) << page << ":" << start << "\n" << r.messages;
      EXPECT_EQ(r.messages, "") << page << ":" << start;
    } else if (inside) {
      example += line + "\n";
    }
  }
  return examples;
}

TEST(Readme, ExamplesElaborate) {
  EXPECT_GE(elaborateExamples("LANGUAGE.md"), 5);
  EXPECT_GE(elaborateExamples("PLANS.md"), 6);
  EXPECT_GE(elaborateExamples("NAMES.md"), 3);
  EXPECT_GE(elaborateExamples("LOSSES.md"), 1);
  EXPECT_GE(elaborateExamples("WINDOWS.md"), 1);
}

/// The first group of each match.
std::set<std::string> found(const std::string &text, const std::string &pattern) {
  std::set<std::string> result;
  const std::regex expression(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end; ++match)
    result.insert((*match)[1]);
  return result;
}

/// Compares the grammar's tokens that are words, except the alternatives of its rule `name`.
TEST(Readme, ReservedWordsAreTheGrammars) {
  const std::string grammar = readFile(NPAR_DSL "/grammar/Npar.g4"), page = readFile(NPAR_DSL "/LANGUAGE.md");
  std::smatch rule, list;
  ASSERT_TRUE(std::regex_search(grammar, rule, std::regex("\nname: ([^;]*);")));
  ASSERT_TRUE(std::regex_search(page, list, std::regex("which cannot be names: `([^`]*)`")));
  const std::set<std::string> names = found(rule[1], "([A-Z]+)");
  std::set<std::string> words, said = found(list[1], "([a-z]+)"), known;
  for (const std::string &token : found(grammar, "\n([A-Z_]+): '[a-z]+';"))
    if (names.count(token) == 0)
      words.merge(found(grammar, "\n" + token + ": '([a-z]+)';"));
  EXPECT_GE(words.size(), 20u);
  EXPECT_EQ(said, words);
  for (const std::string &word : npar::dsl::languageWords())
    if (npar::dsl::isReservedWord(word))
      known.insert(word);
  EXPECT_EQ(known, words);                                                       // what messages call reserved
  EXPECT_EQ(npar::dsl::languageWords().size(), words.size() + names.size() - 1); // without ID
}

} // namespace
