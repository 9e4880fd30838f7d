// The search behind `npar plan`: which candidates are compiled, and what came of it.
#pragma once

#include "tools/lib/planner/search/Candidate.h"
#include "tools/lib/planner/search/SimulatePlans.h"

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

/// `nameOf` and `textOf` of its candidate, except for a plan that was given.
std::string nameOf(const Tried &tried);
std::string textOf(const PlanTask &task, const Tried &tried);

/// The figure that is made small; nothing where the plan does not fit or was refused.
std::optional<double> goalOf(const Tried &tried, PlanGoal goal);

/// A folder in $TMPDIR (else /tmp) for the candidates' texts, gone when the search is over.
class SearchFolder {
public:
  SearchFolder();
  ~SearchFolder();
  SearchFolder(const SearchFolder &) = delete;
  SearchFolder &operator=(const SearchFolder &) = delete;
  /// BadInput if it could not be made.
  engine::Status check() const;
  std::string path; ///< empty when it could not be made
};

/// Options that name the plan of a candidate whose text is in the file.
ModelOptions optionsFor(const PlanTask &task, const std::string &path);

/// Compiles candidates and predicts their steps; `done` is called in their order. `folder`: for the texts, which the next call overwrites.
engine::Status tryCandidates(const PlanTask &task, const std::vector<Candidate> &candidates, const ParallelWork &work,
                             const std::string &folder, const std::function<void(size_t, const Attempt &)> &done);

/// Compiles the most promising: the best guesses of different meshes, then what differs from the best plan so far in one setting until none
/// of these is better, the same about the next best, then the best guesses, until no bound is better or the budget is spent. Last, for each
/// setting of the best plan another value. The order depends on figures alone, never on the clock. `folder`: for the texts.
engine::Result<SearchResult> searchPlans(const PlanTask &task, const SearchOptions &options, const std::string &folder);

} // namespace npar::planner
