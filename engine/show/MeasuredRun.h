// Compares a run with its plan: joins the run's trace (engine/logging/Trace.h) with the plan by the plan's own ids.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/show/View.h"
#include "engine/status/Status.h"

namespace npar::show {

/// Steps of a kind, per rank and training step (the mean of all ranks).
struct KindTime {
  std::string kind;                            ///< "Kernel", "Matmul", "all_reduce tp", "send"
  double count = 0, planned = 0, measured = 0; ///< seconds; of communication the measured time holds the waiting for peers
  double flops = 0;
  bool computes = false, transfers = false; ///< neither: a collective
};

/// A rank that computes longer than the others of its class, which do the same work.
struct Straggler {
  int64_t rank = 0;
  uint32_t stage = 0;
  double seconds = 0, typical = 0; ///< of computing per training step (their median); typical: the median of the class
};

/// A computing step with its planned and measured seconds, per training step and rank of the class.
struct StepTime {
  uint32_t stage = 0;
  std::string name, place;
  uint64_t count = 0;
  double planned = 0, measured = 0;
};

struct MeasuredRun {
  View measured;               ///< the plan's view at measured times: means over ranks of a class and training steps
  int64_t trainingSteps = 0;   ///< that count; the first one warms up and does not, unless it is the only one
  uint64_t dropped = 0;        ///< events that the run left out
  double computing = 0;        ///< share of ranks * step time in which they compute
  double exposed = 0;          ///< seconds of a training step in which a rank communicates, or waits to, and computes nothing: the mean
  std::vector<KindTime> kinds; ///< descending measured seconds
  std::vector<Straggler> stragglers; ///< ranks above 1.1 times their class's median
  std::vector<StepTime> steps;       ///< the ten that lose most time against the plan
  std::vector<std::string> advice;   ///< what to change, most important first; never empty
};

/// `text` is the file's content, `name` its name in messages. Errors: no JSON, no trace of npar train, a trace of another program, no
/// complete training step.
engine::Result<MeasuredRun> measuredRunOf(const program::Program &program, const View &planned, const std::string &text,
                                          const std::string &name);

std::string measuredRunText(const View &planned, const MeasuredRun &actual);

/// `{training_steps, step_seconds, bubble, planned_bubble, computing, dropped_events, kinds, stragglers, steps, advice}`.
OrderedJson measuredRunJson(const View &planned, const MeasuredRun &actual);

} // namespace npar::show
