// The training loop: reads batches, runs a session's steps and reports each of them. Knows nothing of files, flags and terminals.
#pragma once

#include "engine/data/DataSource.h"
#include "engine/runtime/Replicas.h"
#include "engine/runtime/Session.h"
#include "engine/training/StepNote.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npar::training {

struct TrainerOptions {
  int64_t steps = 0;          ///< steps done at the end, including those of earlier runs
  int64_t checkReplicas = 0;  ///< steps between two comparisons of replicas; 0: none
  bool endIfNotFinite = true; ///< a loss or gradient norm that is not finite ends the training
  bool hashBatches = false;   ///< fill in StepReport::batchHash
  bool computes = true;       ///< false: the session computes nothing (backend "null"), so its results are reported as NaN
  bool alone = true;          ///< false: several processes train together and all end after the same step
};

/// One finished step.
struct StepReport {
  StepReport(int64_t step, const engine::StepResult &result) : step(step), result(result) {}
  int64_t step;
  const engine::StepResult &result;                ///< valid only while the observer is called
  double loss = 0, gradNorm = 0, learningRate = 0; ///< from `result`; NaN if nothing was computed
  std::vector<double> losses;                      ///< values of result.losses; NaN if nothing was computed
  std::vector<double> logged;                      ///< result.logged; NaN if nothing was computed
  double seconds = 0;                              ///< of the step, without waiting for its batch
  double waited = 0;                               ///< seconds spent waiting for the batch; 0 for the first step of a run
  int64_t amount = 0;                              ///< tokens or samples of the batch
  double perSecond = 0;                            ///< tokens or samples per second
  std::optional<int64_t> epoch;                    ///< epoch of the batch's first sample; nothing if data have no end
  std::optional<double> epochsDone;                ///< passes over the data after this step, with a fraction; nothing if data have no end
  int64_t samplesIntoEpoch = 0;                    ///< position of the batch's first sample in its epoch
  std::string batchHash; ///< 32 hex digits, independent of how processes divided the batch; empty without hashBatches
};

/// The outcome of a training run.
struct TrainingResult {
  int64_t first = 0, steps = 0;                     ///< the first step of this run; steps done, including those before it
  int64_t notFinite = 0;                            ///< steps whose loss or gradient norm was not finite
  std::string firstNotFinite;                       ///< description of the first of them
  int64_t idle = 0;                                 ///< steps in which no target counted
  std::optional<int64_t> validTokens;               ///< sum over all steps
  double loss = 0;                                  ///< loss of the last step; NaN if no step ran
  std::vector<engine::NamedLoss> losses;            ///< losses of the last step
  double perSecond = 0;                             ///< mean of all steps except the first (warm-up), unless it is the only one
  double waited = 0;                                ///< seconds spent waiting for the next batch
  double seconds = 0;                               ///< duration of all steps except the first, without waiting
  std::optional<int64_t> epoch;                     ///< epoch of the next sample; nothing if data have no end
  std::optional<engine::ReplicaDifference> corrupt; ///< the difference between replicas that ended the training
  int64_t compared = 0;                             ///< steps done when all replicas were last found equal
  std::string stoppedBy;                            ///< the signal, of any process, that ended the training early; empty: none
};

/// Callbacks for the owner of a training run. The trainer waits for each call.
class TrainingObserver {
public:
  virtual ~TrainingObserver() = default;
  /// Why this process wants to end after the current step: a signal's name, or StepNote::cannotWrite. Empty: continue.
  virtual std::string wantsToEnd() { return ""; }
  virtual void finished(const StepReport & /*report*/) {}
  /// Runs evaluations and checkpoints after `done` steps. True ends the training normally; an error aborts it.
  virtual engine::Result<bool> between(int64_t /*done*/, const StepReport & /*report*/) { return false; }
};

class Trainer {
public:
  Trainer(const program::Program &program, const TrainerOptions &options, TrainingObserver &observer);
  /// This process's packed StepNote for the current step; use it as SessionOptions::note of the session passed to `run`.
  std::vector<uint8_t> note();
  /// Makes the training end after this many steps, those before the first included.
  void trainUpTo(int64_t steps) { options.steps = steps; }
  /// Trains from step `first` to the end. What `result` has until an error stays.
  engine::Status run(engine::Session &session, const engine::DataSource &data, int64_t first);
  const TrainingResult &result() const { return outcome; }
  /// "tokens", or "samples" if the model predicts no token.
  const char *unit() const { return tokens > 0 ? "tokens" : "samples"; }

private:
  StepReport reportOf(int64_t step, const engine::StepResult &result, double seconds, const engine::DataSource &data) const;
  void addUp(const engine::Session &session, const StepReport &report);
  engine::Status compareReplicas(engine::Session &session, int64_t done);
  bool shouldEnd(const std::vector<StepNote> &notes);

  const program::Program &program;
  engine::BatchShape shape;
  int64_t tokens; ///< predicted tokens per sample; 0: progress is counted in samples
  TrainerOptions options;
  TrainingObserver &observer;
  TrainingResult outcome;
  std::vector<RowHash> rows; ///< hashes of the samples of the current batch that this process reads
};

} // namespace npar::training
