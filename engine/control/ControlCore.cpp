// The rules of the control channel without sockets and without a clock.
#include "engine/control/ControlCore.h"

#include <algorithm>
#include <cmath>

namespace npar::engine {

namespace {

// Seconds. A failure and its verdict are less than one second apart, which leaves every process one more to end.
constexpr double hearCertain = 0.15; ///< wait after a known cause for a better explanation
constexpr double hearOthers = 0.25, hearAnswers = 0.25;
constexpr double tickWhileJudging = 0.02;
constexpr double worstDelay = 60;   ///< limit on the delay that a process may report
constexpr double mostAllowance = 1; ///< more would make the user's time limit meaningless

double bounded(double seconds) { return std::isfinite(seconds) ? std::clamp(seconds, 0.0, worstDelay) : 0.0; }

} // namespace

ControlCore::ControlCore(const CoreOptions &options, ControlLink &link, double now)
    : options(options), link(link), peers(options.peers.size()), beatSeconds(std::clamp(options.timeoutSeconds / 16, 0.02, 0.5)),
      nextTick(now), nextBeat(now), movedAt(now), clock(now), asked(options.peers.size()) {
  evidence.processes.resize(peers.size());
  for (size_t process = 0; process < peers.size(); ++process) {
    peers[process].heard = now;
    evidence.processes[process].host = options.peers[process].host;
    evidence.processes[process].pid = options.peers[process].pid;
  }
}

/// Late wake-ups come in bursts, so the worst one is multiplied.
double ControlCore::allowance() const {
  double worst = late;
  for (uint32_t process = 0; process < peers.size(); ++process)
    if (alive(process))
      worst = std::max(worst, peers[process].late);
  return std::min(4 * worst, mostAllowance);
}

void ControlCore::tick(double now) {
  double delay = bounded(now - nextTick);
  late = std::max(delay, late * 0.95);
  for (Peer &peer : peers)
    peer.heard += delay; // what others sent meanwhile has only now been read
  clock = now;
  if (!report && !left) {
    if (now >= nextBeat) {
      beat();
      nextBeat = now + beatSeconds;
    }
    watchOthers(now);
    if (stage != Stage::Watching)
      proceed(now);
  }
  nextTick = report || left ? now + 1 : stage == Stage::Watching ? std::min(nextBeat, now + beatSeconds) : now + tickWhileJudging;
}

void ControlCore::beat() {
  if (isJudge()) {
    Message alive = Message::of(Message::Kind::Alive);
    alive.state.lateSeconds = late;
    for (uint32_t process = self() == 0 ? 2 : 0; process < peers.size(); ++process)
      if (reaches(process) && this->alive(process))
        link.send(process, alive);
    // The deputy hears more, for when the judge is gone.
    if (self() == 0 && peers.size() > 1 && this->alive(1))
      sendBeat(1, 0);
    else
      look(false);
  } else {
    sendBeat(judge, 0);
  }
}

void ControlCore::sendBeat(uint32_t to, uint32_t round) {
  Message message = Message::of(Message::Kind::Beat, round);
  message.state = look(round != 0 || clock - movedAt > 2 * beatSeconds);
  link.send(to, message);
}

ProcessState ControlCore::look(bool waits) {
  ProcessState state = link.look(waits);
  if (state.progress != lastProgress)
    lastProgress = state.progress, movedAt = clock;
  state.stalledSeconds = clock - movedAt;
  state.lateSeconds = late;
  return state;
}

/// Checks the silence of all processes that this one hears at every beat.
void ControlCore::watchOthers(double now) {
  double limit = options.timeoutSeconds + allowance();
  if (!isJudge()) {
    bool unanswered = !own.empty() && now - toldAt > hearOthers + hearAnswers && quiet(now, judge);
    if (unanswered || now - peers[judge].heard > limit)
      turnFrom(now, judge);
    else if (self() == 1 && quiet(now, judge) && std::any_of(peers.begin(), peers.end(), [](const Peer &peer) { return peer.appeals; }))
      turnFrom(now, judge);
    return;
  }
  for (uint32_t process = 0; process < peers.size(); ++process)
    if (reaches(process) && alive(process) && now - peers[process].heard > limit)
      return trigger(now, false);
}

void ControlCore::turnFrom(double now, uint32_t process) {
  ProcessEvidence &old = evidence.processes[process];
  bool goneWell = old.standing == Standing::Left, gone = old.standing == Standing::Gone;
  if (old.standing == Standing::Alive) {
    old.standing = Standing::Silent;
    old.silentSeconds = now - peers[process].heard;
  }
  judge = process == 0 && self() != 1 && alive(1) ? 1 : self();
  if (isJudge()) {
    // A process that left normally took no operation with it, so there is nothing to judge yet.
    for (const Told &told : own)
      evidence.told.emplace_back(self(), told);
    if (!goneWell || !own.empty())
      trigger(now, gone);
    return;
  }
  peers[judge].heard = now;
  toldAt = now;
  for (const Told &told : own) {
    Message message = Message::of(Message::Kind::Told);
    message.told = told;
    link.send(judge, message);
  }
  sendBeat(judge, 0);
}

void ControlCore::received(double now, uint32_t from, Message message) {
  clock = now;
  Peer &peer = peers[from];
  peer.heard = now;
  if (report || left)
    return;
  ProcessEvidence &about = evidence.processes[from];
  if (about.standing == Standing::Silent)
    about.standing = Standing::Alive;
  switch (message.kind) {
  case Message::Kind::Holds:
    about.ranks = message.ranks;
    break;
  case Message::Kind::Beat:
    peer.late = bounded(message.state.lateSeconds);
    peer.answered = std::max(peer.answered, message.round);
    about.state = std::move(message.state);
    if (!isJudge() && self() == 1 && from != 0 && message.round == 0) {
      peer.appeals = true;
      link.send(from, Message::of(Message::Kind::Alive));
    }
    break;
  case Message::Kind::Alive:
    peer.late = bounded(message.state.lateSeconds);
    break;
  case Message::Kind::Told:
    if (from != 0 && self() == 1 && !isJudge())
      peer.appeals = true;
    evidence.told.emplace_back(from, message.told);
    if (isJudge())
      trigger(now, message.told.code != Code::Timeout);
    break;
  case Message::Kind::Ask:
    sendBeat(from, std::max(message.round, 1u));
    break;
  case Message::Kind::Question: {
    Message answer = Message::of(Message::Kind::Answer, message.round);
    for (const Question &question : message.questions)
      answer.answers.push_back(link.joined(question));
    link.send(from, answer);
    break;
  }
  case Message::Kind::Answer:
    if (stage == Stage::Questioning && message.round == round && message.answers.size() == asked[from].size()) {
      for (size_t i = 0; i < message.answers.size(); ++i)
        evidence.answers[asked[from][i]] = message.answers[i];
      peer.answered = round;
    }
    break;
  case Message::Kind::Verdict:
    if (from <= 1)
      conclude(message.report);
    break;
  case Message::Kind::Bye:
    about.standing = Standing::Left;
    if (from == judge)
      turnFrom(now, from);
    break;
  }
  if (!report && stage != Stage::Watching)
    proceed(now);
}

void ControlCore::lost(double now, uint32_t process, const std::string &why) {
  clock = now;
  ProcessEvidence &about = evidence.processes[process];
  if (report || left || about.standing == Standing::Left || about.standing == Standing::Gone)
    return;
  about.standing = Standing::Gone;
  about.why = why;
  evidence.gone.push_back(process);
  if (isJudge())
    trigger(now, true);
  else if (process == judge)
    turnFrom(now, process);
}

void ControlCore::tell(double now, const Told &told) {
  clock = now;
  if (report || left)
    return;
  if (own.empty())
    toldAt = now;
  own.push_back(told);
  if (isJudge()) {
    evidence.told.emplace_back(self(), told);
    return trigger(now, told.code != Code::Timeout);
  }
  Message message = Message::of(Message::Kind::Told);
  message.told = told;
  link.send(judge, message);
}

void ControlCore::hold(const std::vector<int64_t> &ranks) {
  evidence.processes[self()].ranks = ranks;
  Message message = Message::of(Message::Kind::Holds);
  message.ranks = ranks;
  for (uint32_t process = 0; process < 2 && process < peers.size(); ++process)
    if (reaches(process))
      link.send(process, message);
}

void ControlCore::leave() {
  for (uint32_t process = 0; process < peers.size() && !left; ++process)
    if (reaches(process))
      link.send(process, Message::of(Message::Kind::Bye));
  left = true;
}

void ControlCore::trigger(double now, bool certain) {
  this->certain |= certain;
  if (stage != Stage::Watching)
    return;
  stage = Stage::Hearing;
  stageBegan = now;
  ++round;
  nextTick = now;
  for (uint32_t process = 0; process < peers.size(); ++process)
    if (reaches(process) && alive(process))
      link.send(process, Message::of(Message::Kind::Ask, round));
  evidence.processes[self()].state = look(true);
  proceed(now);
}

bool ControlCore::heardAll(double now) {
  bool all = true;
  for (uint32_t process = 0; process < peers.size(); ++process) {
    if (!reaches(process) || !alive(process) || peers[process].answered >= round)
      continue;
    if (now - stageBegan >= hearOthers && quiet(now, process)) {
      evidence.processes[process].standing = Standing::Silent;
      evidence.processes[process].silentSeconds = now - peers[process].heard;
    } else {
      all = false;
    }
  }
  return all;
}

void ControlCore::proceed(double now) {
  if (stage == Stage::Hearing) {
    if (certain ? now - stageBegan < hearCertain : !heardAll(now))
      return;
    bool silent = std::any_of(evidence.processes.begin(), evidence.processes.end(),
                              [](const ProcessEvidence &one) { return one.standing == Standing::Silent; });
    if (certain || silent)
      return decide();
    if (!evidence.told.empty())
      return question(now);
    stage = Stage::Watching; // the silent process has answered after all
    return;
  }
  if (stage == Stage::Questioning && (heardAll(now) || now - stageBegan > hearAnswers + allowance()))
    decide();
}

void ControlCore::question(double now) {
  stage = Stage::Questioning;
  stageBegan = now;
  ++round;
  std::vector<uint32_t> processOf;
  for (std::vector<Question> &questions : asked)
    questions.clear();
  for (const Question &question : questionsAbout(evidence))
    for (uint32_t process = 0; process < peers.size(); ++process) {
      const std::vector<int64_t> &ranks = evidence.processes[process].ranks;
      if (std::find(ranks.begin(), ranks.end(), question.rank) == ranks.end())
        continue;
      if (process == self())
        evidence.answers[question] = link.joined(question);
      else
        asked[process].push_back(question);
      break;
    }
  for (uint32_t process = 0; process < peers.size(); ++process) {
    if (asked[process].empty()) {
      peers[process].answered = round;
      continue;
    }
    Message message = Message::of(Message::Kind::Question, round);
    message.questions = asked[process];
    link.send(process, message);
  }
  proceed(now);
}

void ControlCore::decide() {
  evidence.speaker = self();
  conclude(npar::engine::judge(evidence));
}

void ControlCore::conclude(const FailureReport &verdict) {
  report = verdict;
  // The deputy passes on what it hears, to those who reach it and not the judge.
  if (self() <= 1) {
    Message message = Message::of(Message::Kind::Verdict);
    message.report = verdict;
    for (uint32_t process = 0; process < peers.size(); ++process)
      if (reaches(process) && evidence.processes[process].standing != Standing::Gone)
        link.send(process, message);
  }
  link.decided(*report);
}

} // namespace npar::engine
