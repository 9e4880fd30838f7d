// A text is refused with a message at a place, or accepted; what parses is printed as a text with the same tree.
#include "tests/fuzz/FuzzTargets.h"
#include "tests/fuzz/MemoryFile.h"

#include "dsl/Frontend.h"

#include <sstream>

namespace npar::fuzz {

namespace {

dsl::FrontendOptions optionsFor(const std::string &path) {
  dsl::FrontendOptions options;
  options.file = path;
  options.librarySearch = {NPAR_STDLIB};
  options.schedules.kinds = {{"1f1b", 1, false, 0}, {"gpipe", 1, false, 0}, {"interleaved", 2, true, 0}, {"zb_v", 2, false, 2}};
  options.schedules.defaultName = "1f1b";
  return options;
}

/// The tree of a text as text; empty when it does not parse.
std::string treeOf(const std::string &text) {
  MemoryFile file(reinterpret_cast<const uint8_t *>(text.data()), text.size());
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  std::ostringstream out;
  return dsl::printAst(optionsFor(file.path()), sources, diagnostics, out) ? out.str() : "";
}

} // namespace

void fuzzModelText(const uint8_t *bytes, size_t size) {
  MemoryFile file(bytes, size);
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  std::optional<dsl::Program> program = dsl::elaborate(optionsFor(file.path()), sources, diagnostics);
  std::ostringstream messages;
  diagnostics.print(messages);
  if (program ? diagnostics.errorCount() != 0 : messages.str().find("error: ") == std::string::npos)
    std::abort();
  std::string tree = treeOf({reinterpret_cast<const char *>(bytes), size});
  if (!tree.empty() && treeOf(tree) != tree)
    std::abort();
}

} // namespace npar::fuzz
