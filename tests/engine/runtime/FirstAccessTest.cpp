// Finds the accumulators that the engine has to zero: those that a step reads or adds to before they are written, and no others.
#include "engine/runtime/FirstAccess.h"
#include "tests/engine/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using namespace program;

TEST(FirstAccessTest, whatIsWrittenWholeBeforeItIsReadNeedsNoZeros) {
  ProgramBuilder b({{"dp", 1}});
  uint32_t w = b.variable("w", VariableKind::Parameter, ElementType::F32, {32});
  ClassBuilder &c = b.rankClass("all", {});
  Span weight = c.fixed(128);
  c.piece(w, weight, {32}, {32}, {{}});
  std::vector<uint32_t> variables;
  std::vector<Span> spans;
  for (const char *name : {"written", "in halves", "read", "half", "added to", "untouched"}) {
    variables.push_back(b.variable(name, VariableKind::Accumulator, ElementType::F32, {32}, static_cast<int32_t>(w)));
    spans.push_back(c.fixed(128));
    c.piece(variables.back(), spans.back(), {32}, {32}, {{}});
  }
  auto half = [](Span span, uint64_t number) { return Span{span.region, span.offset + 64 * number, 64}; };
  b.program.matmuls.push_back(std::make_unique<MatmulT>());
  b.program.matmuls.back()->accumulate = true;
  c.fragment("B0", Phase::Backward);
  c.step(StepKind::Copy, 0, {weight}, {spans[0]}, {}, "all");
  c.step(StepKind::Copy, 0, {half(weight, 1)}, {half(spans[1], 1)}, {}, "second half");
  c.step(StepKind::Copy, 0, {half(weight, 0)}, {half(spans[1], 0)}, {}, "first half");
  c.step(StepKind::Copy, 0, {spans[2]}, {weight}, {}, "read");
  c.step(StepKind::Copy, 0, {weight}, {spans[2]}, {}, "too late");
  c.step(StepKind::Copy, 0, {half(weight, 0)}, {half(spans[3], 0)}, {}, "half");
  c.step(StepKind::Matmul, 0, {weight, weight}, {spans[4]}, {}, "add");
  c.fragment("U0", Phase::Update);
  c.step(StepKind::Copy, 0, {spans[0]}, {weight}, {}, "use");
  c.step(StepKind::Copy, 0, {spans[1]}, {weight}, {}, "use");
  c.task(0, 0);
  c.task(1, 0);
  std::vector<uint8_t> bytes = b.bytes();
  EXPECT_EQ(accumulatorsToZero(*GetProgram(bytes.data() + LoadedProgram::headerBytes)),
            (std::vector<uint32_t>{variables[2], variables[3], variables[4], variables[5]}));
}

} // namespace
} // namespace npar::testing
