// A run of another program is refused at a line of its file, or understood: sizes that go together, and a plan that parses.
#include "tests/fuzz/FuzzTargets.h"
#include "tests/fuzz/MemoryFile.h"

#include "dsl/Frontend.h"
#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/lib/foreign/PlanText.h"

#include <algorithm>
#include <sstream>

namespace npar::fuzz {

namespace {

using namespace foreign;

/// Errors, each at a line that the file has, or about the file as a whole.
void checkRefused(const dsl::Sources &sources, const dsl::Diagnostics &diagnostics) {
  check(diagnostics.hasErrors());
  for (const dsl::Diagnostic &error : diagnostics.all()) {
    const std::string &text = sources.text(error.location.file); // which may be one that the file names
    check(!error.message.empty() && error.message.size() < 4000);
    check(error.location.line <= 2 + static_cast<size_t>(std::count(text.begin(), text.end(), '\n')));
  }
  std::ostringstream printed;
  diagnostics.print(printed);
  check(printed.str().find("error: ") != std::string::npos);
}

bool parses(const std::string &text) {
  MemoryFile file(reinterpret_cast<const uint8_t *>(text.data()), text.size());
  dsl::FrontendOptions options;
  options.file = file.path();
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  std::ostringstream tree;
  return dsl::printAst(options, sources, diagnostics, tree);
}

void read(const std::string &path, const ForeignProgram *program, const ForeignHints &hints) {
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  std::optional<ForeignFile> file = readForeignFile(path, program, sources, diagnostics);
  if (!file)
    return checkRefused(sources, diagnostics);
  check(!diagnostics.hasErrors() && !file->entries.empty());
  std::optional<ForeignRun> run = understand(*file, hints, diagnostics);
  if (!run)
    return checkRefused(sources, diagnostics);
  check(run->world == run->pp * run->dp * run->replicas * run->cp * run->tp);
  check(hints.batch > 0 || run->batch % (run->dp * run->replicas * run->micro) == 0);
  ForeignTarget target{"llama", "Llama", {"head", "hidden", "vocab"}, {"h"}, {"h.{}"}, {"*.bias"}};
  if (run->world <= 4096 && run->stages.size() < 1000) // the plan of a small run stands for all
    check(parses(planText(*run, target, "a\nrun")));
}

} // namespace

void fuzzForeign(const uint8_t *bytes, size_t size) {
  MemoryFile memory(bytes, size);
  ForeignHints known; // --model-config says the model, --world the devices
  known.modelIsKnown = true, known.layers = 4, known.world = 8;
  for (const ForeignProgram *program : foreignPrograms()) {
    read(memory.path(), program, {});
    read(memory.path(), program, known);
  }
}

} // namespace npar::fuzz
