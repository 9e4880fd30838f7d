// The training loop: batches in, steps of a session, what each came to out. Knows nothing of files, flags and terminals.
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
  int64_t first = 0;          ///< number of the first step
  int64_t steps = 0;          ///< steps that are done at the end, including those before `first`
  int64_t checkReplicas = 0;  ///< steps between two comparisons of replicas; 0: none
  bool endIfNotFinite = true; ///< a loss or gradient norm that is not finite ends the training
  bool hashBatches = false;   ///< StepReport::batchHash is wanted
  bool computes = true;       ///< false: the session only pretends to (backend "null"), so its results are reported as NaN
  bool alone = true;          ///< false: other processes train along, and all end after the same step
};

/// One finished step.
struct StepReport {
  StepReport(int64_t step, const engine::StepResult &result) : step(step), result(result) {}
  int64_t step;
  const engine::StepResult &result;                ///< as long as the observer is called
  double loss = 0, gradNorm = 0, learningRate = 0; ///< of `result`; NaN if nothing was computed
  std::vector<double> losses;                      ///< of result.losses, likewise
  double seconds = 0;
  int64_t amount = 0;               ///< tokens or samples of the batch
  double perSecond = 0;             ///< of these
  std::optional<int64_t> epoch;     ///< of the batch's first sample; nothing if data have no end
  std::optional<double> epochsDone; ///< passes over the data after this step, with a fraction; likewise
  int64_t samplesIntoEpoch = 0;     ///< position of the batch's first sample in its epoch
  std::string batchHash;            ///< 32 hex digits, equal however processes shared the batch; empty: not wanted
};

/// What a training came to.
struct TrainingResult {
  int64_t first = 0, steps = 0;                     ///< TrainerOptions::first; steps done, including those before it
  int64_t notFinite = 0;                            ///< steps whose loss or gradient norm was not finite
  std::string firstNotFinite;                       ///< a sentence about the first of them
  int64_t idle = 0;                                 ///< steps without a target that counts
  std::optional<int64_t> validTokens;               ///< sum over all steps
  double loss = 0;                                  ///< of the last step; NaN without one
  std::vector<engine::NamedLoss> losses;            ///< of the last step
  double perSecond = 0;                             ///< mean of all steps except the first, which also warms up; with one step, of that one
  double waited = 0;                                ///< seconds in which the next batch was not ready
  std::optional<int64_t> epoch;                     ///< of the next sample; nothing if data have no end
  std::optional<engine::ReplicaDifference> corrupt; ///< replicas that differ, which ended the training
  int64_t compared = 0;                             ///< steps after which all replicas were last equal
  std::string stoppedBy;                            ///< the signal that ended it early, of whichever process; empty: none
};

/// What a training's owner does between steps. The trainer waits for each call.
class TrainingObserver {
public:
  virtual ~TrainingObserver() = default;
  /// Why this process wants to end after the current step: a signal's name, or StepNote::cannotWrite. Empty: continue.
  virtual std::string wantsToEnd() { return ""; }
  virtual void finished(const StepReport & /*report*/) {}
  /// Evaluations and checkpoints after `done` steps. True ends the training well, an error ends it.
  virtual engine::Result<bool> between(int64_t /*done*/, const StepReport & /*report*/) { return false; }
};

class Trainer {
public:
  Trainer(const program::Program &program, const TrainerOptions &options, TrainingObserver &observer);
  /// For SessionOptions::note of the session that `run` gets: what this process tells the others at the end of a step.
  std::vector<uint8_t> note();
  /// Trains to the end. What `result` has until an error stays.
  engine::Status run(engine::Session &session, const engine::DataSource &data);
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
  int64_t tokens; ///< of a sample; 0: samples count
  TrainerOptions options;
  TrainingObserver &observer;
  TrainingResult outcome;
  std::vector<RowHash> rows; ///< of the current batch, as far as this process reads it
  double secondsAfterFirst = 0;
};

} // namespace npar::training
