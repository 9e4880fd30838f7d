// Follows the ranks of a session step by step, so that the control channel can say where they stand and whom they wait for.
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

/// Given to a session (SessionParts.observer) and to the control channel (ControlChannel::watch). Sessions may follow each other, the last
/// one counts. `record`, where there is one, gets every event; not owned.
class SessionWatch final : public StepObserver, public Observed {
public:
  explicit SessionWatch(FlightRecord *record = nullptr) : record(record) {}

  void opened(const program::Program &program, const StepGraph &graph, const Operations &operations,
              const Communicator &communicator) override;
  void closed() override;
  void stepBegan(int64_t step) override;
  void stepEnded() override;
  void began(uint32_t node) override { moved(node, false); }
  void ended(uint32_t node) override { moved(node, true); }
  void failed(uint32_t node) override;

  /// Why there is no record although there should be one.
  Status recordStatus() const;

  std::vector<int64_t> ranks() const override;
  ProcessState look(bool waits) const override;
  Joined joined(const Question &question) const override;
  Place failedPlace() const override;

private:
  struct alignas(64) Rank {
    std::atomic<uint32_t> last{noIndex}; ///< the node it began last
    std::atomic<uint64_t> moves{0};
  };
  void moved(uint32_t node, bool done);
  void noteAll(FlightEvent event);
  ProcessState lookNow(bool waits) const;
  void addWaits(RankState &rank, uint32_t local, std::vector<PendingOperation> pending) const;
  Place placeOf(uint32_t node) const;
  MeetingPlace meetingOf(uint32_t node) const;
  /// Of a node in this training step.
  uint32_t markOf(bool done) const { return static_cast<uint32_t>(trainingStep.load(std::memory_order_relaxed) + 1) * 2 + done; }

  FlightRecord *record;
  Status recording;
  mutable std::mutex mutex; ///< held while what follows comes and goes, and while it is asked for; never by a worker
  const program::Program *program = nullptr;
  const StepGraph *graph = nullptr;
  const Operations *operations = nullptr;
  const Communicator *communicator = nullptr;
  std::optional<ProcessState> atFailure;          ///< where all stood then
  std::unique_ptr<Rank[]> moves;                  ///< by place in StepGraph::ranks
  std::unique_ptr<std::atomic<uint32_t>[]> marks; ///< by node: in which training step it began or ended last
  std::atomic<int64_t> trainingStep{-1};
  std::atomic<bool> inStep{false};
  std::atomic<uint32_t> failedNode{noIndex};
};

} // namespace npar::engine
