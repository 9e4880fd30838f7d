// The layout of `npar fmt`, and its laws: formatting twice changes nothing more, the syntax tree and the comments stay.
#include "dsl/format/Format.h"
#include "Npar.h"
#include "dsl/parse/Parse.h"
#include "dsl/parse/TextTokens.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>

using namespace npar::dsl;
using namespace npar::dsl::test;

namespace {

std::string formatted(const std::string &text) {
  std::optional<std::string> result = format(text);
  EXPECT_TRUE(result) << text;
  return result.value_or("");
}

/// The printed syntax tree; nothing for a text with syntax errors.
std::optional<std::string> treeOf(const std::string &text) {
  Sources sources;
  Diagnostics diagnostics(sources);
  std::unique_ptr<ast::File> tree = parseFile(sources.add("", text), sources, diagnostics);
  if (!tree)
    return std::nullopt;
  std::ostringstream out;
  print(*tree, out);
  return out.str();
}

/// The comments in their order, without spaces at their ends.
std::vector<std::string> commentsOf(const std::string &text) {
  std::vector<std::string> comments;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    bool inText = false;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"')
        inText = !inText;
      if (line[i] == '#' && !inText) {
        comments.push_back(line.substr(i, line.find_last_not_of(" \t\r") + 1 - i));
        break;
      }
    }
  }
  return comments;
}

void expectLaws(const std::string &text) {
  std::optional<std::string> once = format(text);
  std::optional<std::string> tree = treeOf(text);
  ASSERT_EQ(once.has_value(), tree.has_value()) << text;
  if (!once)
    return;
  EXPECT_EQ(format(*once), once) << text;
  EXPECT_EQ(treeOf(*once), tree) << text;
  EXPECT_EQ(commentsOf(*once), commentsOf(text)) << text;
}

std::vector<std::string> libraryTexts() {
  std::vector<std::string> texts;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(stdlib))
    if (entry.path().extension() == ".npar")
      texts.push_back(readFile(entry.path().string()));
  return texts;
}

TEST(Format, StandardLibraryIsFormatted) {
  int files = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(stdlib))
    if (entry.path().extension() == ".npar") {
      std::string text = readFile(entry.path().string());
      EXPECT_EQ(formatted(text), text) << entry.path() << ": run `npar fmt` on it";
      expectLaws(text);
      ++files;
    }
  EXPECT_GE(files, 60);
}

/// A text with other white space, new comments, and sometimes a token too few, twice or exchanged.
std::string mutated(const std::string &text, std::mt19937 &random) {
  Sources sources;
  Diagnostics diagnostics(sources);
  std::optional<std::vector<TextToken>> tokens = readTokens(sources.add("", text), sources, diagnostics);
  EXPECT_TRUE(tokens);
  auto chance = [&](int of) { return random() % of == 0; };
  std::vector<std::string> words;
  for (const TextToken &token : *tokens)
    words.push_back(token.text);
  for (size_t edits = random() % 3; edits > 0; --edits) {
    size_t at = random() % words.size();
    if (chance(2))
      words.erase(words.begin() + at);
    else if (chance(2))
      words.insert(words.begin() + at, words[random() % words.size()]);
    else
      std::swap(words[at], words[random() % words.size()]);
  }
  static const char *const spaces[] = {" ", "  ", "\n", "\n\n\n", "\t", "\r\n", "     ", " # ä comment\n", "\n# alone  \n", "\n    "};
  bool keeps = chance(2); // the places of most lines
  std::string result;
  for (size_t i = 0; i < words.size(); ++i) {
    bool endsLine = words[i][0] == '#' || (i < tokens->size() && i + 1 < tokens->size() && (*tokens)[i].line != (*tokens)[i + 1].line);
    result += words[i];
    if (words[i][0] == '#' || (keeps && endsLine))
      result += "\n";
    result += keeps && !chance(8) ? " " : spaces[random() % std::size(spaces)];
  }
  return result;
}

TEST(Format, LawsHoldForMutatedTexts) {
  const size_t wanted = std::getenv("NPAR_LONG") ? 2000 : 100; // texts that parse
  std::vector<std::string> texts = libraryTexts();
  texts.erase(std::remove_if(texts.begin(), texts.end(), [](const std::string &text) { return text.size() > 4000; }), texts.end());
  std::mt19937 random(47);
  size_t parsed = 0;
  for (size_t tried = 0; parsed < wanted && tried < 20 * wanted; ++tried) {
    std::string text = mutated(texts[random() % texts.size()], random);
    parsed += treeOf(text).has_value();
    expectLaws(text);
    if (HasFailure())
      return;
  }
  EXPECT_EQ(parsed, wanted);
}

TEST(Format, Spaces) {
  EXPECT_EQ(formatted("model M( a=1 ,b = - 2 ){axis  batch,seq=8 input x :i32 [ batch,seq ] y=f ( -x , [ 1,2 ] ) [ seq=0 ] . z*( 3 )}"),
            "model M(a = 1, b = -2) { axis batch, seq = 8  input x: i32[batch, seq]  y = f(-x, [1, 2])[seq = 0].z * (3) }\n");
  EXPECT_EQ(formatted("plan p for M{mesh dp=2 split{batch->dp by zb_auto ( 2 )}}"),
            "plan p for M { mesh dp = 2  split { batch -> dp by zb_auto(2) } }\n");
  EXPECT_EQ(formatted("machine m{link host{bandwidth 3 GB / s latency -1 us}}"),
            "machine m { link host { bandwidth 3 GB/s  latency -1 us } }\n");
  EXPECT_EQ(formatted("optimizer O(lr){update(w,g){w=w-lr*g}}"), "optimizer O(lr) { update(w, g) { w = w - lr * g } }\n");
}

TEST(Format, LinesAndIndentation) {
  EXPECT_EQ(
      formatted("model M {\n\n\n  x = f(a,\n b)\n\n\n  y = g(\n a,\n b\n )\n require a == 1,\n \"text\"\n}\n\n\n\nmodel N {}\n\n"),
      "model M {\n    x = f(a,\n          b)\n\n    y = g(\n        a,\n        b\n    )\n    require a == 1,\n            \"text\"\n}\n\n"
      "model N {}\n");
  EXPECT_EQ(formatted("model M\n{ if a { x = 1 }\nelse\n{ x = 2\n} }"),
            "model M {\n    if a { x = 1 }\n    else {\n        x = 2\n    }\n}\n");
}

// A column that the text has is kept, and no wider than needed; there is none where the text has none.
TEST(Format, Columns) {
  EXPECT_EQ(formatted("model M {\n up     = A(1)\n down   = B(2)\n x = up(y)\n}\n"),
            "model M {\n    up   = A(1)\n    down = B(2)\n    x = up(y)\n}\n");
  EXPECT_EQ(formatted("model M {\n up = A(1)\n down = B(2)\n}\n"), "model M {\n    up = A(1)\n    down = B(2)\n}\n");
  EXPECT_EQ(formatted("plan p { store {\n optimizer   -> dp   if a\n gradients   -> dp, ep   if b\n} }"),
            "plan p {\n    store {\n        optimizer -> dp if a\n        gradients -> dp, ep if b\n    }\n}\n");
}

// A column continues after lines without it, and continued lines move with the bracket that they belong to.
TEST(Format, ColumnsAcrossOtherLines) {
  EXPECT_EQ(formatted("data d for M {\n text \"a.csv\"\n   x     = f(1,\n 2),\n   label = g(3)\n training:     flip\n drop last\n "
                      "evaluation:   crop\n}\n"),
            "data d for M {\n    text \"a.csv\"\n            x     = f(1,\n                      2),\n            label = g(3)\n"
            "    training:   flip\n    drop last\n    evaluation: crop\n}\n");
}

TEST(Format, ChainsOfElse) {
  EXPECT_EQ(formatted("model M {\nif a {\nx = 1\n} else { if b {\nx = 2\n} else {\nx = 3\n} }\n}\n"),
            "model M {\n    if a {\n        x = 1\n    } else { if b {\n        x = 2\n    } else {\n        x = 3\n    } }\n}\n");
}

TEST(Format, Comments) {
  EXPECT_EQ(
      formatted("# first\nmodel M { # of M  \n  # alone\n  x = 1      # at the end\n  y = f(1,   # inside\n 2)\n # last\n}\n# after\n"),
      "# first\nmodel M { # of M\n    # alone\n    x = 1      # at the end\n    y = f(1,   # inside\n          2)\n    # last\n}\n# "
      "after\n");
}

TEST(Format, LineEndsAndMarks) {
  EXPECT_EQ(formatted("model M {\r\n  x=1\r\n}"), "model M {\r\n    x = 1\r\n}\r\n");
  EXPECT_EQ(formatted("\xEF\xBB\xBFmodel M {}"), "model M {}\n");
  EXPECT_EQ(formatted(""), "");
  EXPECT_EQ(formatted("# no code"), "# no code\n");
  std::string list = "[1";
  for (int i = 0; i < 20000; ++i)
    list += ", 1";
  const std::string wide = "model M(a = " + list + "]) {}\n"; // lines are never broken
  EXPECT_EQ(formatted(wide), wide);
}

// The second error is one that the grammar alone accepts.
TEST(Format, TextsWithErrorsStay) {
  for (const char *text : {"model M {\n  x = \n}", "model M {\n  x = f(1 = 2)\n}"}) {
    Sources sources;
    Diagnostics diagnostics(sources);
    EXPECT_FALSE(format(sources.add("a.npar", text), sources, diagnostics));
    ASSERT_EQ(diagnostics.errorCount(), 1u);
    EXPECT_EQ(diagnostics.all()[0].code, "L2");
  }
}

} // namespace
