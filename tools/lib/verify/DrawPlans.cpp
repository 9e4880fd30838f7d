// The set of plans that `npar verify --all` checks: one plain, features alone, random combinations.
#include "tools/lib/verify/PlanDraft.h"

#include <algorithm>
#include <random>

namespace npar::verify {
namespace {

constexpr int64_t largestWorld = 16;

/// Random draws that are equal on every machine, unlike those of the standard library's distributions.
class Draws {
public:
  Draws(uint64_t seed, uint64_t number) : random(seed * 0x9e3779b97f4a7c15u + number) {}
  size_t below(size_t count) { return static_cast<size_t>(random() % count); }
  /// Fisher and Yates.
  template <typename T> void shuffle(std::vector<T> &list) {
    for (size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[below(i)]);
  }

private:
  std::mt19937_64 random;
};

PlanDraft drawPlan(const ModelOutline &model, const std::vector<const PlanFeature *> &applicable, uint64_t seed, uint64_t number) {
  Draws draws(seed, number);
  std::string name = "random_" + std::to_string(number);
  while (true) {
    std::vector<const PlanFeature *> shuffled = applicable, chosen;
    draws.shuffle(shuffled);
    size_t wanted = 1 + draws.below(6);
    for (const PlanFeature *feature : shuffled) {
      bool taken = std::any_of(chosen.begin(), chosen.end(), [&](const PlanFeature *other) { return other->kind == feature->kind; });
      if (!taken && chosen.size() < wanted)
        chosen.push_back(feature);
    }
    DraftChoice choice;
    for (size_t i = 0; i < 16; ++i)
      choice.sizes.push_back(draws.below(6));
    choice.micro = 1 + static_cast<int64_t>(draws.below(3));
    choice.micros = 1 + static_cast<int64_t>(draws.below(6));
    choice.moreBlocks = static_cast<int64_t>(draws.below(3));
    if (draws.below(4) == 0)
      for (size_t i = 0; i < 16; ++i)
        choice.turns.push_back(draws.below(1000));
    std::optional<PlanDraft> draft = draftPlan(model, chosen, name, choice);
    if (!draft || draft->world > largestWorld)
      continue;
    for (size_t i = 0; i < draft->mesh.size(); ++i)
      choice.order.push_back(i);
    draws.shuffle(choice.order);
    return *draftPlan(model, chosen, name, choice);
  }
}

} // namespace

std::vector<PlanDraft> drawPlans(const ModelOutline &model, int64_t count, uint64_t seed) {
  std::vector<PlanDraft> drafts, alone;
  std::vector<const PlanFeature *> applicable;
  if (std::optional<PlanDraft> draft = draftPlan(model, {}, "plain"))
    drafts.push_back(*draft);
  for (const PlanFeature &feature : features())
    if (std::optional<PlanDraft> draft = draftPlan(model, {&feature}, "only_" + feature.name)) {
      alone.push_back(std::move(*draft));
      applicable.push_back(&feature);
    }
  // A window over the features moves with the seed, so consecutive seeds reach all features.
  size_t some = std::min(alone.size(), static_cast<size_t>(std::max<int64_t>(0, count - 1)) / 2);
  std::vector<bool> chosen(alone.size());
  for (size_t i = 0; i < some; ++i)
    chosen[((seed % alone.size()) * some + i) % alone.size()] = true;
  for (size_t i = 0; i < alone.size(); ++i)
    if (chosen[i])
      drafts.push_back(std::move(alone[i]));
  for (uint64_t number = 0; static_cast<int64_t>(drafts.size()) < count; ++number)
    drafts.push_back(drawPlan(model, applicable, seed, number));
  return drafts;
}

} // namespace npar::verify
