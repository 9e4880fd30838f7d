// Computes bounds and estimates.
#include "compiler/cost/StepEstimate.h"

#include "dsl/machine/Hosts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace npar::cost {

using program::CollectiveKind;

/// The least number of parameters that a rank has without ZeRO.
double StepEstimate::elementsOfRank() const {
  double whole = plan.layers == TensorLayers::VocabularyAlone ? model.blockMatrices : 0;
  double elsewhere = model.expertParameters * (1 - 1 / static_cast<double>(plan.ep)); // on other ranks that share the experts
  return (whole + (model.parameters - whole - elsewhere) / static_cast<double>(plan.tp)) / static_cast<double>(plan.pp);
}

/// The same where ZeRO stores shares: every parameter is dealt out over dp, experts over those ranks that do not share them.
double StepEstimate::dealt(bool isStored) const {
  StepEstimate whole = *this;
  whole.plan.ep = 1;
  return isStored ? whole.elementsOfRank() / static_cast<double>(plan.dp) : elementsOfRank();
}

/// The least bubble of a stage, in forward and backward passes of a micro-batch. Stages of unequal times may wait less.
double StepEstimate::leastWaits() const {
  return plan.splitsBackward || dsl::isUneven(machine) ? 0 : static_cast<double>(plan.pp - 1) / static_cast<double>(plan.chunks);
}

/// Tells whether one of the stage's ranks has a place from `begin` to `end` in the order in which ranks fill hosts.
bool StepEstimate::isPlacedIn(int64_t stage, int64_t begin, int64_t end) const {
  int64_t inside = plan.cp * plan.tp, replica = plan.pp * inside;
  if (plan.stagesApart) // a stage's replicas are next to each other
    return stage * plan.dp * inside < end && (stage + 1) * plan.dp * inside > begin;
  int64_t first = stage * inside, past = begin - first - inside; // replica d has the places from d * replica + first on
  int64_t next = past < 0 ? 0 : past / replica + 1;              // the first one that ends after `begin`
  return next < plan.dp && next * replica + first < end;
}

/// Takes, for each stage on an uneven machine, the least value of a figure over its hosts.
template <typename Figure> std::vector<double> StepEstimate::leastOfStages(Figure figure) const {
  std::vector<double> least;
  for (int64_t stage = 0; stage < plan.pp; ++stage) {
    int64_t begin = 0;
    least.push_back(std::numeric_limits<double>::infinity());
    for (const dsl::HostKind &kind : machine.kinds) {
      int64_t end = begin + kind.hosts * static_cast<int64_t>(kind.machine.ranks);
      if (isPlacedIn(stage, begin, end))
        least.back() = std::min(least.back(), figure(kind.machine));
      begin = end;
    }
  }
  return least;
}

/// FLOP/s of a rank of each stage on an uneven machine.
std::vector<double> StepEstimate::paces() const {
  return leastOfStages([&](const Machine &own) { return productPeak(own, model.compute, model.tf32); });
}

/// FLOP/s of all ranks together.
double StepEstimate::rate() const {
  if (!dsl::isUneven(machine))
    return static_cast<double>(plan.ranks()) * productPeak(machine, model.compute, model.tf32);
  std::vector<double> each = paces();
  return std::accumulate(each.begin(), each.end(), 0.0) * static_cast<double>(plan.ranks() / plan.pp);
}

/// The longest stage where each has a block for each chunk, and the others go one by one where they end first; in times of a perfect deal.
double StepEstimate::longestDeal(double vocabularyInBlocks) const {
  std::vector<double> each = paces(), loads(each.size(), static_cast<double>(plan.chunks));
  loads.back() += vocabularyInBlocks;
  for (int64_t block = plan.pp * plan.chunks; block < model.blocks; ++block) {
    size_t first = 0;
    for (size_t stage = 1; stage < loads.size(); ++stage)
      if ((loads[stage] + 1) / each[stage] < (loads[first] + 1) / each[first])
        first = stage;
    ++loads[first];
  }
  double longest = 0;
  for (size_t stage = 0; stage < loads.size(); ++stage)
    longest = std::max(longest, loads[stage] / each[stage]);
  return longest * std::accumulate(each.begin(), each.end(), 0.0) / static_cast<double>(model.blocks);
}

/// The time of the longest stage over the time of a stage with an equal share of blocks and vocabulary: stages hold whole blocks, and the
/// last one holds the product with the vocabulary.
double StepEstimate::unevenStages() const {
  double blocks = static_cast<double>(model.blocks), stages = static_cast<double>(plan.pp);
  double words = 3 * static_cast<double>(model.vocabulary * model.width * model.sequence) *
                 (plan.layers == TensorLayers::WithoutVocabulary ? static_cast<double>(plan.tp) : 1);
  double all = model.blockProducts, block = all / std::max(1.0, blocks);
  if (all <= 0)
    return 1;
  if (plan.pp == 1)
    return (all + words) / all;
  if (dsl::isUneven(machine))
    return longestDeal(words / block);
  double longest = INFINITY;
  for (double last = 0; last <= blocks / stages; ++last)
    longest = std::min(longest, std::max(last * block + words, std::ceil((blocks - last) / (stages - 1)) * block));
  return longest * stages / all;
}

/// A group of ranks that are `apart` places from each other in the order in which ranks fill hosts.
GroupSpan StepEstimate::group(int64_t members, int64_t apart) const {
  double inside = std::max(1.0, std::min(static_cast<double>(members), machine.ranks / static_cast<double>(apart)));
  bool near = static_cast<double>(members * apart) <= machine.ranks;
  return {static_cast<int>(members), near ? LinkLevel::Host : LinkLevel::Cluster, inside};
}

double StepEstimate::tokens() const { return static_cast<double>(plan.micro * model.sequence) / static_cast<double>(plan.cp); }

/// Bytes of a micro-batch of activations between two blocks.
double StepEstimate::vectorBytes() const { return model.weightBytes * tokens() * static_cast<double>(model.width); }

/// The factor by which narrow products are slower; a piece of a matrix has twice the piece of the width on average.
double StepEstimate::narrowProducts() const {
  if (model.width == 0)
    return 1;
  double tp = plan.layers == TensorLayers::VocabularyAlone ? 1 : static_cast<double>(plan.tp);
  double side = 2 * static_cast<double>(model.width) / tp;
  return productEdges(dsl::machineOfKind(machine, 0), model.compute, model.tf32, tokens(), side, side);
}

/// Messages of tensor parallelism. Layers that have shares of the batch need no all-reduce, but the rest gathers their results.
double StepEstimate::tensorSeconds() const {
  if (plan.tp == 1 || model.width == 0)
    return 0;
  double tp = static_cast<double>(plan.tp), layers = static_cast<double>(model.blocks) / static_cast<double>(plan.pp);
  GroupSpan span = group(plan.tp, 1);
  if (plan.layers == TensorLayers::VocabularyAlone)
    return 3 * static_cast<double>(plan.micros) * collectiveSeconds(machine, CollectiveKind::AllGather, vectorBytes() * tp, span);
  double once = collectiveSeconds(machine, CollectiveKind::AllReduce, vectorBytes(), span);
  // Links may carry collectives during products: each one has a sixth of the products of a block's forward and backward to overlap with.
  double product = model.blockProducts / 3 / static_cast<double>(std::max<int64_t>(1, model.blocks) * model.sequence) * tokens() / tp /
                   std::max(1.0, rate() / static_cast<double>(plan.ranks()));
  double overlap = linkOf(machine, span.level).beside * std::min(product, once * (tp - 1) / tp);
  double share = plan.layers == TensorLayers::Some ? 0.75 : 1;
  return (static_cast<double>(plan.micros) + plan.waits) * layers * (plan.recompute > 0 ? 6 : 4) * share * (once - overlap);
}

/// Keys and values of all ranks: there, and there and back in the backward pass.
double StepEstimate::contextSeconds() const {
  if (plan.cp == 1 || model.width == 0)
    return 0;
  double all = 2 * vectorBytes() * static_cast<double>(plan.cp) / static_cast<double>(plan.tp);
  double layers = static_cast<double>(model.blocks) / static_cast<double>(plan.pp);
  return (static_cast<double>(plan.micros) + plan.waits) * layers * (plan.recompute > 0 ? 4 : 3) *
         collectiveSeconds(machine, CollectiveKind::AllGather, all, group(plan.cp, plan.tp));
}

/// Rows to their experts and back: with places for all rows of a group's samples, or positions gathered and results added up, whichever
/// moves less (place-spread-rows).
double StepEstimate::expertSeconds() const {
  if (plan.ep == 1 || model.width == 0)
    return 0;
  double ep = static_cast<double>(plan.ep), layers = static_cast<double>(model.routedLayers) / static_cast<double>(plan.pp);
  bool gathers = model.choices > plan.ep;
  double bytes = vectorBytes() * (gathers ? ep : static_cast<double>(model.choices)); // of a balanced load
  CollectiveKind kind = gathers ? CollectiveKind::AllGather : CollectiveKind::AllToAll;
  return (static_cast<double>(plan.micros) + plan.waits) * layers * (plan.recompute > 0 ? 6 : 4) *
         collectiveSeconds(machine, kind, bytes, group(plan.ep, plan.cp * plan.tp));
}

/// The time of the experts' matrices beyond their products. A device reads and writes them and their gradients for each micro-batch and
/// round, however few rows there are. Several rounds repeat the products forward, unless the block is computed again in any case.
double StepEstimate::matrixSeconds() const {
  double far = dsl::machineOfKind(machine, 0).far, flops = rate() / static_cast<double>(plan.ranks());
  if (model.routedLayers == 0 || far <= 0 || flops <= 0 || machine.kind != dsl::MachineKind::Device)
    return 0;
  double own = model.expertParameters / static_cast<double>(plan.ep * plan.tp * plan.pp);                     // of a rank
  double rows = tokens() * static_cast<double>(model.choices * plan.ep) / static_cast<double>(model.experts); // of each expert
  double forward = 2 * rows * own / flops, again = plan.rounds > 1 && plan.recompute == 0 ? forward : 0;
  constexpr double moves = 6; // read by both forward passes and by the backward pass; the gradient is written, read and added up
  double moved = moves * own * model.weightBytes / far;
  return (static_cast<double>(plan.micros) + plan.waits) *
         (std::max(0.0, moved - 3 * forward) + again + static_cast<double>(plan.rounds - 1) * moved);
}

/// Bytes of a layer's rows of experts, and of what is computed from them: of a row the operand and the result, and what is between the
/// products, two thirds of the widths of the three matrices of a gated unit. `choices`: rows of a position.
double StepEstimate::rowBytes(double choices) const {
  if (model.routedLayers == 0 || model.width == 0)
    return 0;
  double width = static_cast<double>(model.width);
  double inner = model.expertParameters / static_cast<double>(model.routedLayers * model.experts) / width / static_cast<double>(plan.tp);
  return model.weightBytes * tokens() * choices * 2 * (width + inner / 3);
}

/// Kernels on rows of experts: they sort and weigh rows, and compute between the products, forward and backward.
double StepEstimate::rowSeconds() const {
  double far = dsl::machineOfKind(machine, 0).far, layers = static_cast<double>(model.routedLayers) / static_cast<double>(plan.pp);
  constexpr double passes = 6; // a read and a write forward, two of each backward
  return far > 0 ? (static_cast<double>(plan.micros) + plan.waits) * layers * passes * rowBytes(static_cast<double>(model.choices)) / far
                 : 0;
}

/// Gradients, and parameters that are stored in shares. Half of it overlaps with products.
double StepEstimate::dataSeconds() const {
  if (plan.batchShares() * plan.cp == 1)
    return 0;
  int64_t apart = plan.layers == TensorLayers::VocabularyAlone ? 1 : plan.cp > 1 || plan.stagesApart ? plan.tp : plan.tp * plan.pp;
  // Elements of a rank. `share` ranks next to each other hold different ones, so one of them takes part.
  auto gather = [&](double elements, int64_t share) {
    int64_t members = plan.batchShares() * plan.cp / share;
    return members > 1 ? collectiveSeconds(machine, CollectiveKind::AllGather, model.weightBytes * elements, group(members, apart * share))
                       : 0;
  };
  double experts = plan.ep > 1 ? model.expertParameters / static_cast<double>(plan.ep * plan.tp * plan.pp) : 0;
  double once = gather(elementsOfRank() - experts, 1) + (experts > 0 ? gather(experts, plan.ep) : 0);
  return 0.5 * (plan.zero == 3 ? 3 * static_cast<double>(plan.micros) : 2) * once;
}

/// The optimizer reads gradients and reads and writes its state and the parameters, of the share that a rank updates.
double StepEstimate::updateSeconds() const {
  double far = dsl::machineOfKind(machine, 0).far;
  double share = dealt(plan.zero > 0);
  return far > 0 ? share * (8 * (model.optimizerStates + 1) + 2 * model.weightBytes) / far : 0;
}

double StepEstimate::leastSeconds() const {
  double flops = rate();
  if (flops <= 0)
    return 0;
  // Recomputation need not repeat a whole block: the result of its last product is not needed.
  double work = (plan.recompute > 0 ? 7.0 / 3 : 2.0) * model.blockProducts * static_cast<double>(model.batch);
  return work / flops * (1 + leastWaits() / static_cast<double>(plan.micros));
}

double StepEstimate::seconds() const {
  double micros = static_cast<double>(plan.micros);
  double products = leastSeconds() / (1 + leastWaits() / micros) * (1 + plan.waits / micros) * (plan.recompute > 0 ? 8.0 / 7 : 1) *
                    unevenStages() * narrowProducts();
  return products + tensorSeconds() + contextSeconds() + expertSeconds() + matrixSeconds() + rowSeconds() + dataSeconds() + updateSeconds();
}

double StepEstimate::room() const {
  auto roomOf = [](const Machine &own) { return own.room * (1 - own.fragments) - own.reserved; };
  if (!dsl::isUneven(machine))
    return roomOf(machine);
  double sum = 0;
  for (double own : leastOfStages(roomOf))
    sum += own;
  return sum / static_cast<double>(plan.pp);
}

double StepEstimate::leastBytes() const {
  double optimizer = 4 * model.optimizerStates + (model.weightBytes < 4 ? 4 : 0); // 16-bit parameters have float32 masters
  return dealt(plan.zero == 3) * model.weightBytes + dealt(plan.zero >= 2) * model.gradientBytes + dealt(plan.zero >= 1) * optimizer;
}

double StepEstimate::activationBytes() const {
  double tp = static_cast<double>(plan.tp), one = plan.sequence ? 1 / tp : 1;
  double whole = plan.layers == TensorLayers::VocabularyAlone ? 17 : plan.sequence ? 17 / tp : 5 + 12 / tp;
  double vectors = plan.recompute > 0 ? one / static_cast<double>(plan.recompute) : whole;
  double stages = static_cast<double>(plan.pp);
  double held = std::min(static_cast<double>(plan.micros), plan.held);
  // Rows are kept unless they are computed again. Then those of a round, or of a block, are there with their gradients at a time.
  int64_t chosen = plan.ep * std::min(model.choices, (model.experts + plan.ep - 1) / plan.ep); // in the worst case
  double rows = rowBytes(static_cast<double>(chosen)), layers = static_cast<double>(model.routedLayers) / stages;
  double ofRows = plan.rounds == 1 && plan.recompute == 0 ? held * layers * rows : 1.5 * rows / static_cast<double>(plan.rounds);
  if (plan.recompute > 1 && plan.rounds == 1)
    ofRows = held * layers * rows * (1 - 1 / static_cast<double>(plan.recompute));
  return held * vectors * vectorBytes() * static_cast<double>(model.blocks) / stages + ofRows;
}

} // namespace npar::cost
