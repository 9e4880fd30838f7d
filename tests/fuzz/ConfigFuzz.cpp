// A configuration is refused with a reason, or every key of it is in one of the lists: what the family says, what it leaves out.
#include "tests/fuzz/FuzzTargets.h"
#include "tests/fuzz/MemoryFile.h"

#include "tools/lib/foreign/ConfigFile.h"

namespace npar::fuzz {

void fuzzConfig(const uint8_t *bytes, size_t size) {
  MemoryFile memory(bytes, size);
  auto config = foreign::readConfigFile(memory.path());
  if (!config.ok()) {
    if (config.status().message().empty())
      std::abort();
    return;
  }
  for (const char *family : {"gpt2", "llama"}) {
    dsl::FrontendOptions options;
    options.librarySearch = {NPAR_STDLIB};
    options.file = std::string(NPAR_STDLIB) + "/models/" + family + ".npar";
    dsl::Sources sources;
    dsl::Diagnostics diagnostics(sources);
    std::optional<dsl::FamilyCall> call = dsl::callOf(options, family, config->architectures, config->entries, sources, diagnostics);
    if (!call && !diagnostics.hasErrors())
      std::abort();
    if (call && call->wrong.empty() && call->settings.empty())
      std::abort();
  }
}

} // namespace npar::fuzz
