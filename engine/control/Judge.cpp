// Finds the culprit of a failure from the knowledge of all processes.
#include "engine/control/Judge.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <set>

namespace npar::engine {

namespace {

using Standing = ProcessEvidence::Standing;

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", value);
  return text;
}

class Court {
public:
  explicit Court(const Evidence &evidence) : evidence(evidence) {
    for (uint32_t process = 0; process < evidence.processes.size(); ++process) {
      for (int64_t rank : evidence.processes[process].ranks)
        processOf.emplace(rank, process);
      if (const auto &state = evidence.processes[process].state)
        for (const RankState &rank : state->ranks)
          stateOf.emplace(rank.place.rank, &rank), processOf.emplace(rank.place.rank, process);
    }
    for (const auto &[rank, state] : stateOf)
      for (const Wait &wait : state->waits)
        for (int64_t missing : wait.missing)
          addEdge(rank, wait, missing);
  }

  FailureReport run() {
    report.speaker = evidence.speaker;
    for (uint32_t process = 0; process < evidence.processes.size(); ++process)
      if (Standing standing = evidence.processes[process].standing; standing == Standing::Silent || standing == Standing::Gone)
        report.lost.push_back(process);
    listWaiting();
    if (!evidence.gone.empty())
      blameGone();
    else if (const auto *cause = toldCause())
      blameTold(*cause);
    else if (!report.lost.empty())
      blameSilent();
    else if (!blameWrong(Joined::Done, Cause::Skipped) && !blameWrong(Joined::Posted, Cause::Lost) && !blameSlow())
      blameNobody();
    return std::move(report);
  }

private:
  struct Wrong {
    const Wait *wait = nullptr;
    std::set<int64_t> waiting;
  };

  void addEdge(int64_t rank, const Wait &wait, int64_t missing) {
    auto answer = evidence.answers.find({missing, wait.meeting});
    Joined joined = answer == evidence.answers.end() ? Joined::Unknown : answer->second;
    if (joined == Joined::Posted && holds(missing, wait.meeting))
      joined = Joined::NotYet;
    // One that waits in the same meeting for a third one has joined it: that one's part is what lacks.
    if (joined == Joined::Posted && waitOf(missing, wait.meeting))
      return;
    if (joined == Joined::Done || joined == Joined::Posted) {
      Wrong &wrong = wrongs[{joined, missing}];
      if (!wrong.wait || wait.meeting < wrong.wait->meeting)
        wrong.wait = &wait;
      wrong.waiting.insert(rank);
    } else {
      waitsFor.insert(rank);
      waitedBy[missing].insert(rank);
    }
  }

  const Wait *waitOf(int64_t rank, const MeetingPlace &meeting) const {
    auto state = stateOf.find(rank);
    if (state != stateOf.end())
      for (const Wait &wait : state->second->waits)
        if (wait.meeting == meeting && !wait.lost)
          return &wait;
    return nullptr;
  }

  /// Its process holds the rank's part back until an earlier operation has been posted.
  bool holds(int64_t rank, const MeetingPlace &meeting) const {
    const Wait *wait = waitOf(rank, meeting);
    return wait && wait->missing.empty() && !wait->lost;
  }

  /// Ranks that wait for this one, directly or through others.
  size_t dependants(int64_t rank) const {
    std::set<int64_t> seen;
    std::vector<int64_t> ahead = {rank};
    while (!ahead.empty()) {
      auto on = waitedBy.find(ahead.back());
      ahead.pop_back();
      if (on == waitedBy.end())
        continue;
      for (int64_t waiting : on->second)
        if (seen.insert(waiting).second)
          ahead.push_back(waiting);
    }
    return seen.size();
  }

  void blame(Cause cause, Code code, int64_t process, const Place &place, std::string message) {
    report.cause = cause, report.code = code, report.process = process, report.place = place, report.message = std::move(message);
    if (process >= 0)
      report.host = evidence.processes[static_cast<size_t>(process)].host;
  }

  /// The rank of a process that most others wait for, at its last reported place.
  Place placeIn(uint32_t process) const {
    const ProcessEvidence &one = evidence.processes[process];
    Place best;
    size_t most = 0;
    for (int64_t rank : one.ranks) {
      size_t count = dependants(rank);
      if (best.rank >= 0 && count <= most)
        continue;
      most = count;
      auto state = stateOf.find(rank);
      best = state == stateOf.end() ? Place() : state->second->place;
      best.rank = rank;
    }
    if (best.operation.empty() && one.state)
      best.operation = one.state->phase;
    return best;
  }

  std::string nameOf(uint32_t process) const {
    const ProcessEvidence &one = evidence.processes[process];
    std::string text = "process " + std::to_string(process) + " on host '" + one.host + "'";
    return one.pid > 0 ? text + " (pid " + std::to_string(one.pid) + ")" : text;
  }

  std::string nameOf(int64_t rank, int64_t process) const {
    return "rank " + std::to_string(rank) + (process >= 0 ? " of " + nameOf(static_cast<uint32_t>(process)) : "");
  }

  static std::string whatOf(const Place &place) {
    return "'" + place.operation + "'" + (place.source.empty() ? "" : " (" + place.source + ")") + " of " + describeStep(place) +
           ", micro-batch " + std::to_string(place.micro);
  }

  std::string holding(uint32_t process) const {
    const std::vector<int64_t> &ranks = evidence.processes[process].ranks;
    if (ranks.empty())
      return "";
    std::string text = ranks.size() == 1 ? ", which holds rank " : ", which holds ranks ";
    for (size_t i = 0; i < ranks.size() && i < 16; ++i)
      text += (i ? ", " : "") + std::to_string(ranks[i]);
    return text + (ranks.size() > 16 ? " and " + std::to_string(ranks.size() - 16) + " more," : ",");
  }

  /// ", last seen at task B0:1, 'all_reduce' (gpt2.npar:14:3) of training step 12".
  static std::string lastSeen(const Place &place) {
    std::string text;
    if (!place.task.empty())
      text += " task " + place.task;
    if (!place.operation.empty())
      text += (text.empty() ? " '" : ", '") + place.operation + "'";
    if (!place.source.empty())
      text += " (" + place.source + ")";
    if (place.trainingStep >= 0)
      text += " of " + describeStep(place);
    return text.empty() ? "" : ", last seen at" + text;
  }

  void blameGone() {
    uint32_t process = evidence.gone.front();
    Place place = placeIn(process);
    const std::string &why = evidence.processes[process].why;
    blame(Cause::Gone, Code::RunFailed, process, place,
          nameOf(process) + holding(process) + " ended without a message" + (why.empty() ? "" : " (" + why + ")") + lastSeen(place));
  }

  const std::pair<uint32_t, Told> *toldCause() const {
    const std::pair<uint32_t, Told> *first = nullptr;
    for (const auto &one : evidence.told) {
      if (one.second.code == Code::Timeout)
        continue;
      if (one.second.accused >= 0 || one.second.place.rank >= 0)
        return &one;
      if (!first)
        first = &one;
    }
    return first;
  }

  void blameTold(const std::pair<uint32_t, Told> &cause) {
    const auto &[process, told] = cause;
    Place place = told.place;
    int64_t culprit = process;
    if (told.accused >= 0 && told.accused != place.rank) {
      auto state = stateOf.find(told.accused);
      place = state == stateOf.end() ? Place() : state->second->place;
      place.rank = told.accused;
    }
    if (auto holder = processOf.find(told.accused); holder != processOf.end())
      culprit = holder->second;
    blame(Cause::Failed, told.code, culprit, place, told.text);
  }

  void blameSilent() {
    // The one that is waited for most; a whole host that is silent has lost its network, or is down.
    uint32_t process = report.lost.front();
    size_t most = 0;
    for (uint32_t one : report.lost)
      for (int64_t rank : evidence.processes[one].ranks)
        if (size_t count = dependants(rank); count > most)
          most = count, process = one;
    const ProcessEvidence &silent = evidence.processes[process];
    Place place = placeIn(process);
    bool wholeHost = true, severalOfHost = false, otherHosts = false;
    for (uint32_t one = 0; one < evidence.processes.size(); ++one) {
      bool same = evidence.processes[one].host == silent.host;
      wholeHost &= !same || evidence.processes[one].standing != Standing::Alive;
      severalOfHost |= same && one != process;
      otherHosts |= !same;
    }
    std::string message = nameOf(process) + holding(process) + " has not answered for " + seconds(silent.silentSeconds);
    if (wholeHost && severalOfHost && otherHosts)
      message += ", and neither has any other process of its host: the host or its network is down";
    else if (wholeHost && otherHosts)
      message += ": it is stopped, or its host or network is down";
    else
      message += ": it is stopped";
    blame(Cause::Silent, Code::Timeout, process, place, message + lastSeen(place));
  }

  /// Blames the rank whose answer about an operation is `joined` although others still wait for it there; of several, the rank that most
  /// others miss.
  bool blameWrong(Joined joined, Cause cause) {
    const Wrong *worst = nullptr;
    int64_t rank = -1;
    for (const auto &[key, wrong] : wrongs)
      if (key.first == joined && (!worst || wrong.waiting.size() > worst->waiting.size() ||
                                  (wrong.waiting.size() == worst->waiting.size() && wrong.wait->meeting < worst->wait->meeting)))
        worst = &wrong, rank = key.second;
    if (!worst)
      return false;
    Place place = worst->wait->place;
    place.rank = rank;
    auto holder = processOf.find(rank);
    int64_t process = holder == processOf.end() ? -1 : int64_t{holder->second};
    std::string where = nameOf(rank, process), what = whatOf(place);
    blame(cause, Code::Timeout, process, place,
          cause == Cause::Skipped ? where + " continued without joining " + what + ", where others wait for it"
                                  : where + " joined " + what + ", but its part did not reach the ranks that wait for it");
    return true;
  }

  /// Blames a rank that others wait for and that waits for none; of several the one with the most dependants, then the one with the least
  /// progress.
  bool blameSlow() {
    int64_t slowest = -1;
    std::tuple<size_t, int64_t> best{};
    for (const auto &[rank, waiting] : waitedBy) {
      if (waitsFor.count(rank))
        continue;
      auto state = stateOf.find(rank);
      int64_t step = state == stateOf.end() ? 0 : state->second->place.round;
      std::tuple<size_t, int64_t> weight = {dependants(rank), -step};
      if (slowest < 0 || weight > best)
        slowest = rank, best = weight;
    }
    if (slowest < 0)
      return blameLast();
    auto state = stateOf.find(slowest);
    if (state != stateOf.end())
      for (const Wait &wait : state->second->waits)
        if (wait.lost) {
          blameLost(slowest, wait.place);
          return true;
        }
    return blameRank(slowest);
  }

  /// Blames a rank that waits for no other, although one of its operations has begun and not ended.
  void blameLost(int64_t rank, const Place &place) {
    auto holder = processOf.find(rank);
    int64_t process = holder == processOf.end() ? -1 : int64_t{holder->second};
    blame(Cause::Lost, Code::Timeout, process, place,
          nameOf(rank, process) + " joined " + whatOf(place) + ", but its part was lost before it reached any rank");
  }

  bool blameRank(int64_t rank) {
    auto state = stateOf.find(rank);
    auto holder = processOf.find(rank);
    Place place = state == stateOf.end() ? Place() : state->second->place;
    place.rank = rank;
    int64_t process = holder == processOf.end() ? -1 : int64_t{holder->second};
    std::string where = nameOf(rank, process);
    bool inStep = state != stateOf.end() && state->second->inStep;
    std::string phase;
    if (process >= 0 && evidence.processes[static_cast<size_t>(process)].state)
      phase = evidence.processes[static_cast<size_t>(process)].state->phase;
    if (!inStep && !phase.empty())
      place.operation = phase, place.task.clear(), place.source.clear();
    blame(Cause::Slow, Code::Timeout, process, place,
          where + " waits for no other rank and is behind the others" +
              (inStep || phase.empty() ? lastSeen(place) : ": between training steps, " + phase));
    return true;
  }

  /// Nobody in a step waits for another: a process that others have left behind, by the step or by being in one still.
  bool blameLast() {
    int64_t last = -1;
    std::pair<int64_t, int> earliest{std::numeric_limits<int64_t>::max(), 0}, latest{-2, 0};
    for (const auto &[rank, state] : stateOf) {
      std::pair<int64_t, int> at{state->place.round, state->inStep ? 0 : 1};
      if (at < earliest)
        earliest = at, last = rank;
      latest = std::max(latest, at);
    }
    return last >= 0 && earliest < latest && blameRank(last);
  }

  void blameNobody() {
    std::string text;
    for (const auto &[process, told] : evidence.told)
      if (text.empty())
        text = told.text;
    blame(Cause::Unknown, Code::Timeout, -1, Place(), text.empty() ? "nothing moves, and no rank waits for another" : text);
  }

  void listWaiting() {
    constexpr size_t most = 64;
    for (const auto &[rank, state] : stateOf) {
      auto wait = std::find_if(state->waits.begin(), state->waits.end(), [](const Wait &one) { return !one.missing.empty(); });
      if (wait == state->waits.end())
        continue;
      if (report.waiting.size() == most) {
        ++report.moreWaiting;
        continue;
      }
      uint32_t process = processOf.at(rank);
      report.waiting.push_back({*wait, process, evidence.processes[process].host});
    }
  }

  const Evidence &evidence;
  std::map<int64_t, uint32_t> processOf;
  std::map<int64_t, const RankState *> stateOf;
  std::set<int64_t> waitsFor;                    ///< ranks that wait by right
  std::map<int64_t, std::set<int64_t>> waitedBy; ///< for each rank who waits for it by right
  std::map<std::pair<Joined, int64_t>, Wrong> wrongs;
  FailureReport report;
};

} // namespace

std::vector<Question> questionsAbout(const Evidence &evidence) {
  constexpr size_t most = 256;
  std::set<Question> questions;
  for (const ProcessEvidence &process : evidence.processes)
    if (process.state)
      for (const RankState &rank : process.state->ranks)
        for (const Wait &wait : rank.waits)
          for (int64_t missing : wait.missing)
            if (questions.size() < most)
              questions.insert({missing, wait.meeting});
  return {questions.begin(), questions.end()};
}

FailureReport judge(const Evidence &evidence) { return Court(evidence).run(); }

} // namespace npar::engine
