// A pipeline of two stages under data parallelism, written by hand: the smallest program with every kind of communication in its place.
//   stage 0: x = w0 * sum(tokens) * (dp + 1), sent to stage 1; receives dx, acc0 += dx; acc0 reduced over dp; w0 -= 0.001 acc0
//   stage 1: loss += x . w1 / 1024; acc1 += x; sends dx = w1; acc1 and loss reduced over dp; w1 -= 0.001 acc1
#pragma once

#include "tests/engine/runtime/ProgramBuilder.h"

namespace npar::testing {

struct PipelineShape {
  uint32_t dataParallel = 2;
  int64_t micros = 4;
  int64_t width = 4;
  bool prologue = true; ///< else the engine zeroes the accumulators
  bool kernels = true;  ///< else no kernel object
};

/// Events: 0 = x, 1 = dx, 10 = acc0, 11 = acc1, 12 = loss.
std::unique_ptr<ProgramBuilder> pipelineProgram(const PipelineShape &shape);
/// Tokens of a batch of it.
std::vector<int32_t> someTokens(const PipelineShape &shape);

} // namespace npar::testing
