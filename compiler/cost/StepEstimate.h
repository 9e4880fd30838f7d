// The cheap mode of the cost model: bounds and estimates of a training step from sizes alone, for plans that are not compiled yet.
#pragma once

#include "compiler/cost/CostModel.h"

namespace npar::cost {

/// A model and its training.
struct TrainingSizes {
  int64_t batch = 1, sequence = 1, blocks = 0;
  int64_t width = 0, vocabulary = 0; ///< 0: unknown
  double parameters = 0;             ///< elements
  double blockMatrices = 0;          ///< elements of the matrices in the repeated blocks
  double blockProducts = 0;          ///< multiply-adds per sequence of the products with these matrices, forward and backward
  double expertParameters = 0;       ///< elements of the matrices of experts that rows are sent to
  int64_t routedLayers = 0;          ///< layers with such experts
  int64_t experts = 1, choices = 1;  ///< of a layer, and of a position
  program::ElementType compute = program::ElementType::F32;
  bool tf32 = false;
  double weightBytes = 4, gradientBytes = 4; ///< of an element
  double optimizerStates = 0;                ///< float32 numbers that the optimizer keeps for each element
};

/// The layers that tensor parallelism splits. Some: the other layers of the blocks have shares of the batch; VocabularyAlone: all of them.
enum class TensorLayers { All, WithoutVocabulary, Some, VocabularyAlone };

/// A plan. Its ranks fill the hosts in the order dp, pp, cp, tp. `ep` of the dp ranks share the experts; they are next to each other.
struct PlanSizes {
  int64_t dp = 1, pp = 1, ep = 1, cp = 1, tp = 1, chunks = 1;
  int64_t micro = 1, micros = 1; ///< sequences per rank and micro-batch; micro-batches per step
  TensorLayers layers = TensorLayers::All;
  bool stagesApart = false; ///< the order is pp, dp, cp, tp
  bool sequence = false;    ///< sequence parallelism
  int64_t recompute = 0;    ///< blocks between two kept ones; 0: nothing is computed again
  int zero = 0;             ///< stage of ZeRO
  int64_t rounds = 1;       ///< in which rows of experts come; several keep no rows, and compute them again
  bool splitsBackward = false;
  double held = 1, waits = 0; ///< of the schedule: micro-batches that a stage holds, and its bubble in passes of a micro-batch

  int64_t ranks() const { return dp * pp * cp * tp; }
  int64_t batchShares() const { return dp * (layers == TensorLayers::VocabularyAlone ? tp : 1); }
};

/// Estimates for one plan on a machine, which must outlive them. They use the machine's figures by the functions of CostModel.h, but only
/// these parts of a step:
///
///   products      of the blocks and the vocabulary, at the machine's rate; narrow pieces are slower
///   schedule      the bubble of equal stages; a stage that holds more blocks, or the vocabulary, delays the others
///   tensor        an all-reduce of the activations for each half of a block, forward and backward, less its overlap with products
///   context       an all-gather of keys and values for each block
///   experts       messages of rows to their experts and back, forward and backward, for each layer with experts
///   matrices      of experts, which a device reads for each micro-batch and each round of rows; rounds repeat the products forward
///   rows          kernels on rows of experts, which read and write them
///   data          half of an all-gather of the parameters and of their gradients, three for each micro-batch under ZeRO 3
///   update        reading and writing parameters, gradients and states
///
/// Attention, other kernels, launches, clipping and transfers between stages are left out. A search multiplies an estimate by the ratio of
/// simulated and estimated time of similar plans.
class StepEstimate {
public:
  StepEstimate(const Machine &machine, const TrainingSizes &model, const PlanSizes &plan) : machine(machine), model(model), plan(plan) {}

  /// Seconds that no plan of these sizes stays below: the products of the blocks at the machine's best rate, and the pipeline's waits.
  /// Assumes on an uneven machine that a stage has the pace of its slowest rank, and blocks in proportion to that. Leaves waits out
  /// there, because stages that take unequal times can wait less.
  double leastSeconds() const;
  /// Estimated seconds.
  double seconds() const;
  /// Bytes of a device that a program can have: on an uneven machine the mean over the stages, of each its smallest, which what stages hold
  /// cannot be above on average.
  double room() const;
  /// Bytes that the largest rank, on an uneven machine the mean one, needs at least for parameters, gradients and optimizer.
  double leastBytes() const;
  /// Bytes of activations that a rank keeps, up to a factor (Korthikanti et al. 2022, table 2, without attention's probabilities), and of
  /// the rows of experts in the worst case.
  double activationBytes() const;

private:
  double elementsOfRank() const;
  double dealt(bool isStored) const;
  double leastWaits() const;
  bool isPlacedIn(int64_t stage, int64_t begin, int64_t end) const;
  template <typename Figure> std::vector<double> leastOfStages(Figure figure) const;
  std::vector<double> paces() const;
  double rate() const;
  double longestDeal(double vocabularyInBlocks) const;
  double unevenStages() const;
  GroupSpan group(int64_t members, int64_t apart) const;
  double tokens() const;
  double vectorBytes() const;
  double narrowProducts() const;
  double tensorSeconds() const;
  double contextSeconds() const;
  double expertSeconds() const;
  double matrixSeconds() const;
  double rowBytes(double choices) const;
  double rowSeconds() const;
  double dataSeconds() const;
  double updateSeconds() const;

  const Machine &machine;
  TrainingSizes model;
  PlanSizes plan;
};

} // namespace npar::cost
