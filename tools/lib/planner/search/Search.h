// The search behind `npar plan`: which candidates are compiled, and what came of it.
#pragma once

#include "tools/lib/planner/search/Candidate.h"
#include "tools/lib/planner/search/SimulatePlans.h"

#include <functional>
#include <string>
#include <vector>

namespace npar::planner {

enum class PlanGoal { Speed, Memory, Money };

struct Tried;

struct SearchOptions {
  PlanGoal goal = PlanGoal::Speed;
  Choices fixes; ///< choices that every candidate has
  ParallelWork work;
  double budget = 52;           ///< of compilations: one of a small pipeline is 1, more tasks are more
  double explaining = 8;        ///< of compilations beyond it, which show what the best plan's settings are worth
  const Tried *given = nullptr; ///< a plan that was simulated before, which fills the hosts: the search starts from there too
  std::function<void(const Tried &)> judged = {}; ///< called for each plan in the order of `SearchResult::tried`, by the calling thread
};

struct Tried {
  Candidate candidate;
  Attempt attempt;
  std::string text; ///< of a plan that was given, whose candidate is but near to it; empty: `textOf` has the candidate's
  bool fits() const { return attempt.figures && attempt.figures->fits.value_or(true); }
};

struct SearchResult {
  size_t candidates = 0, pruned = 0; ///< pruned: by the bound of memory, never compiled
  std::vector<Tried> tried;          ///< in the order in which they were
  bool complete = false;             ///< nothing that is left can be better by its bound
  bool local = false;                ///< all that differ from the best in one setting were compiled, or cannot be better by bound or guess
  int best = -1;                     ///< of `tried`; -1: none fits
};

/// `nameOf` and `textToKeep` of its candidate, except for a plan that was given.
std::string nameOf(const Tried &tried);
std::string textOf(const PlanTask &task, const Tried &tried);

/// The figure that is made small; nothing where the plan does not fit or was refused.
std::optional<double> goalOf(const Tried &tried, PlanGoal goal);

/// Options for the same work with a text in memory, whose messages call it planned.npar.
ModelOptions withText(ModelOptions options, std::string text);

/// Options that name the plan of a candidate.
ModelOptions optionsFor(const PlanTask &task, const Candidate &candidate);

/// Compiles candidates and predicts their steps; `done` is called in their order, by the calling thread. The first `verified` are
/// compiled with all checks, the others as drafts.
engine::Status tryCandidates(const PlanTask &task, const std::vector<Candidate> &candidates, const ParallelWork &work,
                             const std::function<void(size_t, const Attempt &)> &done, size_t verified = 0);

/// Compiles the most promising: the best guesses of different meshes, then what differs from the best plan so far in one setting until none
/// of these is better, the same about the next best, then the best guesses. Ends when no bound is better, no guess is close to the best
/// plan, compilations in a row find nothing faster, or the budget is spent. Last, for each setting of the best plan another value, and the
/// best plan itself with all checks of the compiler. The order depends on figures alone, never on the clock.
engine::Result<SearchResult> searchPlans(const PlanTask &task, const SearchOptions &options);

} // namespace npar::planner
