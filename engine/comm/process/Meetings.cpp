// Brings the members of an operation together: local ones when they post, others through their processes' messages.
#include "engine/comm/process/Meetings.h"

#include "engine/comm/local/Exchange.h"

namespace npar::engine {

namespace {
/// Time after which other processes are told of an incomplete meeting.
constexpr double tellAfterSeconds = 0.02;
} // namespace

const Envelope *Meeting::envelopeOf(uint32_t process) const {
  auto found = envelopes.find(process);
  return found != envelopes.end() && !found->second.empty() ? &found->second.front() : nullptr;
}

/// An exchange, or members that have all come and will have one soon: these have joined. The envelope's number tells turns apart: a process
/// that had begun as many gathers as this one may have got the whole of the last, which takes this one's part, and then it is in the next
/// training step and has time to wait. One that had begun fewer was in a step that this process has ended, and so have its members.
bool Meeting::isPassedBy(uint32_t process, uint64_t round) const {
  const Envelope *envelope = envelopeOf(process);
  bool joined = exchange || (group && arrived == group->ownParty().members.size());
  return envelope && envelope->round < round && !joined;
}

Meetings::Joined Meetings::join(const Operation &operation, const Group &group, double now) {
  std::lock_guard<std::mutex> lock(mutex);
  Meeting &meeting = table[MeetingKey::of(operation)];
  if (meeting.arrived == 0) {
    meeting.group = &group;
    meeting.here.assign(group.ownParty().members.size(), Operation());
    meeting.since = now, meeting.told = 0;
  }
  size_t place = meeting.group->placeOf(operation.member);
  if (meeting.group != &group || place == meeting.here.size() || meeting.group->ownParty().members[place] != operation.member)
    return {nullptr,
            "rank " + std::to_string(operation.rank()) + " is no member of its group of " + std::to_string(meeting.group->members.size())};
  if (meeting.here[place].completion)
    return {nullptr, "rank " + std::to_string(operation.rank()) + " joined event " + std::to_string(operation.event) + " twice"};
  for (const Operation &other : meeting.here)
    if (other.completion)
      if (std::string differs = disagreement(other, operation); !differs.empty())
        return {nullptr, differs};
  meeting.here[place] = operation;
  return {++meeting.arrived == meeting.here.size() ? &meeting : nullptr, ""};
}

Meeting &Meetings::add(uint32_t from, const Envelope &envelope) {
  std::lock_guard<std::mutex> lock(mutex);
  Meeting &meeting = table[envelope.key];
  meeting.envelopes[from].push_back(envelope);
  ++queued;
  return meeting;
}

void Meetings::add(uint32_t from, const News &news) {
  std::lock_guard<std::mutex> lock(mutex);
  table[news.key].news[from] = news;
}

std::vector<Operation> Meetings::begin(Meeting &meeting) {
  std::lock_guard<std::mutex> lock(mutex);
  meeting.arrived = 0;
  meeting.agreed.assign(meeting.group->parties.size(), false);
  return std::move(meeting.here);
}

void Meetings::hold(Meeting &meeting, std::unique_ptr<Exchange> exchange) {
  std::lock_guard<std::mutex> lock(mutex);
  meeting.exchange = std::move(exchange);
}

std::unique_ptr<Exchange> Meetings::end(Meeting &meeting) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const Party &party : meeting.group->parties)
    if (party.process != meeting.group->ownParty().process)
      meeting.envelopes[party.process].pop_front(), --queued;
  ++meeting.turn;
  return std::move(meeting.exchange);
}

std::vector<Operation> Meetings::clear(bool withExchanges, std::vector<std::unique_ptr<Exchange>> *kept) {
  std::vector<Operation> waiting;
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[key, meeting] : table) {
    for (const Operation &operation : meeting.here)
      if (operation.completion)
        waiting.push_back(operation);
    meeting.here.clear();
    meeting.arrived = 0;
    if (!withExchanges || !meeting.exchange)
      continue;
    waiting.insert(waiting.end(), meeting.exchange->members().begin(), meeting.exchange->members().end());
    kept->push_back(std::move(meeting.exchange));
  }
  return waiting;
}

/// Under the lock: members that have not come, then those whose bytes have not.
void Meetings::missingOf(const Meeting &meeting, std::vector<int64_t> &missing) const {
  const Group &group = *meeting.group;
  for (size_t i = 0; i < group.parties.size(); ++i) {
    const Party &party = group.parties[i];
    auto news = meeting.news.find(party.process);
    bool heard = news != meeting.news.end() && news->second.turn == meeting.turn;
    for (size_t k = 0; k < party.members.size(); ++k) {
      uint32_t member = party.members[k];
      bool there = i == group.own ? meeting.exchange || meeting.here[k].completion
                                  : meeting.envelopeOf(party.process) || (heard && news->second.has(member));
      if (!there)
        missing.push_back(group.members[member]);
    }
  }
  if (!missing.empty() || !meeting.exchange)
    return;
  for (size_t i = 0; i < group.parties.size(); ++i)
    if (i != group.own && meeting.exchange->waitsFor(i))
      for (uint32_t member : group.parties[i].members)
        missing.push_back(group.members[member]);
}

std::vector<PendingOperation> Meetings::pending() const {
  std::vector<PendingOperation> result;
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[key, meeting] : table) {
    if (meeting.arrived == 0 && !meeting.exchange)
      continue;
    std::vector<int64_t> missing;
    missingOf(meeting, missing);
    for (const Operation &operation : meeting.exchange ? meeting.exchange->members() : meeting.here)
      if (operation.completion)
        result.push_back({operation.tag, operation.rank(), missing});
  }
  return result;
}

std::vector<std::pair<const Group *, News>> Meetings::untold(double now) {
  std::vector<std::pair<const Group *, News>> all;
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[key, meeting] : table) {
    if (meeting.arrived == meeting.told || meeting.arrived == meeting.here.size() || now - meeting.since < tellAfterSeconds)
      continue;
    meeting.told = meeting.arrived;
    News news;
    news.key = key, news.turn = meeting.turn;
    for (const Operation &operation : meeting.here)
      if (operation.completion)
        news.add(operation.member);
    all.emplace_back(meeting.group, news);
  }
  return all;
}

bool Meetings::areAwaited() const {
  std::lock_guard<std::mutex> lock(mutex);
  return queued > 0;
}

bool Meetings::isPassed(const Meeting &meeting, uint32_t process, uint64_t round) const {
  std::lock_guard<std::mutex> lock(mutex);
  return meeting.isPassedBy(process, round);
}

std::vector<std::pair<uint32_t, Refusal>> Meetings::passedBy(uint64_t round) const {
  std::vector<std::pair<uint32_t, Refusal>> all;
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[key, meeting] : table)
    for (const auto &[process, envelopes] : meeting.envelopes)
      if (meeting.isPassedBy(process, round))
        all.push_back({process, {key, envelopes.front().turn}});
  return all;
}

Result<Operation> Meetings::waitingFor(uint32_t process, const Refusal &refusal, int64_t &missing) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = table.find(refusal.key);
  if (found == table.end() || !found->second.exchange || found->second.turn != refusal.turn || found->second.envelopeOf(process))
    return Status(Code::Internal, "no process waits");
  const Meeting &meeting = found->second;
  auto news = meeting.news.find(process);
  bool heard = news != meeting.news.end() && news->second.turn == meeting.turn;
  if (size_t party = meeting.group->partyOf(process); party < meeting.group->parties.size())
    for (uint32_t member : meeting.group->parties[party].members)
      if (!heard || !news->second.has(member)) {
        missing = meeting.group->members[member];
        return meeting.exchange->members().front();
      }
  return Status(Code::Internal, "no process waits");
}

} // namespace npar::engine
