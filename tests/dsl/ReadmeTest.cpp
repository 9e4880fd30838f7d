// Every ```npar example of the language reference elaborates without an error or a warning.
#include "Npar.h"

#include <gtest/gtest.h>

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
}

} // namespace
