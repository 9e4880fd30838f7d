// The printed form of messages: head line, source line, caret.
#include "dsl/Diagnostics.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace npar::dsl;

namespace {

std::string printed(const std::string &text, Location at, const std::string &message = "wrong") {
  Sources sources;
  at.file = sources.add("a.npar", text);
  Diagnostics diagnostics(sources);
  diagnostics.error(Code::L5, at, message);
  std::ostringstream out;
  diagnostics.print(out);
  return out.str();
}

TEST(Diagnostics, PrintsLineCaretNotesAndHelps) {
  Sources sources;
  uint32_t file = sources.add("gpt.npar", "a\n    head -> tp\n");
  Diagnostics diagnostics(sources);
  diagnostics.error(Code::P8, {file, 2, 5, 4}, "axis 'head' of size 30 is not divisible by mesh axis 'tp' of size 4")
      .note({file, 1, 1, 1}, "mesh declared here")
      .help({file, 2, 5, 4}, "tp = 2, 3, 5 or 6 divide it");
  std::ostringstream out;
  diagnostics.print(out);
  EXPECT_EQ(out.str(), "gpt.npar:2:5: error: axis 'head' of size 30 is not divisible by mesh axis 'tp' of size 4 [P8]\n"
                       "   head -> tp\n"
                       "   ^~~~\n"
                       "gpt.npar:1:1: note: mesh declared here\n"
                       "gpt.npar:2:5: help: tp = 2, 3, 5 or 6 divide it\n");
}

TEST(Diagnostics, KeepsTheCaretUnderTabsAndUmlauts) {
  EXPECT_EQ(printed("\tä\tx = y", {0, 1, 8, 1}), "a.npar:1:8: error: wrong [L5]\n   ä x = y\n         ^\n");
}

TEST(Diagnostics, ClipsLongLinesAroundTheCaret) {
  std::string out = printed(std::string(5000, 'a') + "B" + std::string(5000, 'c'), {0, 1, 5001, 9000});
  std::istringstream lines(out);
  std::string head, line, caret;
  std::getline(lines, head);
  std::getline(lines, line);
  std::getline(lines, caret);
  EXPECT_LE(line.size(), 160u);
  ASSERT_NE(caret.find('^'), std::string::npos);
  EXPECT_EQ(line[caret.find('^')], 'B');
  EXPECT_LE(caret.size(), line.size());
}

TEST(Diagnostics, HasNoLineWithoutAPlace) { EXPECT_EQ(printed("text", {0, 0, 0, 1}), "a.npar: error: wrong [L5]\n"); }

TEST(Diagnostics, SurvivesPlacesOutsideOfTheText) {
  EXPECT_EQ(printed("text", {0, 9, 9, 9}), "a.npar:9:9: error: wrong [L5]\n");
  EXPECT_EQ(printed("text", {0, 1, 5, 1}), "a.npar:1:5: error: wrong [L5]\n   text\n       ^\n");
}

TEST(Diagnostics, CountsErrorsNotWarnings) {
  Sources sources;
  Diagnostics diagnostics(sources);
  diagnostics.warning({}, "odd");
  EXPECT_FALSE(diagnostics.hasErrors());
  diagnostics.error(Code::P8, {}, "wrong");
  EXPECT_EQ(diagnostics.errorCount(), 1u);
}

} // namespace
