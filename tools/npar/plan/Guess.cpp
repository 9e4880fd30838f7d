// Computes bounds and guesses from sizes alone.
#include "tools/npar/plan/Guess.h"

#include <algorithm>

namespace npar::driver {
namespace {

program::ElementType elementOf(const std::string &compute) {
  return compute == "bf16"   ? program::ElementType::BF16
         : compute == "fp16" ? program::ElementType::F16
         : compute == "f64"  ? program::ElementType::F64
                             : program::ElementType::F32;
}

double widthOf(const std::string &compute) { return compute == "f64" ? 8 : compute == "f32" ? 4 : 2; }

int64_t microsOf(const PlanTask &task, const Candidate &c) { return std::max<int64_t>(1, task.batch / (c.dp * c.micro)); }

/// Units of a forward and backward of a micro-batch that a stage waits for at least.
double leastWaits(const Candidate &c) { return splitsBackward(c) ? 0 : static_cast<double>(c.pp - 1) / static_cast<double>(c.chunks); }

/// How many micro-batches of all its chunks a stage holds, and the units that it waits for: compiler/schedules/README.md.
struct ScheduleGuess {
  double held = 1, waits = 0;
};

ScheduleGuess scheduleGuess(const Candidate &c) {
  double p = static_cast<double>(c.pp), more = p - 1;
  if (c.schedule == "zb_h1")
    return {p, more / 3};
  if (c.schedule == "zb_h2")
    return {2 * p - 1, 0};
  if (c.schedule == "zb_v")
    return {p, 0};
  if (c.schedule == "v_half")
    return {(p + 2) / 2, more / 2};
  if (c.schedule == "v_min")
    return {(p + 4) / 3, 2 * more / 3};
  if (c.schedule == "dualpipe_v")
    return {p + 0.5, more / 3};
  if (c.live > 0) { // as if it had what the named schedules have that hold so much
    double live = static_cast<double>(c.live), missing = std::max(0.0, 1 - live / p);
    return {live, c.schedule == "zb_auto" ? more * missing : more * (1 + missing)};
  }
  if (c.schedule == "zb_auto")
    return {2 * p - 1, 0};
  if (c.schedule == "backward_first")
    return {3 * p - 2, more};
  return {p + (c.chunks > 1 ? more / static_cast<double>(c.chunks) : 0), leastWaits(c)};
}

} // namespace

double leastSeconds(const PlanTask &task, const Candidate &c) {
  double rate = cost::productPeak(task.machine, elementOf(task.compute));
  if (rate <= 0)
    return 0;
  double ranks = static_cast<double>(c.ranks()), micros = static_cast<double>(microsOf(task, c));
  // What is computed again need not be all: of a block's last product nothing is needed.
  double flops = (c.recomputes() ? 7.0 : 6.0) * static_cast<double>(task.blockMatrices) * static_cast<double>(task.batch * task.sequence);
  return flops / (ranks * rate) * (1 + leastWaits(c) / micros);
}

double guessedSeconds(const PlanTask &task, const Candidate &c) {
  using program::CollectiveKind;
  double micros = static_cast<double>(microsOf(task, c)), bytes = widthOf(task.compute), waits = scheduleGuess(c).waits;
  double seconds = leastSeconds(task, c) / (1 + leastWaits(c) / micros) * (1 + waits / micros) * (c.recomputes() ? 8.0 / 7 : 1);
  double layers = static_cast<double>(task.blocks) / static_cast<double>(c.pp), slots = micros + waits;
  double onHost = task.machine.ranks, tokens = static_cast<double>(c.micro * task.sequence) / static_cast<double>(c.cp);
  auto group = [&](int64_t members, int64_t apart) { // of ranks that stand so far apart in the order of hosts
    double inside = std::max(1.0, std::min(static_cast<double>(members), onHost / static_cast<double>(apart)));
    bool near = static_cast<double>(members * apart) <= onHost;
    return cost::GroupSpan{static_cast<int>(members), near ? dsl::LinkLevel::Host : dsl::LinkLevel::Cluster, inside};
  };
  if (task.width > 0) { // smaller pieces of products are slower
    const dsl::ProductFigures &figures = task.machine.products[task.compute == "bf16" ? 1 : task.compute == "fp16" ? 2 : 0];
    double piece = static_cast<double>(task.width) / static_cast<double>(c.tp);
    seconds *= 1 + (figures.columns + figures.depth) / piece / 2 + figures.rows / tokens;
  }
  double vector = bytes * tokens * static_cast<double>(task.width);
  if (c.tp > 1 && task.width > 0)
    seconds += slots * layers * (c.recomputes() ? 6 : 4) *
               cost::collectiveSeconds(task.machine, CollectiveKind::AllReduce, vector, group(c.tp, 1));
  if (c.cp > 1 && task.width > 0) { // keys and values of all: there, and there and back in the backward pass
    double all = 2 * vector * static_cast<double>(c.cp) / static_cast<double>(c.tp);
    seconds += slots * layers * (c.recomputes() ? 4 : 3) *
               cost::collectiveSeconds(task.machine, CollectiveKind::AllGather, all, group(c.cp, c.tp));
  }
  if (c.dp * c.cp > 1) {
    double share = bytes * static_cast<double>(task.parameters) / static_cast<double>(c.tp * c.pp);
    cost::GroupSpan span = group(c.dp * c.cp, c.cp > 1 ? c.tp : c.place == "dp,pp" ? c.tp * c.pp : c.tp);
    double once = cost::collectiveSeconds(task.machine, CollectiveKind::AllGather, share, span);
    seconds += 0.5 * (c.zero == 3 ? 3 * micros : 2) * once;
  }
  return seconds;
}

double leastBytes(const PlanTask &task, const Candidate &c) {
  double stored = static_cast<double>(task.parameters) / static_cast<double>(c.tp * c.pp), dp = static_cast<double>(c.dp);
  double weight = widthOf(task.compute), slots = 4 * (task.train.optimizer == dsl::OptimizerKind::AdamW ? 2
                                                      : task.train.momentum > 0                         ? 1
                                                                                                        : 0);
  double optimizer = slots + (weight < 4 ? 4 : 0); // 16-bit parameters have float32 masters
  return stored * ((c.zero == 3 ? 1 / dp : 1) * weight + (c.zero >= 2 ? 1 / dp : 1) * weight + (c.zero >= 1 ? 1 / dp : 1) * optimizer);
}

double guessedActivations(const PlanTask &task, const Candidate &c) {
  double tp = static_cast<double>(c.tp), micros = static_cast<double>(microsOf(task, c)), stages = static_cast<double>(c.pp);
  double whole = c.sequence ? 17 / tp : 5 + 12 / tp, one = c.sequence ? 1 / tp : 1;
  double vectors = c.recompute == "block" ? one : c.recompute == "every 2" ? one / 2 : whole;
  double block = widthOf(task.compute) * vectors * static_cast<double>(c.micro * task.sequence * task.width) / static_cast<double>(c.cp);
  return std::min(micros, scheduleGuess(c).held) * block * static_cast<double>(task.blocks) / stages;
}

} // namespace npar::driver
