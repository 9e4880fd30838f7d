// A machine's text is refused with a message at a place, or has figures that are finite, and is printed as a text that reads again.
#include "tests/fuzz/FuzzTargets.h"
#include "tests/fuzz/MemoryFile.h"

#include "dsl/machine/ReadMachine.h"

#include <cmath>
#include <sstream>

namespace npar::fuzz {

namespace {

bool loads(const std::string &text) {
  MemoryFile file(reinterpret_cast<const uint8_t *>(text.data()), text.size());
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  return dsl::loadMachine(file.path(), {NPAR_STDLIB}, sources, diagnostics).has_value();
}

} // namespace

void fuzzMachine(const uint8_t *bytes, size_t size) {
  MemoryFile file(bytes, size);
  dsl::Sources sources;
  dsl::Diagnostics diagnostics(sources);
  std::optional<dsl::Machine> machine = dsl::loadMachine(file.path(), {NPAR_STDLIB}, sources, diagnostics);
  std::ostringstream messages;
  diagnostics.print(messages);
  if (!machine)
    return check(messages.str().find("error: ") != std::string::npos);
  check(diagnostics.errorCount() == 0);
  for (const dsl::Figure &figure : dsl::figuresOf(*machine))
    check(std::isfinite(*figure.value) && *figure.value >= 0);
  check(loads(dsl::printMachine(*machine)));
}

} // namespace npar::fuzz
