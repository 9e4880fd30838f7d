// Every code has a page and every page a code; the first example of a page is refused with its code, the second compiles without a word.
#include "tools/lib/errors/ErrorPages.h"

#include "dsl/Codes.h"
#include "engine/json/Json.h"
#include "tools/lib/models/Compilation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace npar;
using errors::ErrorPage;

namespace {

std::set<std::string> codes() {
  return {
#define NPAR_CODE(code) #code,
      NPAR_ERROR_CODES(NPAR_CODE)
#undef NPAR_CODE
  };
}

TEST(ErrorPages, AreThoseOfTheCodes) {
  std::set<std::string> titled;
  for (const ErrorPage &page : errors::errorPages()) {
    EXPECT_FALSE(page.text.empty()) << page.code;
    if (!page.title.empty()) {
      EXPECT_TRUE(titled.insert(page.code).second) << page.code << " has two pages";
    }
  }
  EXPECT_EQ(titled, codes());
}

TEST(ErrorPages, AreFoundByTheirCodes) {
  ASSERT_TRUE(errors::findErrorPage("p8"));
  EXPECT_EQ(errors::findErrorPage("p8")->title, "an axis is not divisible");
  EXPECT_NE(errors::findErrorPage("P8")->text.find("\nThe rule P8:\n"), std::string::npos) << "the rule of RULES.md follows";
  EXPECT_TRUE(errors::findErrorPage("V1")) << "rules without a page of errors are pages too";
  EXPECT_FALSE(errors::findErrorPage("P99"));
  EXPECT_FALSE(errors::findErrorPage(""));
}

/// The ```npar blocks of a text.
std::vector<std::string> examplesOf(const std::string &text) {
  std::vector<std::string> examples;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);)
    if (line == "```npar")
      inside = true, examples.emplace_back();
    else if (line == "```")
      inside = false;
    else if (inside)
      examples.back() += line + "\n";
  return examples;
}

struct Warnings : engine::Observer {
  std::string text;
  void warn(const std::string &message) override { text += message; }
};

/// A file in a folder of its own.
struct ExampleFile {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("npar-errors-" + std::to_string(getpid()));
  std::string path = (folder / "example.npar").string();
  explicit ExampleFile(const std::string &text) {
    std::filesystem::create_directories(folder);
    std::ofstream(path) << text;
  }
  ~ExampleFile() { std::filesystem::remove_all(folder); }
};

engine::Status compile(const std::string &text, Warnings &warnings) {
  ExampleFile file(text);
  models::ModelOptions options;
  options.model = file.path;
  engine::Result<models::ElaboratedModel> model = models::elaborateModel(options, warnings);
  if (!model.ok())
    return model.status();
  return model->compilation->compile(model->program, /*withoutKernels=*/true).status();
}

TEST(ErrorPages, ExamplesAreRefusedAndAccepted) {
  int compiled = 0;
  for (const ErrorPage &page : errors::errorPages()) {
    std::vector<std::string> examples = examplesOf(page.text);
    if (page.title.empty() || examples.empty() || page.text.find("```sh\n") != std::string::npos)
      continue; // end_to_end/test_error_pages.py runs the commands
    ASSERT_EQ(examples.size(), 2u) << page.code;
    Warnings warnings;
    engine::Status refused = compile(examples[0], warnings), accepted = compile(examples[1], warnings);
    EXPECT_FALSE(refused.ok()) << page.code << "\n" << examples[0];
    std::set<std::string> found;
    for (const auto &one : Json::parse(refused.diagnostics().empty() ? "[]" : refused.diagnostics()))
      found.insert(one.value("code", ""));
    EXPECT_TRUE(found.count(page.code)) << page.code << "\n" << refused.message();
    EXPECT_TRUE(accepted.ok()) << page.code << "\n" << accepted.message();
    EXPECT_EQ(warnings.text, "") << page.code;
    ++compiled;
  }
  EXPECT_GE(compiled, 55);
}

} // namespace
