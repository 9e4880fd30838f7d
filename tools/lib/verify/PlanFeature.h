// The abilities of the plan language, as data: the one table from which `npar verify --all` and `npar verify --pairs` make their plans.
#pragma once

#include "tools/lib/verify/ModelOutline.h"

#include <string>
#include <utility>
#include <vector>

namespace npar::verify {

/// The order of rules in a plan: the first rule that takes a mesh axis has it (RULES.md#P2).
enum class RulePlace { First, Batch, Narrowed, Tensor, Context, Sequence };

struct FeatureRule {
  RulePlace place;
  /// A rule as plans write it. `{tensor}` is replaced by the model's axes of tensor parallelism, `{padded}` by the same axes with `pad`,
  /// `{blocks}`, `{unheaded}` and `{headed}` by those without the vocabulary, without heads and without the hidden axis, `{block}` by the
  /// path of the first block. A rule with `{attention}` or `{feedforward}` is repeated for each of those layers.
  std::string text;
};

/// One ability of the plan language: lines of a plan, and what they need.
struct PlanFeature {
  std::string name;
  std::string kind;               ///< a plan has at most one feature of a kind
  std::vector<std::string> needs; ///< of the model: "axis seq", "operation attention", "repeat", "constant dropout", "layers attention"
  std::string brings;             ///< a feature that is added unless the plan has another one of its kind
  bool insists = false;           ///< only the feature that it brings will do: with another one of that kind, no plan exists
  std::vector<std::pair<std::string, std::vector<int64_t>>> mesh; ///< mesh axes with the sizes to draw from, the plainest first
  std::vector<FeatureRule> rules;
  std::vector<std::string> lines; ///< of the plan, outside of `split`
  Settings settings;              ///< of model and train block
  std::string schedule;           ///< of the pipeline over all repeats
  int64_t chunks = 1, microsPerStage = 0;
  int64_t microShares = 1;   ///< number of equal parts that a rank's micro-batch must divide into
  bool limitsLive = false;   ///< a stage holds at most as many micro-batches at once as the pipeline has stages
  bool stagesByHand = false; ///< the plan lists the blocks of each part; the first part has only the layers before the blocks
};

/// All features. The schedules among them are those that the compiler knows.
const std::vector<PlanFeature> &features();
/// The feature of this name; null if it is unknown.
const PlanFeature *findFeature(const std::string &name);
/// Features by name, as people write them: `dp,zb_v`. An unknown name is a usage error.
engine::Result<std::vector<const PlanFeature *>> featuresNamed(const std::string &list);
/// True if a model has what the feature needs.
bool applies(const PlanFeature &feature, const ModelOutline &model);

} // namespace npar::verify
