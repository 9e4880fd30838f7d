// The guide behind `npar explain`: the field's questions about plans, each answered by two simulated ones.
#pragma once

#include "engine/json/JsonForward.h"
#include "tools/lib/planner/search/Search.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::planner {

/// The answer to a question by two plans: one with the feature in question and one without.
struct Answer {
  std::string key, question;
  bool yes = false;
  std::string sentence;           ///< begins with "Yes" or "No"
  std::vector<std::string> words; ///< lines of the plan's text that are in `with` alone
  std::vector<std::string> also;  ///< in what they differ beyond the question: "micro 2 and micro 4"
  std::optional<Tried> with, without;
};

struct Explanation {
  Tried best;
  std::vector<Answer> answers;
  size_t simulated = 0; ///< plans, those of the search too
};

/// Answers all questions about a task for which a search found a plan that fits. Clauses are changed alone in the best plan that can have
/// them; a mesh without one of its axes is the best of those that were tried. A plan that turns out better than the search's takes its
/// place.
engine::Result<Explanation> explainPlans(const PlanTask &task, const SearchOptions &options, const SearchResult &found);

std::string explanationText(const PlanTask &task, const Explanation &explanation);
OrderedJson explanationJson(const PlanTask &task, const Explanation &explanation);

/// The answer of the two plans in a sentence, where one is missing with `none`. Fills `yes`, `sentence` and `also`.
void decide(Answer &answer, Setting setting, const std::string &none);

} // namespace npar::planner
