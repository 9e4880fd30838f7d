// Gives the cost model the sizes of a task and of a candidate.
#include "tools/lib/planner/search/CandidateEstimates.h"

#include "engine/program/Elements.h"

#include <algorithm>

namespace npar::planner {
namespace {

double widthOf(program::ElementType type) { return static_cast<double>(program::sizeOf(type)); }

cost::TrainingSizes sizesOf(const PlanTask &task) {
  cost::TrainingSizes sizes;
  sizes.batch = task.batch, sizes.sequence = task.sequence, sizes.blocks = task.blocks;
  sizes.width = task.width, sizes.vocabulary = task.vocabulary;
  sizes.parameters = static_cast<double>(task.parameters), sizes.blockMatrices = static_cast<double>(task.blockMatrices);
  sizes.blockProducts = task.blockProducts;
  sizes.expertParameters = task.experts.parameters, sizes.routedLayers = task.experts.layers;
  sizes.experts = task.experts.count, sizes.choices = task.experts.choices;
  const PlanTypes &types = task.types;
  sizes.compute = types.compute, sizes.tf32 = types.tf32;
  sizes.weightBytes = widthOf(types.compute), sizes.gradientBytes = widthOf(types.gradients.value_or(types.compute));
  sizes.optimizerStates = static_cast<double>(task.train.optimizer().states.size());
  return sizes;
}

cost::TensorLayers layersOf(SplitKind split) {
  switch (split) {
  case SplitKind::Blocks:
    return cost::TensorLayers::WithoutVocabulary;
  case SplitKind::FeedForward:
  case SplitKind::Attention:
    return cost::TensorLayers::Some;
  case SplitKind::Vocabulary:
    return cost::TensorLayers::VocabularyAlone;
  case SplitKind::All:
  case SplitKind::OwnAxis:
    break;
  }
  return cost::TensorLayers::All;
}

cost::PlanSizes sizesOf(const PlanTask &task, const Candidate &c) {
  cost::PlanSizes sizes;
  sizes.dp = c.dp, sizes.pp = c.pp, sizes.ep = c.ep, sizes.cp = c.cp, sizes.tp = c.tp, sizes.chunks = c.chunks;
  sizes.micro = c.micro, sizes.micros = std::max<int64_t>(1, task.batch / (c.batchShares() * c.micro));
  sizes.layers = layersOf(c.split.kind), sizes.stagesApart = c.place != PlaceOrder::Mesh, sizes.sequence = c.sequence;
  sizes.recompute = c.recomputes() ? c.recompute.every : 0, sizes.zero = c.zero, sizes.splitsBackward = c.splitsBackward();
  sizes.rounds = task.experts.rounds(c.ep, c.buffer);
  if (c.schedule) {
    schedules::Request request;
    request.stages = static_cast<int>(c.pp), request.micros = static_cast<int>(sizes.micros);
    request.chunks = static_cast<int>(c.chunks), request.memoryCap = static_cast<double>(c.live);
    schedules::Estimate schedule = c.schedule->estimate(request);
    sizes.held = schedule.held, sizes.waits = schedule.waits;
  }
  return sizes;
}

} // namespace

cost::StepEstimate estimateOf(const PlanTask &task, const Candidate &candidate) {
  return {task.machine, sizesOf(task), sizesOf(task, candidate)};
}

} // namespace npar::planner
