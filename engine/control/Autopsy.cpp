// Finds in the flight records of a job where its ranks diverged first.
#include "engine/control/Autopsy.h"

#include "engine/control/Judge.h"
#include "engine/json/Json.h"
#include "engine/logging/Json.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>

namespace npar::engine {

namespace {

/// Beats come twice a second at least: who is silent for longer than others is not there any more.
constexpr double aliveDifference = 1.5; // seconds
constexpr uint32_t mostProcesses = 1 << 16;

/// The last step (MeetingPlace::round) in which a rank began an operation, and whether it ended.
struct Progress {
  int64_t round = -1;
  bool ended = false;
  uint64_t number = 0; ///< number of the event
};

struct RankRecord {
  const FlightLog *log = nullptr;
  const FlightRank *rank = nullptr;
  std::map<uint32_t, Progress> nodes;      ///< progress of the nodes that communicate
  std::map<MeetingPlace, uint32_t> nodeOf; ///< by meeting, without the step
  int64_t round = -1, trainingStep = -1;   ///< both numbers of the last step
  bool evaluates = false;                  ///< the last step belongs to an evaluation
  int64_t clock = 0;                       ///< time of the last event
  uint32_t last = noFlightNode;            ///< the node begun last
  bool inStep = false;
};

std::string dayTime(int64_t nanoseconds) {
  auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[48];
  std::snprintf(text, sizeof(text), "%02d:%02d:%02d.%03d", parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(nanoseconds / 1'000'000 % 1000));
  return text;
}

/// Seconds between two clocks, which a damaged record may have anywhere.
double secondsBetween(int64_t earlier, int64_t later) { return (static_cast<double>(later) - static_cast<double>(earlier)) / 1e9; }

/// Returns false for deeply nested JSON, which the printer would recurse into; a verdict has few levels.
bool isShallow(const std::string &json) {
  int depth = 0;
  for (char c : json) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (depth > 100)
      return false;
  }
  return true;
}

class Reader {
public:
  explicit Reader(const std::vector<FlightLog> &logs) : logs(logs) {
    for (const FlightLog &log : logs)
      for (const FlightRank &rank : log.ranks)
        follow(log, rank);
  }

  AutopsyReport run() {
    AutopsyReport report;
    for (const FlightLog &log : logs)
      if (report.verdict.empty() && isShallow(log.verdict) && Json::accept(log.verdict))
        report.verdict = log.verdict;
    Evidence evidence = collect();
    bool allEnded = std::all_of(logs.begin(), logs.end(), [](const FlightLog &log) { return log.ended; });
    report.failure = judge(evidence);
    report.diverged = !allEnded && report.failure.cause != Cause::Unknown;
    word(report);
    return report;
  }

private:
  static MeetingPlace meetingOf(const FlightLog &log, const FlightNode &node, int64_t round) {
    const std::vector<int64_t> &members = log.groups[node.group()];
    return {round, node.kind() != FlightNodeKind::Collective, node.event(), node.micro(), members.front(), members.back(), node.session()};
  }

  void follow(const FlightLog &log, const FlightRank &rank) {
    RankRecord &record = records[rank.rank];
    record = RankRecord();
    record.log = &log, record.rank = &rank;
    for (uint32_t node = 0; node < rank.nodes.size(); ++node)
      if (rank.nodes[node].kind() != FlightNodeKind::Compute)
        record.nodeOf.emplace(meetingOf(log, rank.nodes[node], -1), node);
    for (const FlightMoment &moment : rank.moments) {
      record.clock = moment.clock;
      if (moment.round >= record.round)
        record.round = moment.round, record.trainingStep = moment.trainingStep, record.evaluates = moment.evaluates;
      if (moment.event == FlightEvent::StepBegan || moment.event == FlightEvent::StepEnded)
        record.inStep = moment.event == FlightEvent::StepBegan;
      if (moment.node == noFlightNode)
        continue;
      if (moment.event == FlightEvent::Began)
        record.last = moment.node;
      if (rank.nodes[moment.node].kind() != FlightNodeKind::Compute)
        record.nodes[moment.node] = {moment.round, moment.event == FlightEvent::Ended, moment.number};
    }
  }

  Place placeOf(const RankRecord &record, uint32_t index) const {
    Place place;
    place.rank = record.rank->rank, place.trainingStep = record.trainingStep;
    place.round = record.round, place.evaluates = record.evaluates;
    if (index == noFlightNode)
      return place;
    const FlightNode &node = record.rank->nodes[index];
    const std::vector<std::string> &names = record.log->names;
    place.micro = node.micro();
    place.task = names[node.task()], place.operation = names[node.operation()], place.source = names[node.source()];
    return place;
  }

  Joined joined(int64_t rank, const MeetingPlace &meeting) const {
    auto record = records.find(rank);
    if (record == records.end())
      return Joined::Unknown;
    MeetingPlace key = meeting;
    key.round = -1;
    auto node = record->second.nodeOf.find(key);
    if (node == record->second.nodeOf.end())
      return Joined::Unknown;
    auto progress = record->second.nodes.find(node->second);
    if (progress != record->second.nodes.end() && progress->second.round == meeting.round)
      return progress->second.ended ? Joined::Done : Joined::Posted;
    if (record->second.round > meeting.round)
      return Joined::Done;
    // Events of this step that are gone may have held it.
    const std::vector<FlightMoment> &moments = record->second.rank->moments;
    bool wholeStep = record->second.rank->earlier == 0 || (!moments.empty() && moments.front().round < meeting.round);
    return wholeStep || record->second.round < meeting.round ? Joined::NotYet : Joined::Unknown;
  }

  RankState stateOf(const RankRecord &record, Evidence &evidence) const {
    RankState state;
    state.place = placeOf(record, record.last);
    state.inStep = record.inStep;
    for (const auto &[index, progress] : record.nodes) {
      if (progress.ended || progress.round != record.round)
        continue;
      const FlightNode &node = record.rank->nodes[index];
      Wait wait;
      wait.place = placeOf(record, index);
      wait.meeting = meetingOf(*record.log, node, progress.round);
      for (int64_t member : record.log->groups[node.group()]) {
        if (member == record.rank->rank)
          continue;
        Joined answer = joined(member, wait.meeting);
        if (answer == Joined::Posted)
          continue;
        wait.missing.push_back(member);
        evidence.answers[{member, wait.meeting}] = answer;
      }
      // A wait that misses no rank is for data in flight.
      if (!wait.missing.empty())
        state.waits.push_back(std::move(wait));
    }
    return state;
  }

  Evidence collect() const {
    Evidence evidence;
    uint32_t processes = 0;
    int64_t latest = 0;
    for (const FlightLog &log : logs) {
      processes = std::max({processes, log.processes, log.process + 1});
      latest = std::max(latest, log.aliveAt);
    }
    evidence.processes.resize(std::min(processes, mostProcesses));
    for (const FlightLog &log : logs) {
      if (log.process >= evidence.processes.size())
        continue;
      ProcessEvidence &process = evidence.processes[log.process];
      process.host = log.host, process.pid = log.pid;
      double silent = secondsBetween(log.aliveAt, latest);
      process.silentSeconds = silent;
      process.standing = log.ended                                         ? ProcessEvidence::Standing::Left
                         : silent > aliveDifference && log.verdict.empty() ? ProcessEvidence::Standing::Silent
                                                                           : ProcessEvidence::Standing::Alive;
      process.state.emplace();
      for (const FlightRank &rank : log.ranks) {
        process.ranks.push_back(rank.rank);
        process.state->ranks.push_back(stateOf(records.at(rank.rank), evidence));
      }
    }
    // Failures after the loss of a process are its consequences.
    if (!addLost(evidence))
      addFailures(evidence);
    return evidence;
  }

  /// The process that the others lost, by what they said at the time: that a connection closed is in no record. False: they lost none.
  bool addLost(Evidence &evidence) const {
    for (const FlightLog &log : logs) {
      if (!isShallow(log.verdict))
        continue;
      const auto said = Json::parse(log.verdict, nullptr, /*allow_exceptions=*/false);
      if (!said.is_object() || !said.contains("cause") || !said.contains("process") || !said["process"].is_number_unsigned())
        continue;
      bool gone = said["cause"] == wordOf(Cause::Gone);
      auto process = said["process"].get<uint64_t>();
      if ((!gone && said["cause"] != wordOf(Cause::Silent)) || process >= evidence.processes.size())
        continue;
      ProcessEvidence &lost = evidence.processes[process];
      if (lost.standing == ProcessEvidence::Standing::Left)
        continue;
      lost.standing = gone ? ProcessEvidence::Standing::Gone : ProcessEvidence::Standing::Silent;
      if (gone)
        evidence.gone.push_back(static_cast<uint32_t>(process));
      return true;
    }
    return false;
  }

  /// Steps that failed, by the time of it.
  void addFailures(Evidence &evidence) const {
    std::map<int64_t, std::pair<uint32_t, Told>> failures;
    for (const auto &[rank, record] : records)
      for (const FlightMoment &moment : record.rank->moments)
        if (moment.event == FlightEvent::Failed) {
          Told told;
          told.code = Code::RunFailed;
          told.place = placeOf(record, moment.node);
          told.place.trainingStep = moment.trainingStep, told.place.evaluates = moment.evaluates, told.place.round = moment.round;
          told.text = describePlace(told.place) + " failed in " + describeStep(told.place);
          failures.emplace(moment.clock, std::make_pair(record.log->process, told));
        }
    for (auto &[clock, failure] : failures)
      evidence.told.push_back(std::move(failure));
  }

  void word(AutopsyReport &report) const {
    if (!report.diverged) {
      report.first = "the records show no rank that failed or fell out of step";
      report.second = "";
      return;
    }
    report.first = report.failure.message;
    auto record = records.find(report.failure.place.rank);
    std::string waited;
    for (const FailureReport::Waiting &one : report.failure.waiting)
      waited += (waited.empty() ? "" : ", ") + std::to_string(one.wait.place.rank);
    if (report.failure.moreWaiting)
      waited += " and " + std::to_string(report.failure.moreWaiting) + " more";
    bool one = report.failure.waiting.size() == 1 && !report.failure.moreWaiting;
    std::string waiting = waited.empty() ? "no rank waited" : (one ? "rank " : "ranks ") + waited + " waited";
    if (record == records.end()) {
      report.second = waiting + ", and for rank " + std::to_string(report.failure.place.rank) + " there is no record";
      return;
    }
    int64_t latest = 0;
    for (const auto &[rank, other] : records)
      latest = std::max(latest, other.clock);
    char behind[32];
    std::snprintf(behind, sizeof(behind), "%.3f s", secondsBetween(record->second.clock, latest));
    Place last = placeOf(record->second, record->second.last);
    report.second = "its last event was at " + dayTime(record->second.clock) + ", " + behind + " before the last one of all" +
                    (last.operation.empty() ? "" : " (" + describePlace(last) + ")") + ", and " + waiting;
  }

  const std::vector<FlightLog> &logs;
  std::map<int64_t, RankRecord> records;
};

} // namespace

std::string AutopsyReport::toJson() const {
  return std::string("{\"diverged\": ") + (diverged ? "true" : "false") + ", \"first\": " + jsonString(first) +
         ", \"second\": " + jsonString(second) + ", \"failure\": " + (diverged ? failure.toJson() : "null") +
         ", \"verdict\": " + (verdict.empty() ? "null" : verdict) + "}";
}

AutopsyReport autopsy(const std::vector<FlightLog> &logs) { return Reader(logs).run(); }

} // namespace npar::engine
