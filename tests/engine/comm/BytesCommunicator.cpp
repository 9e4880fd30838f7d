// Sessions that reach each other by messages of bytes alone, as processes do: threads stand for the processes, queues for the network.
#include "tests/engine/comm/BytesCommunicator.h"

#include "engine/comm/local/Exchange.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <sstream>

namespace npar::testing {

using namespace engine;

namespace {

enum class Kind : uint8_t { Post, Share, Gather, Abort, AbortElsewhere, Quit };

class Writer {
public:
  explicit Writer(Kind kind) { put(kind); }
  template <typename T> void put(const T &value) { put(&value, sizeof(T)); }
  void put(const void *from, size_t size) {
    auto *begin = static_cast<const uint8_t *>(from);
    bytes.insert(bytes.end(), begin, begin + size);
  }
  ByteQueues::Message bytes;
};

class Reader {
public:
  explicit Reader(const ByteQueues::Message &bytes) : bytes(bytes) {}
  template <typename T> T take() {
    T value;
    std::memcpy(static_cast<void *>(&value), &bytes[at], sizeof(T));
    at += sizeof(T);
    return value;
  }
  std::vector<uint8_t> take(size_t size) {
    std::vector<uint8_t> result(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.begin() + static_cast<ptrdiff_t>(at + size));
    at += size;
    return result;
  }
  std::vector<uint8_t> rest() { return take(bytes.size() - at); }

private:
  const ByteQueues::Message &bytes;
  size_t at = 0;
};

bool isTransfer(const Operation &operation) { return operation.transfers(); }

} // namespace

void ByteQueues::send(size_t to, Message message) {
  Inbox &inbox = inboxes[to];
  {
    std::lock_guard<std::mutex> lock(inbox.mutex);
    inbox.messages.push_back(std::move(message));
  }
  inbox.wake.notify_one();
}

ByteQueues::Message ByteQueues::receive(size_t session) {
  Inbox &inbox = inboxes[session];
  std::unique_lock<std::mutex> lock(inbox.mutex);
  inbox.wake.wait(lock, [&] { return !inbox.messages.empty(); });
  Message message = std::move(inbox.messages.front());
  inbox.messages.pop_front();
  return message;
}

BytesCommunicator::BytesCommunicator(Backend &backend, std::shared_ptr<ByteQueues> queues, size_t session, BytesOptions options)
    : backend(backend), queues(std::move(queues)), session(session), options(options), gathering(this->queues->sessions()),
      thread([this] { run(); }) {}

BytesCommunicator::~BytesCommunicator() {
  queues->send(session, Writer(Kind::Quit).bytes);
  thread.join();
}

Status BytesCommunicator::prepare(const CommunicationPlan &plan) {
  std::lock_guard<std::mutex> lock(mutex);
  sessionOf = plan.sessionOf;
  return {};
}

void BytesCommunicator::post(const Operation &operation) {
  Writer message(Kind::Post);
  message.put(operation);
  queues->send(session, std::move(message.bytes));
}

void BytesCommunicator::abort(const Status &status) {
  Writer message(Kind::Abort);
  message.put(status.code());
  message.put(status.message().data(), status.message().size());
  queues->send(session, std::move(message.bytes));
}

void BytesCommunicator::run() {
  backend.enterThread();
  for (ByteQueues::Message message = queues->receive(session); message[0] != uint8_t(Kind::Quit); message = queues->receive(session))
    handle(message);
}

void BytesCommunicator::handle(const ByteQueues::Message &message) {
  Reader reader(message);
  switch (Kind kind = reader.take<Kind>()) {
  case Kind::Post:
    return handlePost(reader.take<Operation>());
  case Kind::Share: {
    Share share;
    std::vector<int64_t> members(reader.take<uint32_t>());
    for (int64_t &member : members)
      member = reader.take<int64_t>();
    for (auto parts = reader.take<uint32_t>(); parts > 0; --parts) {
      share.parts.push_back(reader.take<Operation>());
      share.parts.back().members = members.data();
      auto size = reader.take<uint64_t>();
      share.inputs.push_back(reader.take(size));
    }
    return add(std::move(share));
  }
  case Kind::Gather: {
    auto from = reader.take<uint64_t>();
    std::lock_guard<std::mutex> lock(mutex);
    gathering[from].push_back(reader.rest());
    gathered.notify_all();
    return;
  }
  case Kind::Abort:
  case Kind::AbortElsewhere: {
    Code code = reader.take<Code>();
    std::vector<uint8_t> text = reader.rest();
    return stop(Status(code, std::string(text.begin(), text.end())), kind == Kind::AbortElsewhere);
  }
  case Kind::Quit:
    return;
  }
}

void BytesCommunicator::handlePost(const Operation &operation) {
  if (!reason.ok()) // this thread alone sets it
    return operation.completion->completed(reason);
  Share own;
  for (const Operation *part = &operation; part; part = part->next)
    own.parts.push_back(*part);
  std::set<uint32_t> others;
  for (uint32_t i = 0; i < operation.memberCount; ++i)
    if (!isHere(operation.members[i]))
      others.insert(sessionOf[static_cast<size_t>(operation.members[i])]);
  if (!others.empty()) {
    Writer message(Kind::Share);
    message.put(operation.memberCount);
    message.put(operation.members, operation.memberCount * sizeof(int64_t));
    message.put(static_cast<uint32_t>(own.parts.size()));
    for (const Operation &part : own.parts) {
      Operation parameters = part;
      parameters.input = parameters.output = parameters.inputEnds = parameters.outputEnds = DeviceAddress();
      parameters.completion = nullptr, parameters.next = nullptr, parameters.members = nullptr;
      message.put(parameters);
      std::vector<uint8_t> input(part.step == program::StepKind::Receive ? 0 : part.count * program::sizeOf(part.type));
      backend.copyOut(input.data(), part.input, input.size());
      (void)waitUntilDone(backend); // an error is told again when the data are moved
      message.put(static_cast<uint64_t>(input.size()));
      message.put(input.data(), input.size());
    }
    for (uint32_t other : others)
      queues->send(other, message.bytes);
  }
  add(std::move(own));
}

void BytesCommunicator::add(Share share) {
  if (!reason.ok())
    return;
  Operation &first = share.parts.front();
  std::vector<int64_t> members(first.members, first.members + first.memberCount);
  bool byEvent = !options.matchByOrder;
  Meeting *meeting;
  {
    std::lock_guard<std::mutex> lock(mutex);
    meeting = &meetings[{isTransfer(first), byEvent ? first.event : 0, byEvent ? first.micro : 0, members}];
    if (meeting->members.empty())
      meeting->members = members, meeting->shares.resize(members.size());
    for (Operation &part : share.parts)
      part.members = meeting->members.data();
    meeting->shares[first.member].push_back(std::move(share));
  }
  if (std::all_of(meeting->shares.begin(), meeting->shares.end(), [](const auto &queue) { return !queue.empty(); }))
    meet(*meeting);
}

void BytesCommunicator::meet(Meeting &meeting) {
  std::vector<Share> shares;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &queue : meeting.shares) {
      shares.push_back(std::move(queue.front()));
      queue.pop_front();
    }
  }
  std::vector<Operation> here;
  Status status;
  for (Share &share : shares) {
    for (size_t i = 0; i < share.parts.size(); ++i)
      share.parts[i].next = i + 1 < share.parts.size() ? &share.parts[i + 1] : nullptr;
    if (share.inputs.empty())
      here.push_back(share.parts.front());
    if (std::string differs = disagreement(shares[0].parts.front(), share.parts.front()); status.ok() && !differs.empty())
      status = Status::runFailed(std::string(nameOf(share.parts.front())) + ": members disagree: " + differs);
  }
  if (status.ok())
    status = move(shares);
  if (!status.ok())
    stop(status, false);
  for (const Operation &operation : here)
    operation.completion->completed(status);
}

/// Brings the inputs of the other sessions' members into this one's memory for as long as it takes.
Status BytesCommunicator::move(std::vector<Share> &shares) {
  std::vector<std::pair<DeviceAddress, uint64_t>> staging;
  std::vector<Operation> members;
  Status status;
  for (Share &share : shares) {
    for (size_t i = 0; i < share.inputs.size() && status.ok(); ++i) {
      Result<DeviceAddress> memory = backend.allocate(share.inputs[i].size());
      if (!memory.ok()) {
        status = memory.status();
        break;
      }
      staging.emplace_back(*memory, share.inputs[i].size());
      backend.copyIn(*memory, share.inputs[i].data(), share.inputs[i].size());
      share.parts[i].input = *memory;
    }
    members.push_back(share.parts.front());
  }
  if (status.ok())
    status = moveData(backend, members);
  if (Status done = waitUntilDone(backend); status.ok())
    status = done;
  for (const auto &[memory, bytes] : staging)
    backend.release(memory, bytes);
  return status;
}

void BytesCommunicator::stop(const Status &status, bool fromElsewhere) {
  if (!reason.ok())
    return;
  std::vector<Completion *> waiting;
  {
    std::lock_guard<std::mutex> lock(mutex);
    reason = status;
    reasonFromElsewhere = fromElsewhere;
    for (auto &[key, meeting] : meetings)
      for (auto &queue : meeting.shares)
        for (const Share &share : queue)
          if (share.inputs.empty())
            waiting.push_back(share.parts.front().completion);
    meetings.clear();
  }
  gathered.notify_all();
  Writer message(Kind::AbortElsewhere);
  message.put(status.code());
  message.put(status.message().data(), status.message().size());
  for (size_t other = 0; other < queues->sessions() && !fromElsewhere; ++other)
    if (other != session)
      queues->send(other, message.bytes);
  for (Completion *completion : waiting)
    completion->completed(status);
}

std::vector<PendingOperation> BytesCommunicator::pending() const {
  std::vector<PendingOperation> result;
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[key, meeting] : meetings)
    for (const auto &queue : meeting.shares)
      for (size_t turn = 0; turn < queue.size(); ++turn) {
        if (!queue[turn].inputs.empty())
          continue;
        const Operation &operation = queue[turn].parts.front();
        PendingOperation &pending = result.emplace_back();
        pending.tag = operation.tag, pending.rank = operation.rank();
        for (size_t i = 0; i < meeting.members.size(); ++i)
          if (meeting.shares[i].size() <= turn)
            pending.missing.push_back(meeting.members[i]);
      }
  return result;
}

Status BytesCommunicator::abortedElsewhere() const {
  std::lock_guard<std::mutex> lock(mutex);
  return reasonFromElsewhere ? reason : Status();
}

Result<std::vector<std::vector<uint8_t>>> BytesCommunicator::gather(const std::vector<uint8_t> &own, double timeoutSeconds) {
  Writer message(Kind::Gather);
  message.put(static_cast<uint64_t>(session));
  message.put(own.data(), own.size());
  for (size_t other = 0; other < queues->sessions(); ++other)
    if (other != session)
      queues->send(other, message.bytes);
  std::unique_lock<std::mutex> lock(mutex);
  gathering[session].push_back(own);
  auto there = [](const auto &queue) { return !queue.empty(); };
  auto complete = [&] { return std::all_of(gathering.begin(), gathering.end(), there); };
  bool inTime = gathered.wait_for(lock, std::chrono::duration<double>(timeoutSeconds), [&] { return complete() || !reason.ok(); });
  if (complete()) {
    std::vector<std::vector<uint8_t>> all;
    for (auto &queue : gathering) {
      all.push_back(std::move(queue.front()));
      queue.pop_front();
    }
    return all;
  }
  if (inTime)
    return reason;
  std::ostringstream text;
  text << "session " << session << " waited " << timeoutSeconds << " s for session "
       << std::find_if_not(gathering.begin(), gathering.end(), there) - gathering.begin() << " to do the same";
  lock.unlock();
  Status status(Code::Timeout, text.str());
  abort(status);
  return status;
}

} // namespace npar::testing
