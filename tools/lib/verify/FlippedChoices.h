// Compares what a plan chooses among scores with what float64 chooses: near ties that rounding decides the other way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace npar::verify {

/// An entry that a plan chooses in place of one with a larger score in float64.
struct FlippedChoice {
  int64_t batch = 0, sample = 0;
  std::vector<int64_t> position;        ///< along the axes of the choices except samples and chosen entries
  int64_t chosen = 0, inPlaceOf = 0;    ///< entries
  double score = 0, scoreInPlaceOf = 0; ///< theirs in float64
  double margin = 0;                    ///< the distance of the scores, relative to the largest score that is chosen at this position
};

/// The choices of one place in a model.
struct LayerChoices {
  std::string layer; ///< path of the layer; empty at the top
  std::string axis;  ///< its entries are chosen
  std::string place; ///< "moe.npar:12:17"
  int64_t choices = 0, flipped = 0;
  double largestMargin = 0;
  /// The largest error of a score that is chosen by the plan or in float64, relative like a margin. Errors of half a margin explain a flip.
  double largestScoreError = 0;
  std::vector<FlippedChoice> examples = {}; ///< a few with the largest margins, these first
};

/// Sizes of choices [samples, outer, chosen, inner] and of their scores [samples, outer, entries, inner].
struct ChoiceShape {
  int64_t samples = 1;
  std::vector<int64_t> outer, inner;
  int64_t chosen = 1, entries = 1;
};

/// One batch of the choices of a plan and of float64, and the scores of both. Values are row-major.
struct ChosenValues {
  std::vector<double> chosen, own;   ///< by the plan, and by float64
  std::vector<double> scores, exact; ///< of the plan, and in float64
};

/// Counts the choices of a batch that float64 does not make, whatever their order, and adds the largest to the examples.
void addFlips(const ChoiceShape &shape, const ChosenValues &values, int64_t batch, LayerChoices &layer);

/// The choices of a model, and what they do to its loss.
struct ChoiceReport {
  std::string type; ///< "bf16"
  int64_t batches = 0;
  std::vector<LayerChoices> layers;
  size_t leftOut = 0;   ///< places whose choices depend on several samples
  bool hasLoss = false; ///< an evaluation has a loss: not if all losses are over several samples
  double lossBound = 0; ///< the relative error of the loss that the type allows
  /// The largest relative change of the loss in float64 if the plan's choices replace its own.
  double lossByChoices = 0;
  double lossError = 0; ///< the largest relative error of the plan's loss against float64 with the plan's choices: rounding alone

  int64_t choices() const;
  int64_t flipped() const;
  double largestMargin() const;
  double largestScoreError() const;
  /// "12 of 6144 choices in 3 batches differ from float64 at near ties: ..."; `areNear`: whether all of them are near ties.
  std::string text(bool areNear) const;
  /// A line for each layer with flipped choices, each followed by those of its examples.
  std::vector<std::string> lines() const;
};

} // namespace npar::verify
