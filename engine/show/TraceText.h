// The JSON that `npar train --trace` writes, as a stream of its events.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace npar::show {

constexpr uint64_t largestTrace = uint64_t{2} << 30; ///< bytes

/// One program step of a run.
struct TracedStep {
  uint64_t rank = 0, task = 0, step = 0, trainingStep = 0;
  double begin = 0, end = 0; ///< seconds
  std::string name;
};

struct TraceText {
  bool isTrace = false; ///< JSON, an object with `traceEvents`
  uint64_t dropped = 0; ///< events that the run left out
  std::string problem;  ///< "is no trace of a run: ...", or the error that `take` returned; empty: none
};

/// Calls `take` for each step, which returns an error or an empty text. Makes no tree and skips all other fields, nested at most 64 deep.
TraceText readTraceText(const std::string &text, const std::function<std::string(const TracedStep &)> &take);

} // namespace npar::show
