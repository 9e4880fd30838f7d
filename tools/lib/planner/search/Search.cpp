// Chooses which candidates to compile, by bounds, by guesses that what was compiled corrects, and around the best ones.
#include "tools/lib/planner/search/Search.h"

#include "tools/lib/planner/search/CandidateEstimates.h"
#include "tools/lib/planner/search/EnumerateCandidates.h"
#include "tools/lib/planner/search/TimeCorrections.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace npar::planner {

using engine::Status;

namespace {

constexpr size_t atOnce = 4;    ///< compiled before anything is learned of them
constexpr size_t starts = 3;    ///< plans around which is searched
constexpr size_t fewest = 16;   ///< compiled even if their guesses are far from the best plan
constexpr double patience = 18; ///< compilations without a better plan after which the search ends
constexpr double hopeful = 1.1; ///< guesses are seldom further off than this factor
constexpr double likely = 1.06; ///< most guesses are not further off
constexpr double known = 1.04;  ///< guesses by similar plans are seldom further off

/// The cost of compiling, in compilations of a small pipeline. Each round of rows of experts has operations of its own.
double effort(const PlanTask &task, const Candidate &c) {
  double rounds = static_cast<double>(task.experts.rounds(c.ep, c.buffer));
  return 0.75 + 0.25 * rounds + static_cast<double>(c.pp * c.chunks * (task.batch / (c.batchShares() * c.micro))) / 10000;
}

class Search {
public:
  Search(const PlanTask &task, const SearchOptions &options) : task(task), options(options), left(options.budget) {
    for (const Candidate &one : candidatesFor(task, options.fixes))
      add(one);
    guess();
  }

  engine::Result<SearchResult> run() {
    if (options.given)
      begin(*options.given);
    for (int round = 0; round < 4 && left > 0; ++round) // a few at a time: what is learned of them corrects the guesses
      TRY_STATUS(tryAll(bestOfMeshes()));
    while (left > 0 && !hasStopped()) {
      std::vector<size_t> next = aroundTheBest();
      result.local = next.empty();
      if (next.empty())
        next = promising();
      if (next.empty())
        break;
      next.resize(std::min(next.size(), atOnce));
      TRY_STATUS(tryAll(next));
    }
    TRY_STATUS(explainAndVerify());
    result.complete = order().empty();
    result.local = aroundTheBest().empty();
    result.candidates = all.size();
    result.pruned = static_cast<size_t>(std::count(hopeless.begin(), hopeless.end(), true));
    return std::move(result);
  }

private:
  using Mesh = std::array<int64_t, 5>;
  static Mesh meshOf(const Candidate &c) { return {c.dp, c.pp, c.ep, c.cp, c.tp}; }

  void add(const Candidate &one) {
    all.push_back(one), done.push_back(false);
    cost::StepEstimate estimate = estimateOf(task, one);
    bytes.push_back(estimate.leastBytes()), activations.push_back(estimate.activationBytes()), rooms.push_back(estimate.room());
    seconds.push_back(estimate.seconds());
    bounds.push_back(byMemory() ? bytes.back() + task.machine.reserved : estimate.leastSeconds() * cost());
    hopeless.push_back(task.machine.room > 0 && bytes.back() > rooms.back());
  }

  void begin(const Tried &given) {
    add(given.candidate);
    done.back() = true;
    result.tried.push_back(given), indices.push_back(all.size() - 1);
    if (goalOf(given, options.goal))
      result.best = 0;
    verified.insert(0);
    addVariants();
    guess();
  }

  /// Candidates that are like the best plan in what `variantsOf` changes, and variants of all that was tried since the last call.
  void addVariants() {
    std::vector<Candidate> more;
    for (; varied < indices.size(); ++varied)
      for (const Candidate &one : variantsOf(task, options.fixes, all[indices[varied]]))
        more.push_back(one);
    if (result.best >= 0 && result.best != likened) {
      likened = result.best;
      const Candidate &winner = result.tried[static_cast<size_t>(result.best)].candidate;
      for (const Candidate &one : all)
        if (Candidate other = likewise(task, options.fixes, one, winner); distance(other, winner) == 1)
          more.push_back(other);
    }
    if (more.empty())
      return;
    std::set<std::pair<Mesh, int64_t>> shapes; // the rest cannot be the same
    for (const Candidate &one : more)
      shapes.emplace(meshOf(one), one.micro);
    std::set<Choices> there;
    for (const Candidate &one : all)
      if (shapes.count({meshOf(one), one.micro}))
        there.insert(choicesOf(one));
    for (const Candidate &one : more)
      if (there.insert(choicesOf(one)).second)
        add(one);
  }

  double best() const { return result.best < 0 ? INFINITY : *goalOf(result.tried[static_cast<size_t>(result.best)], options.goal); }
  bool open(size_t index) const { return !done[index] && !hopeless[index] && bounds[index] < best(); }

  /// All that are open, the best guess first.
  std::vector<size_t> order() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < all.size(); ++i)
      if (open(i))
        found.push_back(i);
    byGuess(found);
    return found;
  }
  void byGuess(std::vector<size_t> &indices) const {
    std::stable_sort(indices.begin(), indices.end(), [&](size_t a, size_t b) { return guesses[a] < guesses[b]; });
  }

  /// The best guesses of all that are open, each corrected by compiled plans nearby, except those that are too far from the best plan.
  std::vector<size_t> promising() const {
    std::vector<std::pair<double, size_t>> found;
    for (size_t index : order()) {
      if (found.size() == atOnce && guesses[index] >= found.back().first)
        break;
      if (NearGuess near = guessNearby(index); byMemory() || near.isHopeful || result.tried.size() < fewest) {
        found.emplace_back(near.goal, index);
        std::stable_sort(found.begin(), found.end());
        found.resize(std::min(found.size(), atOnce));
      }
    }
    std::vector<size_t> chosen;
    for (auto [guess, index] : found)
      chosen.push_back(index);
    return chosen;
  }

  struct NearGuess {
    double goal;
    bool isHopeful; ///< may be better than the best plan
  };

  /// The guess by compiled plans with the same mesh that differ in one setting. Unless their difference is known well, the lower guess
  /// counts: that, or the one by the plan with the number `start`, which differs in one setting, too, or by all plans of a kind.
  NearGuess guessNearby(size_t index, std::optional<size_t> start = std::nullopt) const {
    if (byMemory())
      return {guesses[index], guesses[index] < best() * hopeful};
    std::optional<Nearby> nearby = corrections.ofNeighbours(all[index]);
    bool isKnown = nearby && nearby->isKnown;
    double ratio = isKnown ? nearby->ratio : corrections.ofFamily(all[index]);
    if (start && !isKnown && result.tried[*start].candidate.context == all[index].context)
      ratio = result.tried[*start].attempt.figures->seconds / seconds[indices[*start]];
    if (nearby)
      ratio = std::min(ratio, nearby->ratio);
    double guess = cost() * seconds[index] * ratio * penalties[index];
    return {guess, guess < best() * (isKnown ? known : start ? hopeful : likely)};
  }

  /// The best guess of each mesh of which none was found yet that fits.
  std::vector<size_t> bestOfMeshes() const {
    std::vector<size_t> found;
    std::set<Mesh> meshes;
    for (const Tried &tried : result.tried)
      if (tried.fits())
        meshes.insert(meshOf(tried.candidate));
    for (size_t index : order())
      if (found.size() < atOnce && meshes.insert(meshOf(all[index])).second)
        found.push_back(index);
    return found;
  }

  /// Candidates that differ in one setting from the best plan, or else from one of the next best with other meshes, and may be better by
  /// guess.
  std::vector<size_t> aroundTheBest() const {
    std::vector<size_t> fitting, found;
    for (size_t i = 0; i < result.tried.size(); ++i)
      if (result.tried[i].fits())
        fitting.push_back(i);
    std::stable_sort(fitting.begin(), fitting.end(),
                     [&](size_t a, size_t b) { return *goalOf(result.tried[a], options.goal) < *goalOf(result.tried[b], options.goal); });
    std::set<Mesh> meshes;
    std::map<size_t, double> nearGuess; // by what the plan takes that it is near to
    for (size_t start : fitting) {
      const Candidate &candidate = result.tried[start].candidate;
      if (meshes.size() >= starts || !found.empty())
        break;
      if (!meshes.insert(meshOf(candidate)).second)
        continue;
      for (size_t i = 0; i < all.size(); ++i)
        if (open(i) && distance(all[i], candidate) == 1) {
          if (NearGuess near = guessNearby(i, start); near.isHopeful)
            found.push_back(i), nearGuess[i] = near.goal;
        }
    }
    std::stable_sort(found.begin(), found.end(), [&](size_t a, size_t b) { return nearGuess[a] < nearGuess[b]; });
    return found;
  }

  /// Looks for the settings of the best plan of which no other value was compiled, and takes the best guess that differs in each alone.
  std::vector<size_t> unexplained() const {
    std::vector<size_t> found;
    if (result.best < 0)
      return found;
    const Candidate &winner = result.tried[static_cast<size_t>(result.best)].candidate;
    std::array<bool, settingCount> known{};
    auto settingOf = [&](const Candidate &other) {
      int setting = 0;
      while (setting + 1 < settingCount && same(winner, other, static_cast<Setting>(setting)))
        ++setting;
      return static_cast<size_t>(setting);
    };
    for (const Tried &tried : result.tried)
      if (distance(tried.candidate, winner) == 1)
        known[settingOf(tried.candidate)] = true;
    for (size_t i = 0; i < all.size(); ++i)
      if (!done[i] && distance(all[i], winner) == 1)
        found.push_back(i);
    byGuess(found);
    std::vector<size_t> one;
    for (size_t index : found)
      if (bool &there = known[settingOf(all[index])]; !there)
        there = true, one.push_back(index);
    return one;
  }

  /// Compiles for each setting of the best plan another value, and verifies the best plan, which was a draft so far.
  Status explainAndVerify() {
    left = options.explaining;
    for (;;) {
      std::vector<size_t> next = left > 0 ? unexplained() : std::vector<size_t>();
      int unverified = result.best < 0 || verified.count(result.best) ? -1 : result.best;
      if (next.empty() && unverified < 0)
        return {};
      TRY_STATUS(tryAll(next, unverified));
    }
  }

  /// A plan that does not pass is refused, and the best of the others takes its place.
  void keepVerified(int index, const Attempt &attempt) {
    verified.insert(index);
    if (attempt.figures)
      return;
    result.tried[static_cast<size_t>(index)].attempt = attempt;
    result.best = -1;
    for (size_t i = 0; i < result.tried.size(); ++i)
      if (std::optional<double> figure = goalOf(result.tried[i], options.goal); figure && *figure < best())
        result.best = static_cast<int>(i);
  }

  /// Choices on which it depends how far guesses of activations are off.
  static constexpr size_t kinds = 16;
  static size_t kindOf(const Candidate &c) {
    return (c.buffer > 0 ? 8 : 0) + (c.splitsBackward() ? 4 : 0) + (c.recomputes() ? 2 : 0) + (c.sequence ? 1 : 0);
  }

  /// Guesses all figures again: activations and times by those of compiled plans of the same kind.
  void guess() {
    std::array<Mean, kinds> memory;
    corrections = {};
    std::map<std::pair<std::string, std::string>, std::pair<int, int>> outcomes; // of a choice: how many were compiled, how many refused
    for (size_t i = 0; i < result.tried.size(); ++i) {
      const Tried &tried = result.tried[i];
      for (const auto &choice : choicesOf(tried.candidate))
        ++(tried.attempt.figures ? outcomes[choice].first : outcomes[choice].second);
      if (!tried.attempt.figures)
        continue;
      size_t index = indices[i];
      double rest = static_cast<double>(tried.attempt.figures->memory) - task.machine.reserved - bytes[index];
      if (activations[index] > 0)
        memory[kindOf(tried.candidate)].add(std::max(0.0, rest) / activations[index]);
      if (seconds[index] > 0)
        corrections.add(tried.candidate, tried.attempt.figures->seconds / seconds[index]);
    }
    Choices refused;
    for (const auto &[choice, counts] : outcomes)
      if (counts.first == 0 && counts.second >= 2)
        refused.push_back(choice);
    guesses.clear(), penalties.clear();
    for (size_t i = 0; i < all.size(); ++i) {
      const Candidate &one = all[i];
      double taken = bytes[i] + activations[i] * memory[kindOf(one)].value(one.splitsBackward() ? 2.2 : 0.9);
      double figure = byMemory() ? taken + task.machine.reserved : cost() * seconds[i] * corrections.ofFamily(one);
      // Candidates that probably do not fit, or are refused, come after the others.
      double over = task.machine.room > 0 && !byMemory() ? taken / rooms[i] : 0;
      double penalty = over > 1.03 ? 1e6 * over : 1;
      if (!refused.empty()) {
        Choices own = choicesOf(one);
        for (const auto &choice : refused)
          if (std::find(own.begin(), own.end(), choice) != own.end())
            penalty *= 1e9;
      }
      guesses.push_back(figure * penalty), penalties.push_back(penalty);
    }
  }

  /// Compiles drafts of the chosen candidates, and with all checks what was tried under the number `unverified`.
  Status tryAll(const std::vector<size_t> &chosen, int unverified = -1) {
    std::vector<Candidate> candidates;
    std::vector<size_t> taken;
    for (size_t index : chosen) {
      if (left <= 0)
        break;
      left -= effort(task, all[index]), sinceBest += effort(task, all[index]);
      done[index] = true;
      taken.push_back(index), candidates.push_back(all[index]);
    }
    size_t verifies = unverified >= 0; // first, since it takes longest
    if (verifies)
      candidates.insert(candidates.begin(), result.tried[static_cast<size_t>(unverified)].candidate);
    auto take = [&](size_t place, const Attempt &attempt) {
      if (place < verifies)
        return keepVerified(unverified, attempt);
      double before = best();
      result.tried.push_back({candidates[place], attempt, ""}), indices.push_back(taken[place - verifies]);
      if (std::optional<double> figure = goalOf(result.tried.back(), options.goal); figure && *figure < before)
        result.best = static_cast<int>(result.tried.size()) - 1, sinceBest = 0;
      if (options.judged)
        options.judged(result.tried.back());
    };
    Status status = tryCandidates(task, candidates, options.work, take, verifies);
    addVariants();
    guess();
    return status;
  }

  /// Guesses of time get worse, those of memory do not: what is left is not expected to be better than the best plan.
  bool hasStopped() const { return !byMemory() && result.best >= 0 && sinceBest >= patience; }
  bool byMemory() const { return options.goal == PlanGoal::Memory; }
  /// The factor from seconds to the figure that is made small.
  double cost() const { return options.goal == PlanGoal::Money ? task.machine.price * static_cast<double>(task.hosts) / 3600 : 1; }

  const PlanTask &task;
  const SearchOptions &options;
  std::vector<Candidate> all;
  std::vector<double> bytes, activations, rooms, seconds; ///< what sizes alone say of each
  std::vector<double> bounds, guesses, penalties;
  TimeCorrections corrections;
  std::vector<bool> hopeless, done;
  std::vector<size_t> indices; ///< of what was tried, in that order
  double left, sinceBest = 0;  ///< compilations that may still be spent; spent since the best plan was found
  std::set<int> verified;      ///< numbers of what was tried and has passed all checks, or not
  size_t varied = 0;
  int likened = -1; ///< the best plan for which `addVariants` was called
  SearchResult result;
};

} // namespace

std::string nameOf(const Tried &tried) { return nameOf(tried.candidate) + (tried.text.empty() ? "" : " (the run's own)"); }

std::string textOf(const PlanTask &task, const Tried &tried) { return tried.text.empty() ? textToKeep(task, tried.candidate) : tried.text; }

std::optional<double> goalOf(const Tried &tried, PlanGoal goal) {
  if (!tried.fits())
    return std::nullopt;
  const StepFigures &figures = *tried.attempt.figures;
  return goal == PlanGoal::Memory  ? static_cast<double>(figures.memory)
         : goal == PlanGoal::Money ? figures.dollars
                                   : std::optional(figures.seconds);
}

ModelOptions withText(ModelOptions options, std::string text) {
  options.model = "<search>/planned.npar"; // no file has such a folder, so imports are found elsewhere
  auto own = std::make_shared<const dsl::MemoryTexts>(std::map<std::string, std::string>{{options.model, std::move(text)}});
  options.texts =
      std::make_shared<const dsl::LayeredTexts>(std::vector<dsl::TextsPointer>{own, options.texts ? options.texts : dsl::installedTexts()});
  return options;
}

ModelOptions optionsFor(const PlanTask &task, const Candidate &candidate) {
  ModelOptions plan = withText(task.options, textOf(task, candidate));
  plan.plan = "planned", plan.train = "planned";
  plan.importFolder = models::folderOf(task.names.file);
  if (!plan.config && !plan.settings.empty())
    plan.config = "planned", plan.settings.clear();
  return plan;
}

Status tryCandidates(const PlanTask &task, const std::vector<Candidate> &candidates, const ParallelWork &work,
                     const std::function<void(size_t, const Attempt &)> &done, size_t verified) {
  std::vector<ModelOptions> plans;
  std::vector<size_t> order; // those that take longest first, so that no thread waits long for another one's last plan
  for (const Candidate &candidate : candidates)
    order.push_back(plans.size()), plans.push_back(optionsFor(task, candidate));
  std::stable_sort(order.begin() + static_cast<ptrdiff_t>(verified), order.end(),
                   [&](size_t a, size_t b) { return effort(task, candidates[a]) > effort(task, candidates[b]); });
  return tryPlans(plans, {task.machine, task.hosts, /*lanes=*/true, verified, order}, work, [&](size_t place, const Attempt &attempt) {
    done(place, attempt);
    return true;
  });
}

engine::Result<SearchResult> searchPlans(const PlanTask &task, const SearchOptions &options) { return Search(task, options).run(); }

} // namespace npar::planner
