// Enumerates candidates.
#include "tools/lib/planner/search/EnumerateCandidates.h"

#include "compiler/schedules/Schedule.h"
#include "dsl/machine/Hosts.h"
#include "tools/lib/planner/search/CandidateEstimates.h"
#include "tools/lib/planner/search/PlanForProgram.h"
#include "tools/lib/verify/PlanFeature.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace npar::planner {

namespace {

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t one = 1; one <= number; ++one)
    if (number % one == 0)
      divisors.push_back(one);
  return divisors;
}

constexpr std::array allContexts = {Context::Zigzag, Context::Ring, Context::Gather, Context::Ulysses};

/// The splits that plans for the task can have, the usual ones first.
std::vector<Split> splitsFor(const PlanTask &task) {
  std::vector<Split> splits;
  for (SplitKind kind : {SplitKind::All, SplitKind::Blocks, SplitKind::FeedForward, SplitKind::Attention, SplitKind::Vocabulary})
    splits.push_back({kind, ""});
  for (const OwnAxis &own : task.ownAxes)
    splits.push_back({SplitKind::OwnAxis, own.name});
  return splits;
}

struct ScheduleChoice {
  const schedules::ScheduleKind *kind = nullptr;
  int64_t chunks = 1, live = 0;
};

/// Schedules with their chunks and limits for a pipeline of `stages`.
std::vector<ScheduleChoice> schedulesFor(const PlanTask &task, int64_t stages, int64_t micros) {
  if (stages == 1)
    return {{}};
  std::vector<ScheduleChoice> found;
  for (const schedules::ScheduleKind &kind : schedules::scheduleKinds()) {
    if (kind.worth == schedules::Worth::Never || micros < kind.microsPerStage * stages)
      continue;
    if (kind.anyChunks && !kind.keepsCap) {
      for (int64_t chunks : {2, 3, 4, 5, 6, 7, 8}) // uneven stages have unequal chunks anyway
        if (int64_t parts = stages * chunks;
            micros % stages == 0 && (dsl::isUneven(task.machine) ? task.blocks >= parts : task.blocks % parts == 0))
          found.push_back({&kind, chunks, 0});
      continue;
    }
    if (stages * std::max(1, kind.chunks) > task.blocks)
      continue;
    if (kind.worth == schedules::Worth::Always)
      found.push_back({&kind, std::max(1, kind.chunks), 0});
    std::vector<int64_t> limits;
    if (kind.keepsCap)
      limits = {(stages + 1) / 2, (3 * stages + 3) / 4, stages, (5 * stages + 3) / 4, (3 * stages + 1) / 2};
    limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
    for (int64_t live : limits)
      if (kind.worth == schedules::Worth::Always || live <= stages)
        found.push_back({&kind, std::max(1, kind.chunks), live});
  }
  return found;
}

const std::string *find(const Choices &choices, const std::string &key) {
  for (const auto &[name, value] : choices)
    if (name == key)
      return &value;
  return nullptr;
}

std::string valueOf(const Choices &choices, const std::string &key) {
  const std::string *value = find(choices, key);
  return value ? *value : "";
}

} // namespace

std::vector<double> buffersFor(const PlanTask &task, int64_t ep) {
  std::vector<double> buffers = {0};
  for (int64_t rounds = 2; !task.experts.axis.empty() && rounds <= 16; rounds *= 2)
    buffers.push_back(std::ceil(task.experts.worstLoad(ep) / static_cast<double>(rounds) * 100) / 100);
  return buffers;
}

bool placesApart(const PlanTask &task, const Candidate &one) {
  int64_t onHost = static_cast<int64_t>(task.machine.ranks), inside = one.cp * one.tp;
  bool others = inside < onHost || (dsl::isUneven(task.machine) && inside == onHost); // on equal hosts it matters which ranks share one
  return task.hosts > 1 && one.dp > 1 && one.pp > 1 && others && onHost % inside == 0;
}

namespace {

class Enumeration {
public:
  Enumeration(const PlanTask &task, const Choices &fixes) : task(task), fixes(fixes), allSplits(splitsFor(task)) {
    auto has = [&](const char *feature) { return verify::applies(*verify::findFeature(feature), task.names); };
    tensor = has("tp"), sequences = has("sequence"), contexts = has("ring");
    for (SplitKind kind : {SplitKind::All, SplitKind::Blocks, SplitKind::FeedForward, SplitKind::Attention, SplitKind::Vocabulary})
      if (verify::applies(*verify::findFeature(splitFeature(kind)), task.names))
        splitKinds.insert(kind);
  }

  std::vector<Candidate> run() {
    int64_t onHost = static_cast<int64_t>(task.machine.ranks), ranks = task.ranks();
    for (int64_t tp : divisorsOf(onHost))
      if (may("mesh.tp", tp) && dividesTensor(tp))
        for (int64_t cp : divisorsOf(ranks / tp))
          if (may("mesh.cp", cp) && dividesContext(cp, tp))
            for (int64_t pp : divisorsOf(ranks / tp / cp))
              if (may("mesh.pp", pp) && (pp == 1 || pp <= task.blocks))
                meshOf(ranks / tp / cp / pp, pp, cp, tp);
    return std::move(found);
  }

  /// Tells whether the clauses make sense for these sizes and agree with the fixed choices.
  bool keeps(const Candidate &one) const {
    bool ulysses = one.context != Context::Ulysses || task.heads % (one.cp * one.tp) == 0;
    // A backward in two tasks keeps what was computed again until the second: nothing is won.
    bool recompute = !one.recomputes() || (task.blocks > 0 && (!one.splitsBackward() || find(fixes, "recompute")));
    bool pairs = one.recompute != everySecond || task.blocks >= 2 * one.pp * one.chunks;
    bool sequence = !one.sequence || (one.tp > 1 && sequences && task.sequence % (one.tp * one.cp) == 0);
    bool place = one.place == PlaceOrder::Mesh || placesApart(task, one), bucket = one.bucket == 0 || one.dp * one.cp > 1;
    bool buffer = one.buffer == 0 || task.experts.rounds(one.ep, one.buffer) > 1,
         order = one.context != Context::Zigzag || !task.countsPositions;
    return hasWordsFor(task, one) && splits(one) && (one.cp > 1) == (one.context != Context::None) && ulysses && recompute && pairs &&
           (one.zero == 0 || one.dp > 1) && sequence && place && bucket && buffer && order && may("context", wordOf(one.context)) &&
           may("recompute", wordOf(one.recompute)) && may("zero", one.zero) && may("sequence", one.sequence) &&
           may("split", wordOf(one.split)) && may("place", wordOf(one.place)) && may("bucket", bucketWord(one.bucket)) &&
           may("buffer", bufferWord(one.buffer));
  }

private:
  template <typename Value> bool may(const char *key, const Value &value) const {
    const std::string *fixed = find(fixes, key);
    return !fixed || isSameValue(*fixed, fmt::format("{}", value));
  }
  bool dividesTensor(int64_t tp) const {
    Candidate one;
    one.tp = tp;
    return tp == 1 || std::any_of(allSplits.begin(), allSplits.end(), [&](const Split &split) {
             one.split = split;
             return may("split", wordOf(split)) && splitsAxes(one);
           });
  }
  /// Tells whether tp divides the axes that it splits; a missing axis has size 0.
  bool splitsAxes(const Candidate &one) const {
    SplitKind kind = one.split.kind;
    if (kind == SplitKind::OwnAxis) {
      const OwnAxis *own = task.ownAxis(one.split.axis);
      return own && own->size % one.tp == 0 && std::all_of(own->others.begin(), own->others.end(), [&](const std::string &other) {
               return other == "vocab" || (other == "head" ? task.heads : task.hidden) % one.tp == 0;
             });
    }
    bool heads = kind == SplitKind::Vocabulary || kind == SplitKind::FeedForward || task.heads % one.tp == 0;
    bool hidden = kind == SplitKind::Vocabulary || kind == SplitKind::Attention || task.hidden % one.tp == 0;
    return tensor && heads && hidden && splitKinds.count(kind) > 0;
  }
  /// Likewise the batch where that is what it splits.
  bool splits(const Candidate &one) const {
    if (task.batch % (one.batchShares() * one.micro) != 0)
      return false;
    if (one.tp == 1)
      return one.split == Split();
    bool shares = !one.splitsLayersAlone() || one.micro % one.tp == 0;
    return splitsAxes(one) && shares && !(one.sequence && one.split.kind == SplitKind::Vocabulary);
  }
  /// The shares of a short sequence are not worth their messages; who fixes mesh.cp gets what he asks for.
  bool dividesContext(int64_t cp, int64_t tp) const {
    return cp == 1 || (contexts && task.sequence % (2 * cp * tp) == 0 && (task.sequence / cp >= 1024 || find(fixes, "mesh.cp")));
  }

  void meshOf(int64_t dp, int64_t pp, int64_t cp, int64_t tp) {
    if (task.batch % dp != 0)
      return;
    for (int64_t ep : divisorsOf(dp))
      if (may("mesh.dp", dp / ep) && may("mesh.ep", ep) && (ep == 1 || (!task.experts.axis.empty() && task.experts.count % ep == 0)))
        microsOf(dp, pp, ep, cp, tp);
  }

  void microsOf(int64_t dp, int64_t pp, int64_t ep, int64_t cp, int64_t tp) {
    for (int64_t micro : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) {
      Candidate one;
      one.dp = dp, one.pp = pp, one.ep = ep, one.cp = cp, one.tp = tp, one.micro = micro;
      bool first = true;
      for (const Split &split : allSplits) {
        one.split = split;
        if (!may("micro", micro) || !may("split", wordOf(split)) || !splits(one) || !(first || split.kind == SplitKind::Vocabulary))
          continue; // those between are variants: near to the first one in time and memory
        first = false;
        schedulesOf(one);
      }
    }
  }

  void schedulesOf(Candidate one) {
    for (const ScheduleChoice &schedule : schedulesFor(task, one.pp, task.batch / (one.batchShares() * one.micro))) {
      one.schedule = schedule.kind, one.chunks = schedule.chunks, one.live = schedule.live;
      if (may("schedule", scheduleWord(one)) && may("chunks", one.chunks) && may("live", one.live ? std::to_string(one.live) : "none"))
        clausesOf(one);
    }
  }

  void clausesOf(Candidate one) {
    if (one.cp > 1)
      one.context = contextOf();
    if (one.dp * one.cp > 1 && (may("bucket", bucketWord(usualBucket)) || !may("bucket", bucketWord(0))))
      one.bucket = usualBucket;
    for (RecomputedBlocks recompute : {RecomputedBlocks(), everyBlock, everySecond})
      for (int zero : {0, 1, 3})
        for (bool sequence : {false, true}) {
          one.recompute = recompute, one.zero = zero, one.sequence = sequence, one.place = PlaceOrder::Mesh;
          bool plain = recompute != everySecond || find(fixes, "recompute"); // otherwise a variant
          if (Candidate other = one;
              other.place = PlaceOrder::StagesApart, keeps(other) && estimateOf(task, other).seconds() < estimateOf(task, one).seconds())
            one = other;
          else if (!keeps(one))
            one = other;
          std::vector<double> buffers = buffersFor(task, one.ep);
          if (!find(fixes, "buffer")) // the smaller ones are variants
            buffers.resize(std::min<size_t>(2, buffers.size()));
          for (double buffer : buffers)
            if (one.buffer = buffer; plain && keeps(one))
              found.push_back(one);
          one.buffer = 0;
        }
  }

  Context contextOf() const {
    auto kept = std::find_if(allContexts.begin(), allContexts.end(), [&](Context context) {
      return may("context", wordOf(context)) && (context != Context::Zigzag || !task.countsPositions);
    });
    return kept == allContexts.end() ? allContexts.front() : *kept;
  }

  const PlanTask &task;
  const Choices &fixes;
  std::vector<Split> allSplits;
  std::set<SplitKind> splitKinds; ///< that the model has axes and layers for; not OwnAxis
  bool tensor = false, sequences = false, contexts = false;
  std::vector<Candidate> found;
};

} // namespace

std::vector<Candidate> candidatesFor(const PlanTask &task, const Choices &fixes) { return Enumeration(task, fixes).run(); }

std::vector<Candidate> variantsOf(const PlanTask &task, const Choices &fixes, const Candidate &candidate) {
  Enumeration enumeration(task, fixes);
  std::vector<Candidate> found;
  auto add = [&](auto clause, auto value) {
    Candidate other = candidate;
    other.*clause = value;
    if (candidate.*clause != value && enumeration.keeps(other))
      found.push_back(other);
  };
  for (Context context : allContexts)
    add(&Candidate::context, context);
  for (const Split &split : splitsFor(task))
    add(&Candidate::split, split);
  add(&Candidate::recompute, everySecond);
  for (PlaceOrder place : {PlaceOrder::Mesh, PlaceOrder::StagesApart})
    add(&Candidate::place, place);
  for (int64_t bucket : {int64_t(0), usualBucket})
    add(&Candidate::bucket, bucket);
  for (double buffer : buffersFor(task, candidate.ep))
    add(&Candidate::buffer, buffer);
  return found;
}

Candidate likewise(const PlanTask &task, const Choices &fixes, Candidate candidate, const Candidate &other) {
  Enumeration enumeration(task, fixes);
  auto take = [&](auto clause) {
    Candidate changed = candidate;
    changed.*clause = other.*clause;
    if (enumeration.keeps(changed))
      candidate = changed;
  };
  take(&Candidate::place), take(&Candidate::bucket), take(&Candidate::context), take(&Candidate::split), take(&Candidate::buffer);
  return candidate;
}

std::string wrongFix(const PlanTask &task, const Choices &fixes) {
  for (const auto &[key, value] : fixes) {
    if (!candidatesFor(task, {{key, value}}).empty())
      continue;
    std::vector<std::string> values;
    auto add = [&, &name = key](const Candidate &one) {
      if (const std::string own = valueOf(choicesOf(one), name); std::find(values.begin(), values.end(), own) == values.end())
        values.push_back(own);
    };
    for (const Candidate &one : candidatesFor(task, {})) {
      add(one);
      if (key == "context" || key == "place" || key == "bucket" || key == "recompute" || key == "split" || key == "buffer")
        for (const Candidate &other : variantsOf(task, {}, one))
          add(other);
    }
    if (values.empty())
      return "";
    bool numbers = std::all_of(values.begin(), values.end(),
                               [](const std::string &own) { return own.find_first_not_of("0123456789") == std::string::npos; });
    std::sort(values.begin(), values.end(),
              [&](const std::string &a, const std::string &b) { return numbers ? std::stoll(a) < std::stoll(b) : a < b; });
    int64_t ranks = task.ranks();
    return fmt::format("--fix '{} = {}' leaves no plan of {} rank{}: '{}' is one of {}", key, value, ranks, ranks == 1 ? "" : "s", key,
                       fmt::join(values, ", "));
  }
  return "";
}

} // namespace npar::planner
