// Lets ranks of one process meet at a rendezvous per event instance. The last to arrive moves the data; no thread waits.
#include "engine/comm/local/LocalCommunicator.h"

#include "engine/comm/local/Exchange.h"

namespace npar::engine {

Status LocalCommunicator::prepare(const CommunicationPlan &plan) {
  if (plan.ranks.size() < plan.sessionOf.size())
    return Status::badInput(std::to_string(plan.sessionOf.size() - plan.ranks.size()) + " of " + std::to_string(plan.sessionOf.size()) +
                            " ranks are in other sessions, which the local communicator does not reach");
  return {};
}

size_t LocalCommunicator::Hash::operator()(const Key &key) const {
  uint64_t hash = key.event * uint64_t{0x9E3779B97F4A7C15} + key.micro * uint64_t{2} + key.transfer;
  for (uint64_t value : {uint64_t(key.first), uint64_t(key.last)})
    hash = (hash ^ (hash >> 29) ^ value) * uint64_t{0xBF58476D1CE4E5B9};
  return hash ^ (hash >> 32);
}

std::string LocalCommunicator::join(Rendezvous &meeting, const Operation &operation) {
  if (meeting.members.empty())
    meeting.members.resize(operation.memberCount);
  if (operation.member >= meeting.members.size())
    return "rank " + std::to_string(operation.rank()) + " is no member of its group of " + std::to_string(meeting.members.size());
  if (meeting.members[operation.member].completion)
    return "rank " + std::to_string(operation.rank()) + " joined event " + std::to_string(operation.event) + " twice";
  if (meeting.arrived == 0)
    meeting.first = operation.member;
  else if (std::string differs = disagreement(meeting.members[meeting.first], operation); !differs.empty())
    return differs;
  meeting.members[operation.member] = operation;
  ++meeting.arrived;
  return "";
}

/// Data on its way between members of this session; deletes itself.
struct LocalCommunicator::Moving final : Completion {
  Moving(LocalCommunicator &owner, std::vector<Operation> members) : owner(owner), members(std::move(members)) {}
  void completed(const Status &status) override {
    std::unique_ptr<Moving> self(this);
    owner.complete(members, status);
  }
  LocalCommunicator &owner;
  std::vector<Operation> members;
};

void LocalCommunicator::post(const Operation &operation) {
  if (aborted.load())
    return operation.completion->completed(abortStatus());
  bool transfer = operation.transfers();
  Key key{operation.event, operation.micro, transfer, operation.members[0], operation.members[operation.memberCount - 1]};
  Shard &shard = shards[Hash()(key) >> 3 & 63];
  std::vector<Operation> ready;
  std::string wrong;
  {
    std::lock_guard<std::mutex> lock(shard.mutex);
    Rendezvous &meeting = shard.meetings[key];
    wrong = join(meeting, operation);
    if (wrong.empty() && meeting.arrived == operation.memberCount) {
      ready.swap(meeting.members);
      meeting.arrived = 0;
    }
  }
  if (!wrong.empty()) {
    Status status = Status::runFailed(std::string(nameOf(operation)) + ": members disagree: " + wrong);
    abort(status);
    return operation.completion->completed(status);
  }
  if (ready.empty()) {
    // An abort may have swept the table before this one was put into it.
    if (aborted.load())
      abort(abortStatus());
    return;
  }
  Status moved = moveData(backend, ready);
  if (backend.asynchronous() && moved.ok())
    return backend.whenDone(*new Moving(*this, std::move(ready)));
  complete(ready, moved);
}

void LocalCommunicator::complete(const std::vector<Operation> &members, const Status &status) {
  if (!status.ok())
    abort(status);
  for (const Operation &member : members)
    member.completion->completed(status);
}

void LocalCommunicator::abort(const Status &status) {
  {
    std::lock_guard<std::mutex> lock(abortMutex);
    if (!aborted.load()) {
      reason = status;
      aborted.store(true);
    }
  }
  for (Shard &shard : shards) {
    std::vector<Operation> waiting;
    {
      std::lock_guard<std::mutex> lock(shard.mutex);
      for (auto &[key, meeting] : shard.meetings) {
        for (const Operation &operation : meeting.members)
          if (operation.completion)
            waiting.push_back(operation);
        meeting.members.clear();
        meeting.arrived = 0;
      }
    }
    Status why = abortStatus();
    for (const Operation &operation : waiting)
      operation.completion->completed(why);
  }
}

Status LocalCommunicator::abortStatus() const {
  std::lock_guard<std::mutex> lock(abortMutex);
  return reason;
}

std::vector<PendingOperation> LocalCommunicator::pending() const {
  std::vector<PendingOperation> result;
  for (const Shard &shard : shards) {
    std::lock_guard<std::mutex> lock(shard.mutex);
    for (const auto &[key, meeting] : shard.meetings) {
      const Operation *some = nullptr;
      std::vector<int64_t> missing;
      for (const Operation &operation : meeting.members)
        if (operation.completion)
          some = &operation;
      if (!some)
        continue;
      for (size_t i = 0; i < meeting.members.size(); ++i)
        if (!meeting.members[i].completion)
          missing.push_back(some->members[i]);
      for (const Operation &operation : meeting.members)
        if (operation.completion)
          result.push_back({operation.tag, operation.rank(), missing});
    }
  }
  return result;
}

} // namespace npar::engine
