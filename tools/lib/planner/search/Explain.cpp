// Asks the questions: finds the two plans of each among what was simulated, and simulates those that are missing.
#include "tools/lib/planner/search/Explain.h"

#include "engine/readable/HumanUnits.h"
#include "engine/show/View.h"
#include "tools/lib/planner/search/CandidateEstimates.h"
#include "tools/lib/planner/search/EnumerateCandidates.h"
#include "tools/lib/verify/PlanFeature.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <set>
#include <sstream>

namespace npar::planner {

using readable::humanBytes;

namespace {

constexpr size_t ofEach = 2;  ///< plans with the nearest meshes, and as many best guesses, that are simulated for a side of a question
constexpr int mostRounds = 3; ///< about better plans that the questions found

using Has = std::function<bool(const Candidate &)>;

/// The lines of the plan block of `with` that the one of `without` lacks.
std::vector<std::string> wordsOf(const PlanTask &task, const Candidate &with, const Candidate &without) {
  auto linesOf = [&](const Candidate &candidate) {
    std::istringstream text(textOf(task, candidate));
    std::vector<std::string> lines;
    bool inPlan = false;
    for (std::string line; std::getline(text, line); inPlan = (inPlan || line.rfind("plan ", 0) == 0) && line != "}")
      if (size_t begin = line.find_first_not_of(' '); inPlan && begin != std::string::npos)
        lines.push_back(line.substr(begin));
    return lines;
  };
  std::vector<std::string> found, others = linesOf(without);
  for (const std::string &line : linesOf(with))
    if (std::find(others.begin(), others.end(), line) == others.end() && line != "}" && line != "split {")
      found.push_back(line);
  return found;
}

class Guide {
public:
  Guide(const PlanTask &task, const SearchOptions &options, const SearchResult &found)
      : task(task), options(options), all(candidatesFor(task, {})) {
    for (const Tried &tried : found.tried)
      keep(tried);
  }

  engine::Result<Explanation> run() {
    for (int round = 0; round < mostRounds && status.ok(); ++round) {
      size_t before = *best([](const Candidate &) { return true; });
      winner = pool[before].candidate;
      result.answers.clear();
      askAll();
      result.best = pool[before];
      if (best([](const Candidate &) { return true; }) == before)
        break;
    }
    if (!status.ok())
      return status;
    result.simulated =
        static_cast<size_t>(std::count_if(pool.begin(), pool.end(), [](const Tried &tried) { return tried.attempt.figures.has_value(); }));
    return std::move(result);
  }

private:
  void askAll() {
    const char *alone = winner.ranks() == 1 ? "No: there is one device" : nullptr;
    std::string noShare = fmt::format(
        "No: tensor parallelism has nothing to split, or no number of the {} devices of a host divides it ({} heads, {} hidden)",
        task.machine.ranks, task.heads, task.hidden);
    askOneDevice();
    askMesh(
        "tensor", "Is tensor parallelism worth it?", [](const Candidate &c) { return c.tp > 1; }, alone ? alone : noShare.c_str());
    askAcross();
    askMesh(
        "pipeline", "Is pipeline parallelism worth it?", [](const Candidate &c) { return c.pp > 1; },
        alone ? alone : "No: there are no blocks to make stages of, or their number is not divisible");
    for (int stage : {1, 2, 3})
      askZero(stage);
    askClause(
        "recompute", "Is recomputation worth it?", Setting::Recompute, [&](const Candidate &) { return task.blocks > 0; },
        "No: the model has no repeated blocks", [&](Candidate &c, bool with) { c.recompute = with ? everyBlock : RecomputedBlocks(); });
    bool sequences = verify::applies(*verify::findFeature("sequence"), task.names);
    askClause(
        "sequence", "Is sequence parallelism worth it?", Setting::Sequence,
        [&](const Candidate &c) {
          return sequences && c.tp > 1 && c.split.kind != SplitKind::Vocabulary && task.sequence % (c.tp * c.cp) == 0;
        },
        sequences ? "No: no plan here has the tensor parallelism that it needs"
                  : "No: the model has no sequence to split with tensor parallelism",
        [](Candidate &c, bool with) { c.sequence = with; });
    bool vocabulary = verify::applies(*verify::findFeature(splitFeature(SplitKind::Vocabulary)), task.names);
    auto sharesBatch = [&](const Candidate &c) { return task.batch % (c.dp * c.tp * c.micro) == 0; };
    askClause(
        "vocabulary", "Is it worth splitting the vocabulary alone, and the blocks' batch?", Setting::Split,
        [&](const Candidate &c) {
          return vocabulary && c.tp > 1 && !c.sequence && (c.split.kind == SplitKind::All || c.split.kind == SplitKind::Vocabulary) &&
                 sharesBatch(c);
        },
        vocabulary ? "No: no plan here has tensor parallelism and a batch that its ranks could share" : "No: the model has no vocabulary",
        [](Candidate &c, bool with) {
          c.split = {with ? SplitKind::Vocabulary : SplitKind::All, ""};
        });
    askMesh(
        "context", "Is context parallelism worth it?", [](const Candidate &c) { return c.cp > 1; },
        alone ? alone : "No: the model has no sequence that can be split this way");
    const char *noRows = "No: the model sends no rows to experts";
    bool routes = !task.experts.axis.empty();
    askMesh(
        "experts", "Is expert parallelism worth it?", [](const Candidate &c) { return c.ep > 1; },
        !routes ? noRows
        : alone ? alone
                : "No: no number of ranks with samples of their own divides the experts");
    askClause(
        "buffer", "Is a buffer for fewer rows of experts than the worst case worth it?", Setting::Buffer,
        [&](const Candidate &) { return routes; }, noRows,
        [&](Candidate &c, bool with) {
          if (!with)
            c.buffer = 0;
          else if (c.buffer == 0)
            c.buffer = buffersFor(task, c.ep)[1];
        });
    askSchedule(
        "interleaved", "Is an interleaved pipeline better than 1f1b?", [](const Candidate &c) { return scheduleWord(c) == "interleaved"; },
        "No: the blocks or the micro-batches cannot be divided this way");
    askSchedule(
        "zero_bubble", "Is a zero-bubble pipeline better than 1f1b?", [](const Candidate &c) { return c.splitsBackward(); },
        "No: there are too few blocks or micro-batches");
    askMicro();
    askClause(
        "bucket", "Are buckets of gradients worth it?", Setting::Bucket, [](const Candidate &c) { return c.dp * c.cp > 1; },
        "No: no plan here has gradients that ranks add up", [](Candidate &c, bool with) { c.bucket = with ? usualBucket : 0; });
  }

  void keep(const Tried &tried) {
    places.emplace(choicesOf(tried.candidate), pool.size());
    pool.push_back(tried);
  }

  /// Simulates those that were not yet.
  void simulate(const std::vector<Candidate> &candidates) {
    std::vector<Candidate> fresh;
    std::set<Choices> there;
    for (const Candidate &one : candidates)
      if (!places.count(choicesOf(one)) && there.insert(choicesOf(one)).second)
        fresh.push_back(one);
    if (status.ok() && !fresh.empty())
      status = tryCandidates(task, fresh, options.work, [&](size_t place, const Attempt &attempt) { keep({fresh[place], attempt, ""}); });
  }
  std::optional<Tried> find(const Candidate &candidate) const {
    auto place = places.find(choicesOf(candidate));
    return place == places.end() ? std::nullopt : std::optional(pool[place->second]);
  }

  /// The fastest that fits, else the smallest, else one that is refused.
  std::optional<size_t> best(const Has &has) const {
    auto key = [&](size_t index) {
      const Tried &tried = pool[index];
      const std::optional<StepFigures> &figures = tried.attempt.figures;
      return std::pair(tried.fits() ? 0
                       : figures    ? 1
                                    : 2,
                       tried.fits() ? figures->seconds
                       : figures    ? static_cast<double>(figures->memory)
                                    : 0.0);
    };
    std::optional<size_t> found;
    for (size_t i = 0; i < pool.size(); ++i)
      if (has(pool[i].candidate) && (!found || key(i) < key(*found)))
        found = i;
    return found;
  }
  std::optional<Tried> bestPlan(const Has &has) const {
    std::optional<size_t> found = best(has);
    return found ? std::optional(pool[*found]) : std::nullopt;
  }

  /// The best plan where it has what is needed, else the best that has it.
  std::optional<Candidate> baseWith(const Has &has) const {
    if (has(winner))
      return winner;
    std::optional<Tried> found = bestPlan(has);
    return found && found->attempt.figures ? std::optional(found->candidate) : std::nullopt;
  }

  /// Candidates with the fewest other settings changed: those whose meshes are nearest, and the best guesses. Those that probably do not
  /// fit come last.
  std::vector<Candidate> nearest(const std::vector<Candidate> &among, const Has &has, const Candidate &base,
                                 int farthest = settingCount) const {
    struct Near {
      Candidate candidate;
      std::array<double, 4> byMesh, byGuess;
    };
    std::vector<Near> found;
    for (const Candidate &one : among)
      if (has(one)) {
        Candidate like = likewise(task, {}, one, base);
        cost::StepEstimate estimate = estimateOf(task, like);
        double away = distance(like, base), steps = meshSteps(like, base), guess = estimate.seconds();
        bool large =
            task.machine.room > 0 && estimate.leastBytes() + estimate.activationBytes() > task.machine.room * (1 - task.machine.fragments);
        if (away <= farthest)
          found.push_back({like, {large ? 1.0 : 0.0, away, steps, guess}, {large ? 1.0 : 0.0, away, guess, steps}});
      }
    std::vector<Candidate> candidates;
    for (std::array<double, 4> Near::*order : {&Near::byMesh, &Near::byGuess}) {
      std::stable_sort(found.begin(), found.end(), [&](const Near &a, const Near &b) { return a.*order < b.*order; });
      for (size_t i = 0; i < std::min(ofEach, found.size()); ++i)
        candidates.push_back(found[i].candidate);
    }
    return candidates;
  }

  void answer(Answer one, Setting setting, const std::string &none) {
    decide(one, setting, none);
    if (one.with && one.without)
      one.words = wordsOf(task, one.with->candidate, one.without->candidate);
    result.answers.push_back(std::move(one));
  }

  /// The best plans with and without a kind of parallelism; the rest of a plan follows its mesh.
  void askMesh(const char *key, const char *question, const Has &has, const char *none) {
    bool own = has(winner);
    Has other = [&](const Candidate &c) { return has(c) != own; };
    std::vector<Candidate> candidates = nearest(all, other, winner);
    if (candidates.empty() && std::string(key) == "context") // shares that are too short to be searched
      candidates = nearest(candidatesFor(task, {{"mesh.cp", "2"}}), other, winner);
    simulate(candidates);
    Answer one{key, question, false, "", {}, {}, find(winner), bestPlan(other)};
    if (!own)
      std::swap(one.with, one.without);
    answer(one, Setting::Mesh, none);
  }

  /// The same plan with a clause and without it.
  void askClause(const std::string &key, const std::string &question, Setting setting, const Has &can, const char *none,
                 const std::function<void(Candidate &, bool)> &change) {
    Answer one{key, question, false, "", {}, {}, {}, {}};
    if (std::optional<Candidate> base = baseWith(can)) {
      Candidate with = *base, without = *base;
      change(with, true), change(without, false);
      simulate({with, without});
      one.with = find(with), one.without = find(without);
    }
    answer(one, setting, none);
  }

  /// Compares a stage of ZeRO with the best of the lower ones; nothing else differs.
  void askZero(int stage) {
    Answer one{fmt::format("zero{}", stage),
               fmt::format("Is ZeRO {} worth it{}?", stage, stage > 1 ? " compared with lower stages" : ""),
               false,
               "",
               {},
               {},
               {},
               {}};
    if (std::optional<Candidate> base = baseWith([](const Candidate &c) { return c.dp > 1; })) {
      std::vector<Candidate> stages(static_cast<size_t>(stage) + 1, *base);
      for (size_t i = 0; i < stages.size(); ++i)
        stages[i].zero = static_cast<int>(i);
      simulate(stages);
      one.with = find(stages.back());
      stages.pop_back();
      one.without = bestPlan([&](const Candidate &c) {
        return std::any_of(stages.begin(), stages.end(), [&](const Candidate &lower) { return choicesOf(lower) == choicesOf(c); });
      });
    }
    answer(one, Setting::Zero, "No: no plan here has data parallelism");
  }

  void askAcross() {
    askClause(
        "tensor_across", "Is tensor parallelism worth it across hosts?", Setting::Place,
        [&](const Candidate &c) { return task.hosts > 1 && c.tp > 1; },
        task.hosts > 1 ? "No: no plan here has tensor parallelism" : "No: there is one host",
        [](Candidate &c, bool with) {
          if (with || c.place == PlaceOrder::TensorApart)
            c.place = with ? PlaceOrder::TensorApart : PlaceOrder::Mesh;
        });
  }

  /// Compares schedules with 1f1b in the best plan that has a pipeline.
  void askSchedule(const char *key, const char *question, const Has &has, const char *none) {
    Answer one{key, question, false, "", {}, {}, {}, {}};
    std::optional<Candidate> base = baseWith([](const Candidate &c) { return c.pp > 1; });
    if (base) {
      Candidate plain = *base;
      plain.schedule = schedules::findSchedule("1f1b"), plain.chunks = 1, plain.live = 0;
      Has alike = [&](const Candidate &c) { return has(c) && same(c, plain, Setting::Mesh); };
      std::vector<Candidate> others = nearest(all, alike, plain, 1);
      if (others.empty()) // recomputation does not go with all schedules, nor every number of micro-batches
        others = nearest(all, alike, plain, 2);
      if (has(*base))
        others.push_back(*base);
      others.push_back(plain);
      simulate(others);
      others.pop_back();
      one.without = find(plain);
      one.with = bestPlan([&](const Candidate &c) {
        return std::any_of(others.begin(), others.end(), [&](const Candidate &other) { return choicesOf(other) == choicesOf(c); });
      });
    }
    answer(one, Setting::Schedule, base ? none : "No: no plan here has a pipeline");
  }

  void askMicro() {
    Answer one{"micro", "Are micro-batches of more than one sequence worth it?", false, "", {}, {}, {}, {}};
    Has larger = [](const Candidate &c) { return c.micro > 1; };
    Candidate single = winner;
    single.micro = 1;
    std::vector<Candidate> others = larger(winner) ? std::vector<Candidate>{winner} : nearest(all, larger, winner, 1);
    others.push_back(single);
    simulate(others);
    one.without = find(single);
    one.with = larger(winner) ? find(winner) : bestPlan([&](const Candidate &c) { return larger(c) && distance(c, single) == 1; });
    answer(one, Setting::Micro, "No: a rank has one sequence, or their number is not divisible");
  }

  /// Tries one device as it is and with recomputation; if neither fits, looks for the least sharing by data parallelism that does.
  void askOneDevice() {
    Answer one{"one_device", "", false, "", {}, {}, {}, {}};
    PlanTask alone = task;
    alone.machine.ranks = 1, alone.hosts = 1;
    alone.batch = std::max<int64_t>(1, task.batch / winner.ranks());
    one.question =
        fmt::format("Does it fit on one device, with its share of {} sequence{} a step?", alone.batch, alone.batch == 1 ? "" : "s");
    Candidate plain, again;
    again.recompute = everyBlock;
    std::vector<Candidate> pair = {plain};
    if (task.blocks > 0)
      pair.push_back(again);
    if (onOne.empty() && status.ok())
      status = tryCandidates(alone, pair, options.work, [&](size_t place, const Attempt &attempt) {
        onOne.push_back({pair[place], attempt, ""});
      });
    if (!status.ok() || onOne.empty())
      return;
    const Tried &least = onOne.back();
    auto taken = [](const Tried &tried) {
      return tried.attempt.figures ? humanBytes(static_cast<double>(tried.attempt.figures->memory)) : "is refused: " + tried.attempt.reason;
    };
    std::string room = least.attempt.figures && least.attempt.figures->room ? " of " + humanBytes(*least.attempt.figures->room) : "";
    if (onOne.front().fits()) {
      one.yes = true, one.without = onOne.front();
      if (onOne.size() > 1)
        one.with = least;
      one.sentence = fmt::format("Yes: it takes {}{} as it is", taken(onOne.front()), room);
      if (one.with)
        one.sentence += fmt::format(" and {} with recomputation", taken(least));
    } else if (least.fits()) {
      one.yes = true, one.with = least, one.without = onOne.front();
      one.sentence = fmt::format("Yes, with recomputation: it takes {}{}, without {}", taken(least), room, taken(onOne.front()));
    } else {
      one.without = least, one.with = shared();
      one.sentence = fmt::format("No: with {} it takes {}{}", task.blocks > 0 ? "recomputation" : "nothing else", taken(least), room);
      if (one.with && one.with->fits())
        one.sentence += fmt::format("; the least that makes it fit on {} devices is {}, at {}", winner.ranks(), nameOf(one.with->candidate),
                                    taken(*one.with));
    }
    if (one.with && one.with->candidate.ranks() == 1 && one.with->attempt.figures)
      one.words = wordsOf(alone, one.with->candidate, plain);
    else if (one.with)
      one.words = wordsOf(task, one.with->candidate, plain);
    result.answers.push_back(std::move(one));
  }

  /// The first plan that fits: ZeRO 1, then 3, each without recomputation and with it, then shares of the sequence, then the best plan.
  std::optional<Tried> shared() {
    auto fits = [&](const std::vector<Candidate> &candidates) -> std::optional<Tried> {
      simulate(candidates);
      for (const Candidate &one : candidates)
        if (std::optional<Tried> tried = find(one); tried && tried->fits())
          return tried;
      return std::nullopt;
    };
    double room = task.machine.room * (1 - task.machine.fragments);
    std::vector<Candidate> whole;
    for (int zero : {1, 3})
      for (RecomputedBlocks recompute : {RecomputedBlocks(), everyBlock})
        if (task.batch % winner.ranks() == 0 && winner.ranks() > 1 && (recompute == RecomputedBlocks() || task.blocks > 0)) {
          Candidate one;
          one.dp = winner.ranks(), one.zero = zero, one.recompute = recompute;
          if (task.machine.room <= 0 || estimateOf(task, one).leastBytes() < room)
            whole.push_back(one);
        }
    if (std::optional<Tried> found = fits(whole))
      return found;
    if (std::optional<Tried> found = fits(nearest(
            all, [](const Candidate &c) { return c.cp > 1 && c.tp * c.pp == 1; }, winner)))
      return found;
    return find(winner);
  }

  const PlanTask &task;
  const SearchOptions &options;
  std::vector<Candidate> all;
  std::vector<Tried> pool; ///< all that was tried
  std::map<Choices, size_t> places;
  std::vector<Tried> onOne; ///< plans of one device
  Candidate winner;
  Explanation result;
  engine::Status status; ///< the first error: no other plan is simulated after it
};

} // namespace

engine::Result<Explanation> explainPlans(const PlanTask &task, const SearchOptions &options, const SearchResult &found) {
  return Guide(task, options, found).run();
}

} // namespace npar::planner
