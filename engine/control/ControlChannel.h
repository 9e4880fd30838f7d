// The job's control channel over TCP: finds processes that are gone, stopped, failed or left behind, and gives all processes one report.
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
  double timeoutSeconds = 300; ///< a process is considered lost after this silence
  double joinSeconds = 60;     ///< time limit for all processes to call `open`
  std::string host;            ///< name of this process's host in reports; empty: the machine's name
  uint32_t address = 0;        ///< address at which the others reach this process (ProcessGroup::address); 0 if unknown
  JobKeyPointer key;           ///< null: the job has no secret
  /// Called once, from the channel's thread, when the job has failed, before the listener of the FailureChannel.
  std::function<void(const FailureReport &)> onVerdict;
};

/// One thread of its own does all sending and receiving (ControlCore.h has the rules). Thread-safe. A single process needs no socket.
///
/// IPv4 only. The listeners of `joinJob` close once all processes have connected. Every process proves that it knows the job's secret, or
/// over MPI a token that was exchanged through MPI. That keeps strangers out, but not an attacker who can change packets: nothing is
/// encrypted.
class ControlChannel final : public FailureChannel {
public:
  /// Must be called by all processes at the same time.
  static Result<std::unique_ptr<ControlChannel>> open(const ControlOptions &options, const GatherBytes &gather);
  /// Tells the others that this process ends normally.
  ~ControlChannel() override;

  /// Reports a failure. One with Code::Timeout means that something hangs and must be investigated; any other is a cause. `verdict` returns
  /// the outcome.
  void tell(const Status &status) override;
  void accuse(int64_t rank, const Status &status) override;
  void listen(const void *listener, std::function<void(const Status &)> told) override;

  /// Sets the object that runs this process's ranks; null: none. Returns only when the previous one is not being called.
  void watch(const Observed *observed);
  /// Sets the flight record, which gets signs of life at every beat, and the verdict; null: none. Not owned.
  void record(FlightRecord *record);
  /// Sets this process's activity outside of training steps, such as "saving a checkpoint".
  void phase(const std::string &what);
  /// The reason of the job's failure, the same in all processes; waits up to `waitSeconds` for it. Nothing if the job has not failed.
  std::optional<FailureReport> verdict(double waitSeconds) const;
  /// Ends the stopped processes of this host, which no other process could do later. Call it in a failed job after the last output, before
  /// this process ends. The channel itself does it half a second after the verdict.
  void endStopped();
  /// The processes of the job and their hosts.
  const std::vector<JobPeer> &peers() const;

private:
  struct State;
  explicit ControlChannel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace npar::engine
