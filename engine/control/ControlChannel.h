// The job's control channel on TCP: finds who is gone, stopped, failed or left behind, and tells everyone the same.
#pragma once

#include "engine/comm/process/FailureChannel.h"
#include "engine/control/FailureReport.h"
#include "engine/control/FlightRecord.h"
#include "engine/control/Join.h"
#include "engine/control/Observed.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace npar::engine {

struct ControlOptions {
  uint32_t process = 0, processes = 1;
  double timeoutSeconds = 300; ///< a process that has said nothing for so long is taken for lost
  double joinSeconds = 60;     ///< in which all processes must have come to `open`
  std::string host;            ///< what reports call this process's host; empty: the machine's name
  uint32_t address = 0;        ///< over which the others reach this process (ProcessGroup::address); 0 if unknown
  JobKeyPointer key;           ///< null: the job has no secret
  /// Called once, from the channel's thread, when the job has failed, before the listener of the FailureChannel.
  std::function<void(const FailureReport &)> onVerdict;
};

/// One thread of its own sends and hears everything (ControlCore.h has the rules). Thread-safe. One process alone needs no socket.
///
/// IPv4 only. The listeners of `joinJob` close once all processes have connected. Every process proves that it knows the job's secret, or
/// over MPI a token that was exchanged through MPI. That keeps strangers out, but not an attacker who can change packets: nothing is
/// encrypted.
class ControlChannel final : public FailureChannel {
public:
  /// Called by all processes at the same time.
  static Result<std::unique_ptr<ControlChannel>> open(const ControlOptions &options, const GatherBytes &gather);
  /// Tells the others that this process ends in good order.
  ~ControlChannel() override;

  /// A failure with Code::Timeout means that something hangs and is to be looked into; any other one is a cause. `verdict` says what comes
  /// of it.
  void tell(const Status &status) override;
  void accuse(int64_t rank, const Status &status) override;
  void listen(const void *listener, std::function<void(const Status &)> told) override;

  /// Who runs this process's ranks from now on; null: nobody. Returns only when the one before is not being asked.
  void watch(const Observed *observed);
  /// A flight record that gets signs of life at every beat, and the verdict; null: none. Not owned.
  void record(FlightRecord *record);
  /// What this process does outside of training steps, such as "saving a checkpoint".
  void phase(const std::string &what);
  /// Why the job has failed, the same in all processes; waits so long for it. Nothing: it has not failed.
  std::optional<FailureReport> verdict(double waitSeconds) const;
  /// After the last word of a job that has failed, before this process ends: ends the processes of its host that are stopped, for nobody
  /// would be left to do it. The channel does it itself half a second after the verdict.
  void endStopped();
  /// The processes of the job and their hosts.
  const std::vector<JobPeer> &peers() const;

private:
  struct State;
  explicit ControlChannel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace npar::engine
