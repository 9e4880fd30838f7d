// A compiled program is refused by header, hash, FlatBuffers structure or our verifier; a right hash leads the damage to the last two.
#include "tests/fuzz/FuzzTargets.h"

#include "engine/program/Describe.h"
#include "engine/program/Loader.h"

#include <cstdlib>

namespace npar::fuzz {

using namespace program;

namespace {

void load(std::vector<uint8_t> bytes) {
  auto program = LoadedProgram::fromBytes(std::move(bytes), "fuzz");
  if (!program.ok() && program.status().message().empty())
    std::abort();
}

} // namespace

void fuzzProgram(const uint8_t *bytes, size_t size) {
  load({bytes, bytes + size});
  if (size > LoadedProgram::headerBytes)
    load(sealProgram(bytes + LoadedProgram::headerBytes, size - LoadedProgram::headerBytes));
}

} // namespace npar::fuzz
