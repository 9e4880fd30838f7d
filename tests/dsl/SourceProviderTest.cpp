// Texts that are no files: from memory, from a function of the host, from the standard library inside the program.
#include "compiler/import/KnownSchedules.h"
#include "dsl/Frontend.h"
#include "dsl/elaborate/Library.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace npar::dsl {
namespace {

namespace fs = std::filesystem;

struct Read {
  std::optional<Program> program;
  std::string messages;
};

Read read(const std::string &file, std::vector<TextsPointer> layers, std::vector<std::string> search = {}) {
  FrontendOptions options;
  options.file = file, options.librarySearch = std::move(search);
  options.texts = std::make_shared<LayeredTexts>(std::move(layers));
  options.purpose = Purpose::Outputs;
  Sources sources;
  Diagnostics diagnostics(sources);
  Read result;
  result.program = elaborate(options, sources, diagnostics);
  std::ostringstream text;
  diagnostics.print(text);
  result.messages = text.str();
  return result;
}

TextsPointer memory(std::map<std::string, std::string> texts) { return std::make_shared<MemoryTexts>(std::move(texts)); }

const char *const layer = "layer Twice() {\n    forward(x) { return x + x }\n}\n";

std::string model(const std::string &import) {
  return "import \"" + import + "\"\nmodel Tiny(n = 4) {\n    axis batch, a = n\n    input x: f32[batch, a]\n    twice = Twice()\n" +
         "    y = twice(x)\n    output y\n}\n";
}

TEST(SourceProvider, ImportsOfATextInMemoryComeFromMemory) {
  Read result = read("mine.npar", {memory({{"mine.npar", model("parts/twice")}, {"parts/twice.npar", layer}})});
  EXPECT_TRUE(result.program) << result.messages;
}

TEST(SourceProvider, AFunctionGivesImportsByName) {
  std::vector<std::string> asked;
  auto host = std::make_shared<HostTexts>([&](const std::string &name) {
    asked.push_back(name);
    return name == "twice" ? std::optional<std::string>(layer) : std::nullopt;
  });
  Read result = read("<text>", {memory({{"<text>", model("twice")}}), host});
  EXPECT_TRUE(result.program) << result.messages;
  EXPECT_EQ(asked, std::vector<std::string>{"twice"});
  EXPECT_NE(read("<text>", {memory({{"<text>", model("thrice")}}), host}).messages.find("<text>:1:8: error: cannot find import \"thrice\""),
            std::string::npos);
}

TEST(SourceProvider, ErrorsInATextOfTheHostNameIt) {
  auto host = std::make_shared<HostTexts>([](const std::string &) { return std::string("layer Twice( {\n"); });
  EXPECT_NE(read("<text>", {memory({{"<text>", model("twice")}}), host}).messages.find("<import>/twice.npar:1:"), std::string::npos);
}

TEST(SourceProvider, ACycleInMemoryIsReported) {
  Read result = read("a.npar", {memory({{"a.npar", "import \"b\"\n" + std::string(layer)}, {"b.npar", "import \"./a\"\n"}})});
  EXPECT_NE(result.messages.find("circular import: a.npar -> b.npar -> a.npar"), std::string::npos) << result.messages;
}

TEST(SourceProvider, TheLibraryInsideTheProgramIsTheFolder) {
  const std::string folder = NPAR_STDLIB;
  size_t files = 0;
  for (const auto &entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".npar") {
      std::ifstream in(entry.path());
      std::string onDisk((std::istreambuf_iterator<char>(in)), {}), why;
      std::string inside = std::string(embeddedLibrary) + "/" + fs::relative(entry.path(), folder).string();
      EXPECT_EQ(installedTexts()->read(inside, 1 << 20, why), onDisk) << inside;
      ++files;
    }
  EXPECT_GT(files, 20u);
  EXPECT_EQ(installedTexts()->textsIn(std::string(embeddedLibrary) + "/machines").size(), DiskTexts().textsIn(folder + "/machines").size());
}

TEST(SourceProvider, TheLibraryInsideTheProgramCompilesItsModels) {
  for (const std::string &text : installedTexts()->textsIn(std::string(embeddedLibrary) + "/models")) {
    FrontendOptions options;
    options.file = text, options.librarySearch = {embeddedLibrary}, options.schedules = compiler::knownSchedules(), options.plan = "none",
    options.purpose = Purpose::Evaluation;
    Sources sources;
    Diagnostics diagnostics(sources);
    std::ostringstream messages;
    bool good = elaborate(options, sources, diagnostics).has_value();
    diagnostics.print(messages);
    EXPECT_TRUE(good) << messages.str();
  }
}

TEST(SourceProvider, MemoryHidesTheDisk) {
  fs::path path = fs::path(testing::TempDir()) / "hidden.npar";
  std::ofstream(path) << "nonsense";
  auto disk = std::make_shared<DiskTexts>();
  EXPECT_FALSE(read(path.string(), {disk}).program);
  EXPECT_TRUE(
      read(path.string(), {memory({{path.string(), layer + model("nothing").substr(model("nothing").find("model"))}}), disk}).program);
  fs::remove(path);
}

TEST(SourceProvider, ALongTextIsRefused) {
  Read result = read("long.npar", {memory({{"long.npar", std::string((1 << 20) + 1, ' ')}})});
  EXPECT_NE(result.messages.find("it has 1048577 bytes, at most 1048576 (1 MiB) are read"), std::string::npos) << result.messages;
}

} // namespace
} // namespace npar::dsl
