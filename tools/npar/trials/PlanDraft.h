// Plans made of features: the text, the settings that go with it, and the sets of plans to check.
#pragma once

#include "tools/npar/trials/Feature.h"

#include <cstdint>
#include <optional>

namespace npar::driver {

/// One plan to check: text to append to the model's, and settings.
struct PlanDraft {
  std::string name;
  std::vector<std::string> features; ///< with those that came along
  std::vector<std::pair<std::string, int64_t>> mesh;
  std::string text;
  Settings settings;
  int64_t world = 1;
};

/// What is free in a plan of given features.
struct DraftChoice {
  std::vector<size_t> sizes;     ///< per mesh axis in the order of the features: which of its sizes; beyond the end the first
  std::vector<size_t> order;     ///< of the mesh axes; empty: as they come
  int64_t micro = 1, micros = 4; ///< sequences per rank and micro-batch; micro-batches, at least
  int64_t moreBlocks = 0;        ///< than parts of the pipeline
  std::vector<uint64_t> turns;   ///< not empty: rules in another order than the usual one, in which most can have an effect
};

/// Nothing when two features exclude each other or the model lacks what one needs; `reason` then says why.
std::optional<PlanDraft> draftPlan(const SmallModel &model, const std::vector<const Feature *> &chosen, const std::string &name,
                                   const DraftChoice &choice = {}, std::string *reason = nullptr);

/// The same for a list of names. What makes no plan is a usage error, which is printed.
Outcome<PlanDraft> draftNamed(const SmallModel &model, const std::string &features, const std::string &name);

/// Exactly `count`: one plan without features, then features alone, all of them or as many as make half of the rest (which ones moves with
/// the seed), then random combinations. Worlds have 1 to 16 ranks. The random plan k depends on the seed and k alone.
std::vector<PlanDraft> draftMatrix(const SmallModel &model, int64_t count, uint64_t seed);

/// The whole text: the model's own with the plan after it. `firstLine`: where the plan begins.
std::string wholeText(const std::string &modelText, const PlanDraft &draft, uint32_t &firstLine);

} // namespace npar::driver
