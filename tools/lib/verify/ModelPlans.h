// Many plans of one model, drawn from all features or named by the caller, and their results.
#pragma once

#include "tools/lib/verify/PlanResult.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::verify {

struct PlanSelection {
  std::vector<std::string> combine; ///< `dp,zb_v`: plans of exactly these features; empty: drawn plans
  uint64_t seed = 1;
  int64_t plans = 120; ///< number of drawn plans
};

struct ModelPlans {
  ModelOutline model;
  std::string text; ///< of the model
  std::vector<PlanDraft> drafts;
  std::vector<PlanResult> results = {}; ///< of the first drafts; of all unless the check was stopped

  size_t count(Verdict verdict) const;
};

/// Elaborates the model at a small size and drafts its plans. Nothing is checked yet.
engine::Result<ModelPlans> draftPlans(const models::ModelOptions &options, const PlanSelection &selection, engine::Observer &observer);

/// Two features of a model, or one alone if both are the same, and the result of their plan.
struct FeaturePair {
  size_t row, column;
  int64_t world = 0; ///< 0: the features exclude each other
  PlanResult result = {};
};

struct FeaturePairs {
  ModelOutline model;
  std::vector<const PlanFeature *> features;
  std::vector<FeaturePair> pairs = {}; ///< row by row, up to the diagonal

  size_t count(Verdict verdict) const;
};

/// Checks each feature and each pair of features at a small size. `features`: names as in `dp,tp,zero3`; empty: all that apply to the
/// model.
engine::Result<FeaturePairs> checkPairs(const models::ModelOptions &options, const std::string &features, const CheckPlans &check,
                                        engine::Observer &observer);

} // namespace npar::verify
