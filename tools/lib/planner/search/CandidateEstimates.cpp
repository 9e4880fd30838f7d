// Computes bounds and guesses from sizes alone.
#include "tools/lib/planner/search/CandidateEstimates.h"

#include "compiler/schedules/Schedule.h"
#include "dsl/machine/Hosts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace npar::planner {
namespace {

program::ElementType elementOf(const std::string &compute) {
  return compute == "bf16"   ? program::ElementType::BF16
         : compute == "fp16" ? program::ElementType::F16
         : compute == "f64"  ? program::ElementType::F64
                             : program::ElementType::F32;
}

double widthOf(const std::string &compute) { return compute == "f64" ? 8 : compute == "bf16" || compute == "fp16" ? 2 : 4; }

int64_t microsOf(const PlanTask &task, const Candidate &c) { return std::max<int64_t>(1, task.batch / (c.batchShares() * c.micro)); }

/// The least number of parameters that a rank has without ZeRO.
double elementsOfRank(const PlanTask &task, const Candidate &c) {
  double whole = c.split.kind == SplitKind::Vocabulary ? static_cast<double>(task.blockMatrices) : 0;
  return (whole + (static_cast<double>(task.parameters) - whole) / static_cast<double>(c.tp)) / static_cast<double>(c.pp);
}

/// The least bubble of a stage, in forward and backward passes of a micro-batch.
double leastWaits(const Candidate &c) { return c.splitsBackward() ? 0 : static_cast<double>(c.pp - 1) / static_cast<double>(c.chunks); }

schedules::Estimate scheduleGuess(const Candidate &c, double micros) {
  schedules::Request request;
  request.stages = static_cast<int>(c.pp), request.micros = static_cast<int>(micros), request.chunks = static_cast<int>(c.chunks);
  request.memoryCap = static_cast<double>(c.live);
  return c.schedule ? c.schedule->estimate(request) : schedules::Estimate{};
}

/// Tells whether one of the stage's ranks has a place from `begin` to `end` in the order in which ranks fill hosts.
bool isPlacedIn(const Candidate &c, int64_t stage, int64_t begin, int64_t end) {
  int64_t inside = c.cp * c.tp, replica = c.pp * inside;
  if (c.place != PlaceOrder::Mesh) // a stage's replicas are next to each other
    return stage * c.dp * inside < end && (stage + 1) * c.dp * inside > begin;
  int64_t first = stage * inside, past = begin - first - inside; // replica d has the places from d * replica + first on
  int64_t next = past < 0 ? 0 : past / replica + 1;              // the first one that ends after `begin`
  return next < c.dp && next * replica + first < end;
}

/// Takes, for each stage on an uneven machine, the least value of a figure over its hosts.
template <typename Figure> std::vector<double> leastOfStages(const PlanTask &task, const Candidate &c, Figure figure) {
  std::vector<double> least;
  for (int64_t stage = 0; stage < c.pp; ++stage) {
    int64_t begin = 0;
    least.push_back(std::numeric_limits<double>::infinity());
    for (const dsl::HostKind &kind : task.machine.kinds) {
      int64_t end = begin + kind.hosts * static_cast<int64_t>(kind.machine.ranks);
      if (isPlacedIn(c, stage, begin, end))
        least.back() = std::min(least.back(), figure(kind.machine));
      begin = end;
    }
  }
  return least;
}

/// FLOP/s of a rank of each stage on an uneven machine.
std::vector<double> pacesOf(const PlanTask &task, const Candidate &c) {
  return leastOfStages(
      task, c, [&](const dsl::Machine &machine) { return cost::productPeak(machine, elementOf(task.compute), task.compute == "tf32"); });
}

/// FLOP/s of all ranks together.
double rateOf(const PlanTask &task, const Candidate &c) {
  if (!dsl::isUneven(task.machine))
    return static_cast<double>(c.ranks()) * cost::productPeak(task.machine, elementOf(task.compute), task.compute == "tf32");
  std::vector<double> paces = pacesOf(task, c);
  return std::accumulate(paces.begin(), paces.end(), 0.0) * static_cast<double>(c.ranks() / c.pp);
}

/// The longest stage where each has a block for each chunk, and the others go one by one where they end first; in times of a perfect deal.
double longestDeal(const PlanTask &task, const Candidate &c, double wordsInBlocks) {
  std::vector<double> paces = pacesOf(task, c), loads(paces.size(), static_cast<double>(c.chunks));
  loads.back() += wordsInBlocks;
  for (int64_t block = c.pp * c.chunks; block < task.blocks; ++block) {
    size_t first = 0;
    for (size_t stage = 1; stage < loads.size(); ++stage)
      if ((loads[stage] + 1) / paces[stage] < (loads[first] + 1) / paces[first])
        first = stage;
    ++loads[first];
  }
  double longest = 0;
  for (size_t stage = 0; stage < loads.size(); ++stage)
    longest = std::max(longest, loads[stage] / paces[stage]);
  return longest * std::accumulate(paces.begin(), paces.end(), 0.0) / static_cast<double>(task.blocks);
}

/// Units that stages of equal times wait for at least; unequal ones may wait less.
double certainWaits(const PlanTask &task, const Candidate &c) { return dsl::isUneven(task.machine) ? 0 : leastWaits(c); }

/// The time of the longest stage over the time of a stage with an equal share of blocks and vocabulary: stages hold whole blocks, and the
/// last one holds the product with the vocabulary.
double unevenStages(const PlanTask &task, const Candidate &c) {
  double blocks = static_cast<double>(task.blocks), stages = static_cast<double>(c.pp);
  double words = 3 * static_cast<double>(task.vocabulary * task.width * task.sequence) *
                 (c.split.kind == SplitKind::Blocks ? static_cast<double>(c.tp) : 1);
  double all = task.blockProducts, block = all / std::max(1.0, blocks);
  if (all <= 0)
    return 1;
  if (c.pp == 1)
    return (all + words) / all;
  if (dsl::isUneven(task.machine))
    return longestDeal(task, c, words / block);
  double longest = INFINITY;
  for (double last = 0; last <= blocks / stages; ++last)
    longest = std::min(longest, std::max(last * block + words, std::ceil((blocks - last) / (stages - 1)) * block));
  return longest * stages / all;
}

/// The optimizer reads gradients and reads and writes its state and the parameters, of the share that a rank updates.
double updateSeconds(const PlanTask &task, const Candidate &c) {
  double far = dsl::machineOfKind(task.machine, 0).far, slots = static_cast<double>(task.train.optimizer().states.size());
  double share = elementsOfRank(task, c) / (c.zero > 0 ? static_cast<double>(c.dp) : 1);
  return far > 0 ? share * (8 * (slots + 1) + 2 * widthOf(task.compute)) / far : 0;
}

} // namespace

double leastSeconds(const PlanTask &task, const Candidate &c) {
  double rate = rateOf(task, c);
  if (rate <= 0)
    return 0;
  double micros = static_cast<double>(microsOf(task, c));
  // Recomputation need not repeat a whole block: the result of its last product is not needed.
  double flops = (c.recomputes() ? 7.0 / 3 : 2.0) * task.blockProducts * static_cast<double>(task.batch);
  return flops / rate * (1 + certainWaits(task, c) / micros);
}

double guessedSeconds(const PlanTask &task, const Candidate &c) {
  using program::CollectiveKind;
  double micros = static_cast<double>(microsOf(task, c)), bytes = widthOf(task.compute), waits = scheduleGuess(c, micros).waits;
  double seconds = leastSeconds(task, c) / (1 + certainWaits(task, c) / micros) * (1 + waits / micros) * (c.recomputes() ? 8.0 / 7 : 1) *
                   unevenStages(task, c);
  double layers = static_cast<double>(task.blocks) / static_cast<double>(c.pp), slots = micros + waits;
  double onHost = task.machine.ranks, tp = static_cast<double>(c.tp),
         tokens = static_cast<double>(c.micro * task.sequence) / static_cast<double>(c.cp);
  auto group = [&](int64_t members, int64_t apart) { // `apart`: distance of its ranks in the order of hosts
    double inside = std::max(1.0, std::min(static_cast<double>(members), onHost / static_cast<double>(apart)));
    bool near = static_cast<double>(members * apart) <= onHost;
    return cost::GroupSpan{static_cast<int>(members), near ? dsl::LinkLevel::Host : dsl::LinkLevel::Cluster, inside};
  };
  if (task.width > 0) { // smaller pieces of products are slower
    const dsl::ProductFigures &figures = dsl::machineOfKind(task.machine, 0)
                                             .products[task.compute == "bf16"   ? 1
                                                       : task.compute == "fp16" ? 2
                                                                                : 0];
    double piece = static_cast<double>(task.width) / (c.split.kind == SplitKind::Vocabulary ? 1 : tp);
    seconds *= 1 + (figures.columns + figures.depth) / piece / 2 + figures.rows / tokens;
  }
  double vector = bytes * tokens * static_cast<double>(task.width);
  if (c.tp > 1 && task.width > 0) { // of a layer that has the batch's shares the rest is gathered
    double reduces = c.split.kind == SplitKind::Vocabulary ? 0 : c.splitsLayersAlone() ? 0.75 : 1;
    cost::GroupSpan span = group(c.tp, 1);
    double once = cost::collectiveSeconds(task.machine, CollectiveKind::AllReduce, vector, span);
    // Links may carry collectives during products: each one has a sixth of the products of a block's forward and backward to overlap with.
    double product = task.blockProducts / 3 / static_cast<double>(std::max<int64_t>(1, task.blocks) * task.sequence) * tokens / tp /
                     std::max(1.0, rateOf(task, c) / static_cast<double>(c.ranks()));
    double beside = cost::linkOf(task.machine, span.level).beside * std::min(product, once * (tp - 1) / tp);
    seconds += slots * layers * (c.recomputes() ? 6 : 4) * reduces * (once - beside);
    if (c.split.kind == SplitKind::Vocabulary)
      seconds += 3 * micros * cost::collectiveSeconds(task.machine, CollectiveKind::AllGather, vector * tp, group(c.tp, 1));
  }
  if (c.cp > 1 && task.width > 0) { // keys and values of all: there, and there and back in the backward pass
    double all = 2 * vector * static_cast<double>(c.cp) / tp;
    seconds += slots * layers * (c.recomputes() ? 4 : 3) *
               cost::collectiveSeconds(task.machine, CollectiveKind::AllGather, all, group(c.cp, c.tp));
  }
  if (c.batchShares() * c.cp > 1) {
    double share = bytes * elementsOfRank(task, c);
    cost::GroupSpan span = group(c.batchShares() * c.cp, c.split.kind == SplitKind::Vocabulary     ? 1
                                                         : c.cp > 1 || c.place != PlaceOrder::Mesh ? c.tp
                                                                                                   : c.tp * c.pp);
    double once = cost::collectiveSeconds(task.machine, CollectiveKind::AllGather, share, span);
    seconds += 0.5 * (c.zero == 3 ? 3 * micros : 2) * once;
  }
  return seconds + updateSeconds(task, c);
}

double roomFor(const PlanTask &task, const Candidate &c) {
  auto room = [](const dsl::Machine &machine) { return machine.room * (1 - machine.fragments) - machine.reserved; };
  if (!dsl::isUneven(task.machine))
    return room(task.machine);
  double sum = 0;
  for (double own : leastOfStages(task, c, room))
    sum += own;
  return sum / static_cast<double>(c.pp);
}

double leastBytes(const PlanTask &task, const Candidate &c) {
  double stored = elementsOfRank(task, c), dp = static_cast<double>(c.dp);
  double weight = widthOf(task.compute), gradient = widthOf(task.gradients.empty() ? task.compute : task.gradients);
  double slots = 4 * static_cast<double>(task.train.optimizer().states.size());
  double optimizer = slots + (weight < 4 ? 4 : 0); // 16-bit parameters have float32 masters
  return stored * ((c.zero == 3 ? 1 / dp : 1) * weight + (c.zero >= 2 ? 1 / dp : 1) * gradient + (c.zero >= 1 ? 1 / dp : 1) * optimizer);
}

double guessedActivations(const PlanTask &task, const Candidate &c) {
  double tp = static_cast<double>(c.tp), micros = static_cast<double>(microsOf(task, c)), stages = static_cast<double>(c.pp);
  double whole = c.split.kind == SplitKind::Vocabulary ? 17 : c.sequence ? 17 / tp : 5 + 12 / tp, one = c.sequence ? 1 / tp : 1;
  double vectors = c.recompute.kind == dsl::RecomputeKind::Block   ? one
                   : c.recompute.kind == dsl::RecomputeKind::Every ? one / static_cast<double>(c.recompute.every)
                                                                   : whole;
  double block = widthOf(task.compute) * vectors * static_cast<double>(c.micro * task.sequence * task.width) / static_cast<double>(c.cp);
  return std::min(micros, scheduleGuess(c, micros).held) * block * static_cast<double>(task.blocks) / stages;
}

} // namespace npar::planner
