// What plans can ask for, as data: the one table from which `npar verify --all` and `npar verify --pairs` make their plans.
#pragma once

#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/Outcome.h"

#include <string>
#include <utility>
#include <vector>

namespace npar::driver {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// A small size of a model, and what its plans can name.
struct SmallModel {
  ModelOptions options;            ///< as on the command line, without plan
  std::string file, name;          ///< the text's file; the model's name
  Settings settings;               ///< that make it small
  std::vector<std::string> axes;   ///< of its tensors
  std::vector<std::string> chains; ///< labels of its repeats
  int64_t blocksPerDepth = 1;      ///< of all of them, where the constant `depth` says how many
  std::string block;               ///< path of the first block, such as "h.0"; empty without one
  /// Layers of the blocks, such as "h.*.attn", that hold all that has heads and nothing of the hidden axis, and the reverse.
  std::vector<std::string> attentionLayers, feedForwardLayers;
  std::vector<std::string> operations, constants;
};

/// Where a rule stands among the others: the first that takes a mesh axis has it (RULES.md#P2).
enum class RulePlace { First, Batch, Narrowed, Tensor, Context, Sequence };

struct FeatureRule {
  RulePlace place;
  /// A rule as a plan has it. `{tensor}` stands for the model's axes of tensor parallelism, `{padded}` for the same with `pad`, `{blocks}`,
  /// `{unheaded}` and `{headed}` for those without the vocabulary, without heads and without the hidden axis, `{block}` for the path of the
  /// first block. With `{attention}` or `{feedforward}` it stands there once for each of those layers.
  std::string text;
};

/// One ability of the plan language: lines of a plan, and what they need.
struct Feature {
  std::string name;
  std::string kind;               ///< of the features of one kind a plan has one at most
  std::vector<std::string> needs; ///< of the model: "axis seq", "operation attention", "repeat", "constant dropout", "layers attention"
  std::string brings;             ///< a feature that comes along where no other one of its kind is there
  bool insists = false;           ///< on the very feature that it brings: with another one of that kind there is no plan
  std::vector<std::pair<std::string, std::vector<int64_t>>> mesh; ///< mesh axes with the sizes to draw from, the first one the plainest
  std::vector<FeatureRule> rules;
  std::vector<std::string> lines; ///< of the plan, outside of `split`
  Settings settings;              ///< of model and train block
  std::string schedule;           ///< of the pipeline over all repeats
  int64_t chunks = 1, microsPerStage = 0;
  int64_t microShares = 1;   ///< into so many equal parts a rank's micro-batch must go
  bool limitsLive = false;   ///< a stage holds as many micro-batches at once as there are stages
  bool stagesByHand = false; ///< the blocks of each part are listed: what comes before them alone in the first
};

/// All features; the schedules among them are those that there are.
const std::vector<Feature> &features();
/// The feature of this name; null when there is none.
const Feature *findFeature(const std::string &name);
/// Features by name, as people write them: `dp,zb_v`. An unknown name is a usage error, which is printed.
Outcome<std::vector<const Feature *>> featuresNamed(const std::string &list);
/// Whether a model has what the feature needs.
bool applies(const Feature &feature, const SmallModel &model);

/// The flags that make a model with these constants small, each after a space; empty when it has none of the usual ones.
std::string shrinkingFlags(const std::vector<std::string> &constants);

/// Elaborates the model's text at a small size, but for what the options set. Errors are printed; settings of plans are a usage error.
Outcome<SmallModel> smallModel(const ModelOptions &options);
/// The same at its own size, for what its plans can name: `settings` is empty.
Outcome<SmallModel> modelNames(const ModelOptions &options);

} // namespace npar::driver
