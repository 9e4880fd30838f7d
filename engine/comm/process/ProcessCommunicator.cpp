// The communicator of a session whose ranks are all those of one process of a job: local ranks meet in memory, others by messages.
#include "engine/comm/process/ProcessCommunicator.h"

#include <chrono>
#include <thread>

namespace npar::engine {

namespace {

/// Time after which a silent progress thread is considered stuck in its library.
constexpr double patienceSeconds = 2;
/// Limit on memory reserved for messages at the start.
constexpr uint64_t mostScratch = uint64_t{32} << 20;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace

ProcessCommunicator::ProcessCommunicator(std::shared_ptr<Progress> given, std::shared_ptr<Frames> givenFrames, uint32_t stream,
                                         Backend &backend, FailureChannel &failures)
    : progress(std::move(given)), frames(std::move(givenFrames)), stream(stream), backend(backend), failures(failures), local(backend),
      gathering(*frames, stream), scratch(backend) {
  progress->run([this] {
    this->backend.enterThread();
    frames->open(this->stream, *this);
  });
  failures.listen(this, [this](const Status &status) { stop(status, noRank, true); });
}

ProcessCommunicator::~ProcessCommunicator() {
  failures.listen(this, {});
  // Waits for the session's last messages. Any that remain will never be sent, and refer to memory that is now freed.
  bool quiet = false;
  for (double end = now() + patienceSeconds; !quiet && now() < end; std::this_thread::sleep_for(std::chrono::microseconds(50)))
    if (!progress->runAndWait([&] { quiet = progress->hasHalted() || gathering.isQuiet(); }, patienceSeconds))
      break;
  progress->runAndWait(
      [&] {
        frames->close(stream);
        meetings.clear(/*withExchanges=*/true, &stopped);
        if (!quiet || !stopped.empty())
          progress->halt();
        stopped.clear();
      },
      patienceSeconds);
}

Status ProcessCommunicator::prepare(const CommunicationPlan &plan) {
  program = plan.program;
  groups.prepare(plan, progress->process());
  rules.prepare(plan);
  // Count each operation's need once, whichever of its members is listed; the number of simultaneous operations is not known.
  uint64_t bytes = 0;
  for (const Operation *operation : plan.operations)
    if (const Group &group = groups.of(*operation);
        backend.computes() && !group.isLocal() && group.members[group.ownParty().members.front()] == operation->rank())
      bytes += ExchangePlan(*operation, group).scratchBytes;
  return scratch.reserve(std::min(bytes, mostScratch));
}

void ProcessCommunicator::post(const Operation &operation) {
  if (aborted.load())
    return operation.completion->completed(reasonToStop());
  if (Offence offence = rules.judge(operation)) {
    accuse(offence);
    return operation.completion->completed(reasonToStop());
  }
  const Group &group = groups.of(operation);
  if (group.isLocal())
    return local.post(operation);
  Meetings::Joined joined = meetings.join(operation, group, now());
  if (!joined.wrong.empty()) {
    abort(Status::runFailed(std::string(nameOf(operation)) + ": members disagree: " + joined.wrong));
    return operation.completion->completed(reasonToStop());
  }
  if (aborted.load()) // it may have swept before this one was there
    return sweep();
  if (joined.complete)
    progress->run([this, meeting = joined.complete] { begin(*meeting); });
}

void ProcessCommunicator::begin(Meeting &meeting) {
  if (aborted.load())
    return sweep();
  const Group &group = *meeting.group;
  std::vector<Operation> operations = meetings.begin(meeting);
  if (operations.empty()) // an abort was faster
    return;
  Envelope envelope(operations.front(), group, meeting.turn);
  envelope.round = gathering.rounds(), envelope.mark = mark();
  if (!meeting.plan || !meeting.planned.movesLike(envelope)) {
    meeting.plan = std::make_unique<ExchangePlan>(operations.front(), group);
    meeting.planned = envelope;
  }
  Status counted = meeting.plan->countRows(backend, group, operations);
  Frame frame;
  frame.head.kind = FrameKind::Envelope, frame.head.stream = stream, frame.head.dataTag = frames->newTag(Exchange::tags);
  auto exchange = std::make_unique<Exchange>(LaneParts{*progress, backend, scratch}, group, *meeting.plan, std::move(operations));
  Exchange &own = *exchange;
  meetings.hold(meeting, std::move(exchange));
  if (!counted.ok())
    return abort(counted);
  for (size_t i = 1; i < group.parties.size(); ++i) {
    size_t party = (group.own + i) % group.parties.size();
    envelope.givenRows = meeting.plan->givenRows[party], envelope.takenRows = meeting.plan->takenRows[party];
    frame.put(envelope);
    frames->send(group.parties[party].process, frame);
  }
  own.begin(frame.head.dataTag, [this, &meeting](const Status &status) { end(meeting, status); });
  for (size_t party = 0; party < group.parties.size() && !aborted.load(); ++party)
    if (party != group.own) {
      if (!meeting.exchange) // it has ended
        return;
      if (meeting.envelopeOf(group.parties[party].process))
        agree(meeting, party);
    }
}

/// Begins to take what a party gives, when it means the same.
void ProcessCommunicator::agree(Meeting &meeting, size_t party) {
  const Group &group = *meeting.group;
  const Envelope &envelope = *meeting.envelopeOf(group.parties[party].process);
  const Operation &own = meeting.exchange->members().front();
  if (meeting.agreed[party])
    return;
  if (std::string differs = differenceOf(progress->process(), mark(), group.parties[party].process, envelope.mark); !differs.empty())
    return abort(Status::runFailed(std::string(nameOf(own)) + ": " + differs));
  if (std::string differs = disagreement(own, group, meeting.turn, envelope); !differs.empty())
    return abort(Status::runFailed(std::string(nameOf(own)) + ": members disagree: " + differs));
  if (envelope.givenRows != meeting.plan->takenRows[party] || envelope.takenRows != meeting.plan->givenRows[party])
    return abort(Status::runFailed(std::string(nameOf(own)) + ": members disagree: rank " + std::to_string(own.rank()) + " and rank " +
                                   std::to_string(own.members[envelope.member]) + " see different numbers of rows"));
  meeting.agreed[party] = true;
  meeting.exchange->take(party, envelope.dataTag);
}

void ProcessCommunicator::end(Meeting &meeting, const Status &status) {
  if (!status.ok())
    return abort(status);
  std::unique_ptr<Exchange> exchange = meetings.end(meeting);
  std::vector<Operation> members = exchange->members();
  exchange = nullptr;
  for (const Operation &operation : members)
    operation.completion->completed({});
}

void ProcessCommunicator::read(uint32_t from, const Frame &frame) {
  if (aborted.load())
    return;
  switch (frame.head.kind) {
  case FrameKind::Gather:
    return gathering.read(from, frame);
  case FrameKind::Refusal:
    return frame.has<Refusal>() ? findSkipped(from, frame.get<Refusal>()) : failBecauseOf(from, "a refusal");
  case FrameKind::News:
    return frame.has<News>() ? meetings.add(from, frame.get<News>()) : failBecauseOf(from, "news");
  case FrameKind::Envelope: {
    auto envelope = frame.get<Envelope>();
    if (!frame.has<Envelope>() || !envelope.isSound() || frame.head.dataTag == 0)
      return failBecauseOf(from, "an envelope");
    envelope.dataTag = frame.head.dataTag;
    Meeting &meeting = meetings.add(from, envelope);
    if (!meeting.exchange) {
      if (meetings.isPassed(meeting, from, gathering.rounds()))
        refuse(from, {envelope.key, envelope.turn});
    } else if (size_t party = meeting.group->partyOf(from); party < meeting.group->parties.size())
      agree(meeting, party);
    return;
  }
  case FrameKind::Broadcast:
    return fail(Status::runFailed("process " + std::to_string(from) + " sends a communicator what belongs to the group"));
  }
}

void ProcessCommunicator::failBecauseOf(uint32_t process, const char *what) {
  fail(Status::runFailed("process " + std::to_string(process) + " sends " + what + " that no process of npar does"));
}

void ProcessCommunicator::tick() {
  for (const auto &[group, news] : meetings.untold(now())) {
    Frame frame;
    frame.head.kind = FrameKind::News, frame.head.stream = stream;
    frame.put(news);
    for (const Party &party : group->parties)
      if (party.process != progress->process())
        frames->send(party.process, frame);
  }
}

/// Tells a process that its members wait in vain. It knows which rank it waits for, and reports that to all.
void ProcessCommunicator::refuse(uint32_t process, const Refusal &refusal) {
  Frame frame;
  frame.head.kind = FrameKind::Refusal, frame.head.stream = stream;
  frame.put(refusal);
  frames->send(process, frame);
}

/// Refuses meetings that others had announced when this process began its gather; `read` refuses later announcements.
void ProcessCommunicator::refuseWhatHasPassed() {
  if (!aborted.load())
    for (const auto &[process, refusal] : meetings.passedBy(gathering.rounds()))
      refuse(process, refusal);
}

/// Handles a refusal: the process has ended the training step in which members here wait for one of its members.
void ProcessCommunicator::findSkipped(uint32_t process, const Refusal &refusal) {
  int64_t missing = noRank;
  if (Result<Operation> waiting = meetings.waitingFor(process, refusal, missing); waiting.ok())
    accuse({missing, "rank " + std::to_string(missing) + " has skipped " + nameOf(*waiting) + " of event " +
                         std::to_string(waiting->event) + ", micro-batch " + std::to_string(waiting->micro) +
                         ", but ended its training step; rank " + std::to_string(waiting->rank()) + " waits for it"});
}

Result<std::vector<std::vector<uint8_t>>> ProcessCommunicator::gather(const std::vector<uint8_t> &own, double timeoutSeconds) {
  if (aborted.load())
    return reasonToStop();
  if (Offence offence = rules.judgeStep())
    accuse(offence);
  gathering.begin(own);
  if (meetings.areAwaited())
    progress->run([this] { refuseWhatHasPassed(); });
  Result<std::vector<std::vector<uint8_t>>> all = gathering.await(timeoutSeconds);
  if (!all.ok())
    abort(all.status());
  return all;
}

std::vector<PendingOperation> ProcessCommunicator::pending() const {
  std::vector<PendingOperation> all = local.pending(), others = meetings.pending();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

Status ProcessCommunicator::abortedElsewhere() const {
  std::lock_guard<std::mutex> lock(mutex);
  return reasonFromElsewhere ? reason : Status();
}

Status ProcessCommunicator::reasonToStop() const {
  std::lock_guard<std::mutex> lock(mutex);
  return reason;
}

void ProcessCommunicator::abort(const Status &status) { stop(status, noRank, false); }

void ProcessCommunicator::stop(const Status &status, int64_t culprit, bool fromElsewhere) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (aborted.load())
      return;
    reason = status, reasonFromElsewhere = fromElsewhere;
    aborted.store(true);
  }
  if (!fromElsewhere && culprit != noRank)
    failures.accuse(culprit, status);
  else if (!fromElsewhere)
    failures.tell(status);
  gathering.fail(status);
  local.abort(status);
  sweep();
  // Messages in flight refer to memory that the session may free once its operations are over.
  progress->halt();
  progress->run([this] { sweepExchanges(); });
}

void ProcessCommunicator::sweep() {
  Status why = reasonToStop();
  for (const Operation &operation : meetings.clear(/*withExchanges=*/false, nullptr))
    operation.completion->completed(why);
}

void ProcessCommunicator::sweepExchanges() {
  Status why = reasonToStop();
  for (const Operation &operation : meetings.clear(/*withExchanges=*/true, &stopped))
    operation.completion->completed(why);
}

} // namespace npar::engine
