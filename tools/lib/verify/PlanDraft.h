// Plans made of features: their text, and the settings that go with it.
#pragma once

#include "tools/lib/verify/PlanFeature.h"

#include <cstdint>
#include <optional>

namespace npar::verify {

/// One plan to check: text to append to the model's, and settings.
struct PlanDraft {
  std::string name;
  std::vector<std::string> features; ///< with those that were added
  std::vector<std::pair<std::string, int64_t>> mesh;
  std::string text;
  Settings settings;
  int64_t world = 1;
};

/// The free choices in a plan of given features.
struct DraftChoice {
  std::vector<size_t> sizes;     ///< per mesh axis in the order of the features: which of its sizes; beyond the end the first
  std::vector<size_t> order;     ///< of the mesh axes; empty: the order of the features
  int64_t micro = 1, micros = 4; ///< sequences per rank and micro-batch; the least number of micro-batches
  int64_t moreBlocks = 0;        ///< number of blocks in addition to one per part of the pipeline
  std::vector<uint64_t> turns;   ///< not empty: shuffles the rules, whose usual order lets most of them have an effect
};

/// Nothing if two features exclude each other or the model lacks what one needs; `reason` then explains why.
std::optional<PlanDraft> draftPlan(const ModelOutline &model, const std::vector<const PlanFeature *> &chosen, const std::string &name,
                                   const DraftChoice &choice = {}, std::string *reason = nullptr);

/// The same for a list of names. Features that make no plan are a usage error.
engine::Result<PlanDraft> draftNamed(const ModelOutline &model, const std::string &features, const std::string &name);

/// Exactly `count` plans: one without features, then features alone, all of them or as many as make half of the rest (which ones depends on
/// the seed), then random combinations. Worlds have 1 to 16 ranks. The random plan k depends on the seed and k alone.
std::vector<PlanDraft> drawPlans(const ModelOutline &model, int64_t count, uint64_t seed);

/// The whole text: the model's own, then the plan. `firstLine`: the line at which the plan begins.
std::string wholeText(const std::string &modelText, const PlanDraft &draft, uint32_t &firstLine);

} // namespace npar::verify
