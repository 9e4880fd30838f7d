// The table of features. Add one: an entry here; nothing else names it.
#include "tools/lib/verify/PlanFeature.h"

#include "compiler/import/KnownSchedules.h"
#include "dsl/Suggestions.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::verify {
namespace {

constexpr auto batch = RulePlace::Batch, narrowed = RulePlace::Narrowed, tensor = RulePlace::Tensor, context = RulePlace::Context,
               sequence = RulePlace::Sequence, first = RulePlace::First;

PlanFeature named(const char *name, const char *kind, std::vector<std::string> needs = {}) {
  PlanFeature feature;
  feature.name = name, feature.kind = kind, feature.needs = std::move(needs);
  return feature;
}

PlanFeature split(const char *name, const char *kind, std::vector<std::string> needs,
                  std::vector<std::pair<std::string, std::vector<int64_t>>> mesh, std::vector<FeatureRule> rules) {
  PlanFeature feature = named(name, kind, std::move(needs));
  feature.mesh = std::move(mesh), feature.rules = std::move(rules);
  return feature;
}

PlanFeature along(PlanFeature feature, const char *brings) {
  feature.brings = brings;
  return feature;
}

/// A feature that adds the named one and excludes the others of its kind.
PlanFeature only(PlanFeature feature, const char *brings) {
  feature.insists = true;
  return along(std::move(feature), brings);
}

/// A feature that splits a micro-batch.
PlanFeature sharing(PlanFeature feature, int64_t shares) {
  feature.microShares = shares;
  return feature;
}

PlanFeature line(const char *name, const char *kind, const char *text, const char *brings, std::vector<std::string> needs = {}) {
  PlanFeature feature = named(name, kind, std::move(needs));
  feature.lines = {text}, feature.brings = brings;
  return feature;
}

PlanFeature set(const char *name, std::vector<std::string> needs, Settings settings) {
  PlanFeature feature = named(name, name, std::move(needs));
  feature.settings = std::move(settings);
  return feature;
}

std::vector<PlanFeature> makeTable() {
  std::vector<PlanFeature> table = {
      // Data parallelism.
      split("dp", "data", {}, {{"dp", {2, 4, 3}}}, {{batch, "batch -> dp"}}),
      split("nodes", "data", {}, {{"node", {2}}, {"dp", {2, 3}}}, {{batch, "batch -> node, dp"}}),

      // Tensor parallelism.
      split("tp", "tensor", {"tensor"}, {{"tp", {2, 4}}}, {{tensor, "{tensor} -> tp"}}),
      split("pad", "tensor", {"tensor"}, {{"tp", {3, 5}}}, {{tensor, "{padded} -> tp"}}),
      // Other splits for parts of the model: the vocabulary is whole, or only it is split, or the batch of some layers is split instead.
      split("tp_blocks", "tensor", {"axis vocab", "axis hidden"}, {{"tp", {2, 4}}}, {{tensor, "{blocks} -> tp"}}),
      split("tp_vocabulary", "tensor", {"axis vocab"}, {{"tp", {2, 4}}}, {{tensor, "vocab pad -> tp"}, {tensor, "batch -> tp"}}),
      sharing(split("tp_feedforward", "tensor", {"axis hidden", "layers attention"}, {{"tp", {2}}},
                    {{narrowed, "batch -> tp in layer \"{attention}\""}, {tensor, "{unheaded} -> tp"}}),
              2),
      sharing(split("tp_attention", "tensor", {"axis head", "layers feedforward"}, {{"tp", {2}}},
                    {{narrowed, "batch -> tp in layer \"{feedforward}\""}, {tensor, "{headed} -> tp"}}),
              2),
      split("tp_2d", "tensor", {"axis hidden"}, {{"tp", {2}}, {"tq", {2}}}, {{tensor, "hidden, vocab pad -> tp, tq"}}),
      split("pad_attention", "tensor", {"operation attention"}, {{"tp", {3, 5}}}, {{narrowed, "head pad -> tp in op attention"}}),
      split("one_block", "tensor", {"axis hidden", "repeat"}, {{"tp", {2, 4}}}, {{narrowed, "hidden -> tp in layer \"{block}\""}}),
      along(split("embed_dp", "embed", {"axis embed"}, {}, {{sequence, "embed -> dp"}}), "dp"),
      along(split("sequence", "sequence", {"axis seq", "tensor"}, {}, {{sequence, "seq -> tp"}}), "tp"),

      // ZeRO; over one axis of two it is hybrid sharding.
      line("zero1", "store", "store { optimizer -> dp }", "dp"),
      line("zero2", "store", "store { gradients, optimizer -> dp }", "dp"),
      line("zero2_per_step", "store", "store { gradients, optimizer -> dp per step }", "dp"),
      line("zero3", "store", "store { parameters, gradients, optimizer -> dp }", "dp"),
      line("zero3_per_step", "store", "store { parameters, gradients, optimizer -> dp per step }", "dp"),
      only(line("zero1_nodes", "store", "store { optimizer -> node, dp }", ""), "nodes"),
      only(line("zero3_hybrid", "store", "store { parameters, gradients, optimizer -> dp }", ""), "nodes"),
      line("bucket", "bucket", "bucket 8 kB", "dp"),

      // Ranks on hosts: the same program in every order.
      line("place_spread", "place", "place spread", "dp"),
      line("place_inside", "place", "place inside tp", "tp"),

      // Context parallelism.
      split("ulysses", "context", {"axis seq", "operation attention"}, {{"sp", {2, 4}}},
            {{narrowed, "head -> sp in op attention"}, {context, "seq -> sp"}}),
      split("ring", "context", {"axis seq", "operation attention"}, {{"cp", {2, 4}}}, {{context, "seq -> cp by ring"}}),
      split("ring_zigzag", "context", {"axis seq", "operation attention"}, {{"cp", {2, 4}}}, {{context, "seq -> cp by ring(zigzag)"}}),
      split("gather", "context", {"axis seq", "operation attention"}, {{"cp", {2, 4}}}, {{context, "seq -> cp by gather"}}),

      split("gather_pad", "context", {"axis seq", "operation attention"}, {{"cp", {3, 5}}}, {{context, "seq pad -> cp by gather"}}),
      along(split("gather_first", "context", {"axis seq", "operation attention"}, {}, {{first, "seq -> dp by gather"}}), "dp"),

      // Element types, and how they are reduced.
      line("bf16", "precision", "compute bf16", ""),
      line("bf16_wide_gradients", "precision", "compute bf16, gradients f32, reduce f32", ""),
      line("fp16", "precision", "compute fp16", ""),
      line("keep", "precision", "compute bf16\n    keep embedding, \"{block}\" in f32", "", {"repeat"}),
      only(line("hierarchical", "precision", "compute f32, reduce f32 hierarchical", ""), "nodes"),

      // Recompute.
      line("recompute_attention", "recompute", "recompute attention", "", {"operation attention"}),
      line("recompute_block", "recompute", "recompute block", "", {"repeat"}),
      line("recompute_every_2", "recompute", "recompute every 2", "", {"repeat"}),
      line("recompute_layer", "recompute", "recompute [\"{block}\"]", "", {"repeat"}),

      // Features of the model and its training, not of the plan.
      set("dropout", {"constant dropout"}, {{"dropout", "0.1"}}),
      set("unclipped", {}, {{"clip", "none"}}),
      set("valid_tokens", {"constant ignore"}, {{"ignore", "-100"}}),
  };
  PlanFeature stages = along(named("stages", "stages", {"repeat"}), "1f1b");
  stages.stagesByHand = true;
  table.push_back(stages);
  PlanFeature live = along(named("live", "live", {"repeat"}), "backward_first");
  live.limitsLive = true;
  table.push_back(live);
  for (const dsl::KnownSchedule &kind : compiler::knownSchedules().kinds) {
    PlanFeature feature = split(kind.name.c_str(), "schedule", {"repeat"}, {{"pp", {2, 4, 3}}}, {});
    feature.schedule = kind.name;
    feature.chunks = std::max(1, kind.chunks);
    feature.microsPerStage = kind.microsPerStage;
    table.push_back(feature);
  }
  return table;
}

bool has(const std::vector<std::string> &list, const std::string &word) { return std::find(list.begin(), list.end(), word) != list.end(); }

} // namespace

const std::vector<PlanFeature> &features() {
  static const std::vector<PlanFeature> table = makeTable();
  return table;
}

const PlanFeature *findFeature(const std::string &name) {
  for (const PlanFeature &feature : features())
    if (feature.name == name)
      return &feature;
  return nullptr;
}

engine::Result<std::vector<const PlanFeature *>> featuresNamed(const std::string &list) {
  std::vector<const PlanFeature *> chosen;
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    std::string word = list.substr(begin, end - begin);
    begin = end + 1;
    if (const PlanFeature *feature = findFeature(word)) {
      chosen.push_back(feature);
      continue;
    }
    std::vector<std::string> names;
    for (const PlanFeature &one : features())
      names.push_back(one.name);
    std::string nearest = dsl::nearest(word, names);
    return engine::Status::usage(
        "unknown feature '" + word + "'" +
        (nearest.empty() ? fmt::format("; there are {}", fmt::join(names, ", ")) : "; did you mean '" + nearest + "'?"));
  }
  return chosen;
}

bool applies(const PlanFeature &feature, const ModelOutline &model) {
  return std::all_of(feature.needs.begin(), feature.needs.end(), [&](const std::string &need) {
    size_t space = need.find(' ');
    std::string what = need.substr(0, space), name = space == std::string::npos ? "" : need.substr(space + 1);
    return what == "axis"        ? has(model.axes, name)
           : what == "operation" ? has(model.operations, name)
           : what == "constant"  ? has(model.constants, name)
           : what == "layers"    ? !(name == "attention" ? model.attentionLayers : model.feedForwardLayers).empty()
           : what == "tensor"    ? has(model.axes, "hidden") || has(model.axes, "vocab")
                                 : !model.chains.empty();
  });
}

} // namespace npar::verify
