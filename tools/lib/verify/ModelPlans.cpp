// Drafts the plans of `npar verify --all` and `npar verify --pairs`.
#include "tools/lib/verify/ModelPlans.h"

#include "engine/files/AtomicFile.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::verify {

using engine::Result;

namespace {

Result<std::vector<PlanDraft>> selected(const ModelOutline &model, const PlanSelection &selection) {
  if (selection.combine.empty())
    return drawPlans(model, selection.plans, selection.seed);
  std::vector<PlanDraft> drafts;
  for (const std::string &list : selection.combine) {
    TRY(PlanDraft draft, draftNamed(model, list, "combined_" + std::to_string(drafts.size())));
    drafts.push_back(std::move(draft));
  }
  return drafts;
}

Result<std::string> textOf(const ModelOutline &model) {
  TRY(std::vector<uint8_t> bytes, files::readFile(model.file));
  return std::string(bytes.begin(), bytes.end());
}

/// The features to pair: those named, all of which must apply to the model, or all that do.
Result<std::vector<const PlanFeature *>> featuresToPair(const std::string &list, const ModelOutline &model) {
  std::vector<const PlanFeature *> chosen;
  if (list.empty()) {
    for (const PlanFeature &feature : features())
      if (applies(feature, model))
        chosen.push_back(&feature);
    return chosen;
  }
  TRY(chosen, featuresNamed(list));
  for (const PlanFeature *feature : chosen)
    if (!applies(*feature, model))
      return engine::Status::usage("model '" + model.name + "' has nothing for '" + feature->name + "'");
  return chosen;
}

} // namespace

size_t ModelPlans::count(Verdict verdict) const {
  return static_cast<size_t>(
      std::count_if(results.begin(), results.end(), [&](const PlanResult &result) { return result.verdict == verdict; }));
}

size_t FeaturePairs::count(Verdict verdict) const {
  return static_cast<size_t>(
      std::count_if(pairs.begin(), pairs.end(), [&](const FeaturePair &pair) { return pair.result.verdict == verdict; }));
}

Result<ModelPlans> draftPlans(const models::ModelOptions &options, const PlanSelection &selection, engine::Observer &observer) {
  TRY(ModelOutline model, outlineSmall(options, observer));
  TRY(std::vector<PlanDraft> drafts, selected(model, selection));
  TRY(std::string text, textOf(model));
  return ModelPlans{std::move(model), std::move(text), std::move(drafts)};
}

Result<FeaturePairs> checkPairs(const models::ModelOptions &options, const std::string &features, const CheckPlans &check,
                                engine::Observer &observer) {
  TRY(ModelOutline model, outlineSmall(options, observer));
  TRY(std::vector<const PlanFeature *> chosen, featuresToPair(features, model));
  TRY(std::string text, textOf(model));
  FeaturePairs table{std::move(model), std::move(chosen)};
  std::vector<PlanDraft> drafts;
  std::vector<size_t> places; // of the drafts among the pairs
  for (size_t row = 0; row < table.features.size(); ++row)
    for (size_t column = 0; column <= row; ++column) {
      std::vector<const PlanFeature *> both = {table.features[column], table.features[row]};
      both.resize(row == column ? 1 : 2);
      table.pairs.push_back({row, column});
      FeaturePair &pair = table.pairs.back();
      if (std::optional<PlanDraft> draft = draftPlan(table.model, both, fmt::format("pair_{}_{}", row, column), {}, &pair.result.reason)) {
        pair.world = draft->world;
        drafts.push_back(std::move(*draft));
        places.push_back(table.pairs.size() - 1);
      } else {
        pair.result.verdict = Verdict::Refused;
      }
    }
  TRY_STATUS(check(table.model, text, drafts, [&](size_t index, const PlanResult &result) { table.pairs[places[index]].result = result; }));
  return table;
}

} // namespace npar::verify
