// Posts a session's operations to another communicator in the program's order, whatever order its steps become ready in.
#include "engine/comm/ordered/OrderedCommunicator.h"

namespace npar::engine {

Status OrderedCommunicator::prepare(const CommunicationPlan &plan) {
  operations = plan.operations;
  for (const Operation *operation : operations)
    places.emplace(operation->tag, places.size());
  waiting.assign(operations.size(), false);
  return inner->prepare(plan);
}

void OrderedCommunicator::post(const Operation &operation) {
  std::unique_lock<std::mutex> lock(mutex);
  auto place = places.find(operation.tag);
  if (aborted || place == places.end()) {
    bool unknown = !aborted;
    lock.unlock();
    if (unknown)
      abort(Status(Code::Internal, std::string(nameOf(operation)) + " of rank " + std::to_string(operation.rank()) +
                                       " is not in the order of communication"));
    return inner->post(operation);
  }
  waiting[place->second] = true;
  postWhoseTurnItIs(lock);
}

/// One thread at a time posts, without the lock: posting may call a completion, and a thread that this starts only leaves its operation
/// here.
void OrderedCommunicator::postWhoseTurnItIs(std::unique_lock<std::mutex> &lock) {
  if (posting)
    return;
  posting = true;
  while (!aborted && waiting[next]) {
    const Operation &operation = *operations[next];
    waiting[next] = false;
    next = (next + 1) % operations.size();
    lock.unlock();
    inner->post(operation);
    lock.lock();
  }
  posting = false;
}

void OrderedCommunicator::abort(const Status &status) {
  inner->abort(status);
  std::vector<bool> held(operations.size(), false);
  {
    std::lock_guard<std::mutex> lock(mutex);
    aborted = true;
    held.swap(waiting);
  }
  for (size_t place = 0; place < held.size(); ++place)
    if (held[place])
      inner->post(*operations[place]);
}

std::vector<PendingOperation> OrderedCommunicator::pending() const {
  std::vector<PendingOperation> result = inner->pending();
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t place = 0; place < waiting.size(); ++place)
    if (waiting[place])
      result.push_back({operations[place]->tag, operations[place]->rank(), {}});
  return result;
}

} // namespace npar::engine
