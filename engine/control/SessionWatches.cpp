// Chooses among the sessions of a process the one that a question is about.
#include "engine/control/SessionWatches.h"

#include <algorithm>
#include <set>

namespace npar::engine {

SessionWatch &SessionWatches::next() {
  std::lock_guard<std::mutex> lock(mutex);
  return *watches.emplace_back(std::make_unique<SessionWatch>(record, static_cast<uint32_t>(watches.size()), rounds));
}

const SessionWatch *SessionWatches::current() const {
  auto failed = std::find_if(watches.begin(), watches.end(), [](const auto &watch) { return watch->hasFailed(); });
  if (failed != watches.end())
    return failed->get();
  uint32_t session = rounds->session.load();
  return session < watches.size() ? watches[session].get() : nullptr;
}

std::vector<int64_t> SessionWatches::ranks() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::set<int64_t> ranks;
  for (const auto &watch : watches)
    for (int64_t rank : watch->ranks())
      ranks.insert(rank);
  return {ranks.begin(), ranks.end()};
}

ProcessState SessionWatches::look(bool waits) const {
  std::lock_guard<std::mutex> lock(mutex);
  const SessionWatch *watch = current();
  ProcessState state = watch ? watch->look(waits) : ProcessState();
  state.progress = 0;
  for (const auto &each : watches)
    state.progress += each->progress();
  return state;
}

/// A session that this process does not have yet is one that it has not come to.
Joined SessionWatches::joined(const Question &question) const {
  std::lock_guard<std::mutex> lock(mutex);
  return question.meeting.session < watches.size() ? watches[question.meeting.session]->joined(question) : Joined::NotYet;
}

Place SessionWatches::failedPlace() const {
  std::lock_guard<std::mutex> lock(mutex);
  const SessionWatch *watch = current();
  return watch ? watch->failedPlace() : Place();
}

} // namespace npar::engine
