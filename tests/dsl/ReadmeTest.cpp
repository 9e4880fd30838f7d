// Every ```npar example of the language reference elaborates without an error or a warning.
#include "Npar.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace npar::dsl::test;

namespace {

TEST(Readme, ExamplesElaborate) {
  std::istringstream lines(readFile(NPAR_DSL "/README.md"));
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
      EXPECT_TRUE(r.program) << "README.md:" << start << "\n" << r.messages;
      EXPECT_EQ(r.messages, "") << "README.md:" << start;
    } else if (inside) {
      example += line + "\n";
    }
  }
  EXPECT_GE(examples, 5);
}

} // namespace
