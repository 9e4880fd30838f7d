// The watches of all sessions of a process, which the control channel sees as one.
#pragma once

#include "engine/control/SessionWatch.h"

#include <memory>
#include <mutex>
#include <vector>

namespace npar::engine {

/// A process may have several sessions, such as those of a training and of its evaluations, which take turns. Each gets a watch of its own,
/// which lives as long as this object. The control channel (ControlChannel::watch) sees the session whose step began last, or the one that
/// has failed. Processes of a job create their sessions in the same order. `record` (may be null, not owned) gets the
/// events of all.
class SessionWatches final : public Observed {
public:
  explicit SessionWatches(FlightRecord *record = nullptr) : record(record), rounds(std::make_shared<SessionRounds>()) {}

  /// The observer of the next session (SessionParts.observer).
  SessionWatch &next();

  std::vector<int64_t> ranks() const override;
  ProcessState look(bool waits) const override;
  Joined joined(const Question &question) const override;
  Place failedPlace() const override;

private:
  /// The watch that the control channel sees; null before the first `next`.
  const SessionWatch *current() const;

  FlightRecord *record;
  std::shared_ptr<SessionRounds> rounds;
  mutable std::mutex mutex; ///< held while a watch is added, and while watches are called; never by a worker
  std::vector<std::unique_ptr<SessionWatch>> watches;
};

} // namespace npar::engine
