// The communicator of a session whose ranks are all those of one process of a job: local ranks meet in memory, others by messages.
#pragma once

#include "engine/comm/local/LocalCommunicator.h"
#include "engine/comm/process/FailureChannel.h"
#include "engine/comm/process/Gathering.h"
#include "engine/comm/process/Meetings.h"
#include "engine/comm/process/TurnRules.h"

namespace npar::engine {

/// Groups whose ranks are all here are left to LocalCommunicator. For any other group, the local members meet in a table. When all have
/// arrived, the process sends an envelope to each other process, and the progress thread moves the data (Exchange.h). A process accepts
/// data only when the envelope that announces them agrees with what its own ranks have posted, regardless of the transport's own matching.
class ProcessCommunicator final : public Communicator, private FrameReader {
public:
  ProcessCommunicator(std::shared_ptr<Progress> progress, std::shared_ptr<Frames> frames, uint32_t stream, Backend &backend,
                      FailureChannel &failures);
  ~ProcessCommunicator() override;
  Status prepare(const CommunicationPlan &plan) override;
  bool needsOrder() const override { return false; }
  void beginStep(int64_t trainingStep) override { step.store(trainingStep); }
  void post(const Operation &operation) override;
  void abort(const Status &status) override;
  std::vector<PendingOperation> pending() const override;
  Status abortedElsewhere() const override;
  Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own, double timeoutSeconds) override;

private:
  void read(uint32_t from, const Frame &frame) override;
  void tick() override;
  void fail(const Status &status) override { stop(status, noRank, false); }

  static constexpr int64_t noRank = -1;
  /// The first call counts. `culprit`: the rank that caused the failure, if known.
  void stop(const Status &status, int64_t culprit, bool fromElsewhere);
  void accuse(const Offence &offence) { stop(Status::runFailed(offence.text), offence.rank, false); }
  Status reasonToStop() const;
  /// Completes waiting operations with the error.
  void sweep();
  void sweepExchanges();
  /// Returns the mark of the current training step, which is also that of every running operation.
  StepMark mark() const { return {program, step.load()}; }

  // These run on the progress thread:
  void begin(Meeting &meeting);
  void agree(Meeting &meeting, size_t party);
  void end(Meeting &meeting, const Status &status);
  void refuse(uint32_t process, const Refusal &refusal);
  void refuseWhatHasPassed();
  void failBecauseOf(uint32_t process, const char *what);
  void findSkipped(uint32_t process, const Refusal &refusal);

  std::shared_ptr<Progress> progress;
  std::shared_ptr<Frames> frames;
  uint32_t stream;
  Backend &backend;
  FailureChannel &failures;
  LocalCommunicator local;
  Groups groups;
  TurnRules rules;
  Gathering gathering;
  Scratch scratch;
  Meetings meetings;
  std::vector<std::unique_ptr<Exchange>> stopped; ///< exchanges to which messages may still refer
  uint64_t program = 0;                           ///< hash of the planned program
  std::atomic<int64_t> step{-1};
  std::atomic<bool> aborted{false};
  mutable std::mutex mutex;
  Status reason;
  bool reasonFromElsewhere = false;
};

} // namespace npar::engine
