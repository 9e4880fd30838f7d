// Follows the ranks of a session step by step, so that the control channel can report their places and their waits.
#pragma once

#include "engine/control/FlightRecord.h"
#include "engine/control/Observed.h"
#include "engine/runtime/StepObserver.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace npar::engine {

/// Numbers the steps of all sessions of a process in the order in which they begin, from 0. Processes of a job take the same steps in the
/// same order, so a number means the same step in all of them, whichever session it belongs to.
struct SessionRounds {
  std::atomic<int64_t> last{-1};     ///< number of the step that began last
  std::atomic<uint32_t> session{0};  ///< session of that step
};

/// The observer of one session (SessionParts.observer), number `session` of its process. Other sessions of the process need watches of
/// their own, with the same `rounds`: SessionWatches has all of them. `record` (may be null, not owned) gets every event.
class SessionWatch final : public StepObserver, public Observed {
public:
  explicit SessionWatch(FlightRecord *record = nullptr, uint32_t session = 0,
                        std::shared_ptr<SessionRounds> rounds = std::make_shared<SessionRounds>())
      : record(record), session(session), rounds(std::move(rounds)) {}

  void opened(const program::Program &program, const StepGraph &graph, const Operations &operations,
              const Communicator &communicator) override;
  void closed() override;
  void stepBegan(int64_t step) override;
  void stepEnded() override;
  void began(uint32_t node) override { moved(node, false); }
  void ended(uint32_t node) override { moved(node, true); }
  void failed(uint32_t node) override;

  /// The reason why a record is missing although it was requested.
  Status recordStatus() const;
  /// Number of moves of all ranks so far; 0 without a session.
  uint64_t progress() const;
  bool hasFailed() const { return failing.load(); }

  std::vector<int64_t> ranks() const override;
  ProcessState look(bool waits) const override;
  Joined joined(const Question &question) const override;
  Place failedPlace() const override;

private:
  struct alignas(64) Rank {
    std::atomic<uint32_t> last{noIndex}; ///< node that it began last
    std::atomic<uint64_t> moves{0};
  };
  void moved(uint32_t node, bool done);
  void noteAll(FlightEvent event);
  ProcessState lookNow(bool waits) const;
  void addWaits(RankState &rank, uint32_t local, std::vector<PendingOperation> pending) const;
  Place placeOf(uint32_t node) const;
  MeetingPlace meetingOf(uint32_t node) const;
  /// The mark of a node that began, or ended (`done`), in this step.
  uint32_t markOf(bool done) const { return static_cast<uint32_t>(round.load(std::memory_order_relaxed) + 1) * 2 + done; }

  FlightRecord *record;
  uint32_t session;
  std::shared_ptr<SessionRounds> rounds;
  Status recording;
  mutable std::mutex mutex; ///< held while the fields below are set, cleared or used; never by a worker
  const program::Program *program = nullptr;
  const StepGraph *graph = nullptr;
  const Operations *operations = nullptr;
  const Communicator *communicator = nullptr;
  std::optional<ProcessState> atFailure;          ///< state of all ranks at the failure
  std::unique_ptr<Rank[]> moves;                  ///< by place in StepGraph::ranks
  std::unique_ptr<std::atomic<uint32_t>[]> marks; ///< by node: step in which it last began or ended
  std::atomic<int64_t> trainingStep{-1}, round{-1};
  std::atomic<bool> inStep{false}, failing{false};
  std::atomic<uint32_t> failedNode{noIndex};
};

} // namespace npar::engine
