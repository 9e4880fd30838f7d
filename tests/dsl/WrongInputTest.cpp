// Every text in wrong/ is refused with exactly the errors that its first lines state: `# error: FILE:LINE:COLUMN: error: MESSAGE`, one
// line each, in order; `# set: KEY=VALUE`, `# plan: NAME` and `# train: NAME` are the options it is read with.
#include "Npar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

using namespace npar::dsl;
using namespace npar::dsl::test;

namespace {

std::vector<std::string> wrongTexts() {
  std::vector<std::string> result;
  for (const auto &entry : std::filesystem::directory_iterator(NPAR_DSL_TESTS "/wrong"))
    if (entry.path().extension() == ".npar")
      result.push_back(entry.path().stem().string());
  std::sort(result.begin(), result.end());
  return result;
}

class WrongInput : public testing::TestWithParam<std::string> {};

TEST_P(WrongInput, IsRefused) {
  std::string path = std::string(NPAR_DSL_TESTS "/wrong/") + GetParam() + ".npar";
  std::vector<std::string> expected;
  Settings settings;
  std::optional<std::string> plan, train;
  std::istringstream lines(readFile(path));
  for (std::string line; std::getline(lines, line) && line.rfind("# ", 0) == 0;) {
    size_t colon = line.find(": ");
    std::string key = line.substr(2, colon - 2), value = line.substr(colon + 2);
    if (key == "error")
      expected.push_back(value);
    else if (key == "set")
      settings.push_back({value.substr(0, value.find('=')), value.substr(value.find('=') + 1)});
    else if (key == "plan")
      plan = value;
    else if (key == "train")
      train = value;
    else
      ASSERT_EQ(key, "shows") << line;
  }
  ASSERT_FALSE(expected.empty());
  Result r = elaborateFile(path, settings, plan, train);
  EXPECT_FALSE(r.program);
  EXPECT_EQ(r.errors, expected.size()) << r.messages;
  size_t from = 0;
  for (const std::string &line : expected) {
    size_t found = r.messages.find(line + "\n", from);
    EXPECT_NE(found, std::string::npos) << "expected: " << line << "\nfound:\n" << r.messages;
    from = found == std::string::npos ? from : found + line.size();
  }
}

INSTANTIATE_TEST_SUITE_P(Dsl, WrongInput, testing::ValuesIn(wrongTexts()), [](const auto &info) { return info.param; });

TEST(WrongInputs, AreMany) { EXPECT_GE(wrongTexts().size(), 55u); }

} // namespace
