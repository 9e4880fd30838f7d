// Compiles plans and predicts their training steps, several at once: what `npar sweep` and `npar plan` are made of.
#pragma once

#include "dsl/machine/Machine.h"
#include "engine/status/Status.h"
#include "tools/lib/models/ModelOptions.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace npar::planner {

using models::ModelOptions;

/// A pipeline stage on an uneven machine.
struct StageDeal {
  size_t blocks = 0;
  std::vector<std::string> kinds; ///< kinds of hosts that its ranks are on
};

/// The figures of a predicted training step; those that the machine does not state are missing.
struct StepFigures {
  int64_t ranks = 0, hosts = 0;
  double seconds = 0;
  std::optional<double> worst; ///< seconds at the worst load of experts
  std::optional<double> mfu, hfu, dollars;
  uint64_t memory = 0;        ///< bytes of the largest rank
  uint64_t fullest = 0;       ///< bytes of the rank that fills the most of its device
  std::optional<double> room; ///< bytes that this rank may have: the memory of the device less the loss between allocations
  std::optional<bool> fits;
  double bubble = 0, exposed = 0; ///< shares of all ranks' time
  int64_t batch = 0;              ///< samples of the step
  double reducing = 0;            ///< seconds in which the rank that sums with others longest does so (cost::ClassTime)
  double reducingExposed = 0;     ///< of them, those in which it does not compute
  double flops = 0;               ///< of the model, all ranks together
  std::optional<double> sent;     ///< bytes that the rank that sends most sends, if they were asked for
  std::vector<StageDeal> stages;  ///< on an uneven machine
  std::vector<std::string> lanes; ///< the timeline (compactTimeline), if it was asked for
};

/// One plan and what became of it: figures, or the first line of the message that refuses it.
struct Attempt {
  std::optional<StepFigures> figures;
  std::string reason;
  bool isUsage = false; ///< refused for a setting that nothing knows, which all plans share
};

/// Limits of work on several plans: threads, and what ends it early.
struct ParallelWork {
  int jobs = 0; ///< threads; 0: as many as the machine has cores
  /// Asked by the calling thread while plans are compiled, `tried` of `all` being done: an error ends the work with it. May be empty.
  std::function<engine::Status(size_t tried, size_t all)> check;
};

struct AttemptOptions {
  dsl::Machine machine;
  int64_t hosts = 0;              ///< hosts that the ranks must fill; 0: as many as they take
  bool lanes = false;             ///< also keep the timeline of each plan
  size_t verified = ~size_t(0);   ///< number of plans, the first ones, that are verified; the others are drafts
  std::vector<size_t> order = {}; ///< numbers of the plans as they are started; empty: their own order
  bool sent = false;              ///< also count the bytes that ranks send
};

/// Tries all plans, each in a thread of a pool, and calls `done` in their order as soon as a plan and all before it are tried. After `done`
/// returned false, or `work.check` an error, no other plan is started, and plans that are being compiled end before their next pass.
/// RunFailed: the system refused to start a thread.
engine::Status tryPlans(const std::vector<ModelOptions> &plans, const AttemptOptions &options, const ParallelWork &work,
                        const std::function<bool(size_t, const Attempt &)> &done);

} // namespace npar::planner
