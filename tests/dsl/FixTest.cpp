// Spans cut what a location marks out of the text; fixes give a text without the error.
#include "Npar.h"

#include "compiler/import/KnownSchedules.h"
#include "dsl/Frontend.h"
#include "dsl/parse/Parse.h"

#include <gtest/gtest.h>
#include <sstream>

namespace npar::dsl::test {
namespace {

/// Diagnostics of a text, with what they point into.
struct Diagnosed {
  explicit Diagnosed(const std::string &text) : diagnostics(sources) {
    FrontendOptions options;
    options.file = "text.npar", options.librarySearch = {embeddedLibrary}, options.schedules = compiler::knownSchedules();
    options.texts = std::make_shared<LayeredTexts>(std::vector<TextsPointer>{
        std::make_shared<MemoryTexts>(std::map<std::string, std::string>{{"text.npar", text}}), installedTexts()});
    program = elaborate(options, sources, diagnostics);
  }
  Sources sources;
  Diagnostics diagnostics;
  std::optional<Program> program;
};

std::string model(const std::string &loss, const std::string &plan = "") {
  return "import \"Embedding\"\nimport \"Linear\"\n"
         "model Tiny(vocab = 64, width = 16) {\n    axis batch, seq = 4, vocab, embed = width\n    input tokens, targets: i32[batch, seq]\n"
         "    table = Embedding(vocab, embed)  # größer\n    head = Linear(embed, vocab)\n    x = table(tokens)\n    " +
         loss + "\n}\ntrain base for Tiny {\n    batch 8\n    optimizer Sgd(lr = 0.1)\n}\n" + plan;
}
const std::string good = "loss cross_entropy(head(x), targets, over = vocab)";

/// Applies the first fix of the first error, and expects the wanted text and no error in it.
void expectFixed(const std::string &wrong, const std::string &right) {
  Diagnosed found(wrong);
  ASSERT_TRUE(found.diagnostics.hasErrors()) << wrong;
  const Diagnostic &error = found.diagnostics.all().front();
  ASSERT_FALSE(error.fixes.empty()) << error.message;
  EXPECT_EQ(edited(wrong, error.fixes.front().edits), right) << error.fixes.front().title;
  Diagnosed again(right);
  std::ostringstream text;
  again.diagnostics.print(text);
  EXPECT_TRUE(again.program) << text.str();
}

TEST(Fix, WritesTheNameThatWasMeant) {
  expectFixed(model("loss cross_entropy(hed(x), targets, over = vocab)"), model(good));
  expectFixed(model("loss cross_entropy(head(x), targets, over = vocb)"), model(good));
  expectFixed(model("loss cross_entropi(head(x), targets, over = vocab)"), model(good));
}

TEST(Fix, WritesTheMeshAxisThatWasMeant) {
  auto plan = [](const std::string &items) { return "plan two for Tiny {\n    mesh dp = 2\n    micro 2\n" + items + "}\n"; };
  std::string split = "    split {\n        batch -> dp\n    }\n";
  expectFixed(model(good, plan("    split {\n        batch -> dq\n    }\n")), model(good, plan(split)));
}

TEST(Fix, WritesTheImportThatWasMeant) {
  std::string text = model(good);
  expectFixed("import \"Embeding\"\n" + text.substr(text.find('\n') + 1), text);
}

TEST(Fix, AddsTheImportOfALayer) {
  std::string text = model(good);
  std::string rest = text.substr(text.find('\n') + 1);
  expectFixed(rest, "import \"Embedding\"\n" + rest);
}

TEST(Fix, AddsTheCommaThatIsMissing) {
  std::string before = "plan two for Tiny {\n    mesh dp = 2\n    micro 2\n    split {\n        batch -> dp\n    }\n    compute bf16",
              after = " reduce f32 hierarchical\n}\n";
  Diagnosed found(model(good, before + after));
  ASSERT_FALSE(found.diagnostics.all().empty());
  ASSERT_FALSE(found.diagnostics.all().front().fixes.empty());
  EXPECT_EQ(edited(model(good, before + after), found.diagnostics.all().front().fixes.front().edits), model(good, before + "," + after));
}

TEST(Fix, IsOfferedOnlyForWhatStandsThere) {
  Sources sources;
  uint32_t file = sources.add("a.npar", "x = vocb");
  Diagnostics diagnostics(sources);
  Diagnostic &error = diagnostics.error(Code::L5, {file, 1, 5, 4}, "wrong");
  diagnostics.offer(error, {file, 1, 5, 4}, "other", "vocab");
  EXPECT_TRUE(error.fixes.empty());
  diagnostics.offer(error, {file, 1, 5, 4}, "vocb", "vocab");
  ASSERT_EQ(error.fixes.size(), 1u);
  EXPECT_EQ(error.fixes[0].title, "write 'vocab'");
}

TEST(Span, CutsTheBytesOfWhatIsMarked) {
  Sources sources;
  uint32_t file = sources.add("a.npar", "ä = größe\r\n  plus(\n  b)\n");
  auto cut = [&](Location at) { return sources.text(sources.span(at)); };
  EXPECT_EQ(cut({file, 1, 1, 1}), "ä");
  EXPECT_EQ(cut({file, 1, 5, 5}), "größe");
  EXPECT_EQ(cut({file, 2, 3, 10}), "plus(\n  b)");
  EXPECT_EQ(cut({file, 0, 0, 1}), "");
  EXPECT_EQ(cut({file, 9, 1, 1}), "");
  EXPECT_EQ(cut({file, 3, 3, 99}), "b)\n");
}

TEST(Span, OfAnExpressionCoversItsLines) {
  std::string text = model("loss cross_entropy(head(x),\n        targets,  # größer\n        over = vocab, ignore = 2.5)");
  Diagnosed found(text);
  ASSERT_TRUE(found.diagnostics.hasErrors());
  Span span = found.sources.span(found.diagnostics.all().front().location);
  EXPECT_NE(text.find(found.sources.text(span)), std::string::npos);
  EXPECT_GT(span.end, span.begin);
}

TEST(Comments, DoNotChangeWhatATextMeans) {
  std::string plain = model(good), full;
  for (char c : plain) {
    if (c == '\n')
      full += "  # a comment, with \"quotes\" and { braces";
    full += c;
  }
  auto tree = [](const std::string &text) {
    Sources sources;
    Diagnostics diagnostics(sources);
    std::unique_ptr<ast::File> file = parseFile(sources.add("a.npar", text), sources, diagnostics);
    std::ostringstream out;
    diagnostics.print(out);
    if (file)
      print(*file, out);
    return out.str();
  };
  EXPECT_EQ(tree("# first\n" + full + "# last"), tree(plain));
}

} // namespace
} // namespace npar::dsl::test
