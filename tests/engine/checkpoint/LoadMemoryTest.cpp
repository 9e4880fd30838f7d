// Measures the memory that loading needs in addition to the arenas: no tensor is completely in memory, however large it is.
#include "engine/checkpoint/Weights.h"
#include "engine/safetensors/Safetensors.h"
#include "tests/engine/runtime/ProgramBuilder.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
using namespace program;

/// A line of /proc/self/status, in bytes: "VmRSS", "VmHWM" (the highest VmRSS since the last reset).
uint64_t memory(const std::string &line) {
  std::ifstream status("/proc/self/status");
  std::string word;
  uint64_t kilobytes = 0;
  while (status >> word)
    if (word == line + ":")
      status >> kilobytes;
  return kilobytes * 1024;
}

bool resetPeak() {
  std::ofstream references("/proc/self/clear_refs");
  references << "5" << std::flush;
  return references.good();
}

constexpr int64_t rows = 2048, columns = 8192;

// Two tensors of 64 MiB, cut into columns and dealt out flat over 8 ranks, from a file that is nearly all hole.
TEST(LoadMemoryTest, loadingNeedsLittleMoreThanTheArenas) {
  ProgramBuilder b({{"tp", 8}});
  uint32_t cut = b.variable("cut", VariableKind::Parameter, ElementType::F32, {rows, columns});
  uint32_t flat = b.variable("flat", VariableKind::Parameter, ElementType::F32, {rows, columns});
  ClassBuilder &c = b.rankClass("all", {});
  constexpr uint64_t share = uint64_t{4} * rows * columns / 8;
  c.piece(cut, c.fixed(share), {rows, columns}, {rows, columns / 8}, {{}, {0}});
  c.piece(flat, c.fixed(share), {rows, columns}, {rows, columns}, {{}, {}});
  b.program.classes[0]->pieces[1]->flat_axes = {0};
  std::shared_ptr<const LoadedProgram> program = b.load();
  ASSERT_TRUE(program);

  std::string path = "/tmp/npar-load-memory-" + std::to_string(::getpid());
  std::vector<std::pair<std::string, StoredTensor>> tensors = {{"cut", {"F32", {rows, columns}, 0, 0}},
                                                               {"flat", {"F32", {rows, columns}, 0, 0}}};
  std::string header = safetensorsHeader(tensors);
  std::ofstream(path, std::ios::binary) << header;
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(header.size() + 16 * share)), 0);

  if (!resetPeak())
    GTEST_SKIP() << "this system does not reset the peak of memory";
  uint64_t before = memory("VmRSS");
  SessionOptions options;
  options.threads = 2;
  auto session = Session::create(program, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  Result<UnstoredParameters> loaded = loadWeights(**session, program->root(), path);
  ::unlink(path.c_str());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  uint64_t arenas = 0;
  for (const ArenaUse &use : (*session)->arenaUse())
    arenas += use.planned;
  EXPECT_EQ(arenas, 16 * share);
  EXPECT_GE(memory("VmRSS"), before + arenas) << "the arenas are in memory";
  EXPECT_LE(memory("VmHWM"), before + arenas + arenas / 10);
}

} // namespace
} // namespace npar::testing
