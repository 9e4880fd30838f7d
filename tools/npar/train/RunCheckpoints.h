// The checkpoints of one `npar train`: finds the one to resume from, decides when to save, and records data and model in them.
#pragma once

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/CheckpointWriter.h"
#include "engine/data/DataSource.h"
#include "engine/logging/LogFormat.h"
#include "tools/npar/checkpoint/AgreedCheckpoint.h"
#include "tools/npar/train/RunFlags.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

/// Without --checkpoint every function does nothing and succeeds. A function that returns an ExitCode has printed its errors. A function
/// that takes the job must be called by all processes together.
class RunCheckpoints {
public:
  explicit RunCheckpoints(const RunFlags &flags) : flags(flags) {}

  bool wanted() const { return !flags.checkpoint.empty(); }
  /// Checks, before anything is compiled, that the folder can be written. Refuses a folder with checkpoints unless --resume is given, so
  /// that two trainings do not mix.
  ExitCode look() const;
  /// Selects, with --resume, the newest intact checkpoint that process 0 finds; all other processes must find the same one.
  ExitCode choose(Job &job);
  /// Keeps the texts that the model was read from and the arguments that selected it, for a copy in every checkpoint.
  void keepOrigin(const ModelOrigin &origin);

  /// True if the training resumes from a checkpoint.
  bool resumes() const { return origin.has_value(); }
  /// The first step of this run.
  int64_t firstStep() const { return origin ? static_cast<int64_t>(origin->manifest.step) : 0; }
  /// Seed for parameters, dropout and data order. A resumed training keeps the seed of its checkpoint.
  uint64_t seed(const program::Program &program) const;
  /// Refuses a program of another model, or other data than the checkpoint's. Moves `data`, which must outlive this object, to the position
  /// where the checkpoint stopped.
  ExitCode goOn(const program::Program &program, engine::DataSource &data, const engine::BatchShape &shape);
  /// Bytes of a snapshot of these ranks, or of all ranks if the list is empty; 0 without checkpoints.
  uint64_t snapshotBytes(const program::Program &program, const std::vector<int64_t> &ranks) const;
  /// Locks the folder, allocates the snapshot, and when resuming loads the session from the checkpoint. If that is damaged, an older
  /// checkpoint is used instead.
  ExitCode open(Job &job, engine::Session &session, ProgramPointer program);

  /// Call it after each finished step; `done` counts all steps. Polls a running save and starts the next one if it is due. A failed save is
  /// reported and remembered, but training continues: an error returned here ends the training.
  engine::Status afterStep(int64_t done, double rate);
  /// Call it at the end of training, whatever the reason. Saves a last checkpoint, unless it exists already or `sound` is false, and waits
  /// until all are written. Here a failed save is an error.
  engine::Status atEnd(int64_t done, bool sound);
  /// The saves that failed since the last call, for the log.
  std::vector<engine::FailedSaveRecord> takeFailures();
  /// All failed saves.
  const std::vector<engine::FailedSaveRecord> &failures() const { return failed; }
  /// Keeps the checkpoint of this step, the best so far, regardless of --checkpoint-keep. Saves it if no save has started. `best.json` in
  /// the folder names it, with the value, as soon as it is complete.
  engine::Status keepBest(int64_t done, const std::string &name, double value);
  /// When resuming: step and value of the best checkpoint so far, if `best.json` has a value of that name. That checkpoint is kept.
  std::optional<std::pair<int64_t, double>> bestBefore(const std::string &name);
  /// The folder of the newest checkpoint; empty before the first complete one.
  std::string newest() const;

private:
  ExitCode takeNewest(Job &job, uint64_t below, const engine::Status &damage);
  ExitCode fill(Job &job, engine::Session &session, const program::Program &program);
  engine::Status save(int64_t done);
  engine::Status settle(const engine::Status &outcome, bool atEnd = false);
  /// Writes `best.json` if the best checkpoint is complete.
  engine::Status nameBest();
  /// Protects the checkpoint named in `best.json`, and its pending successor, from removal by --checkpoint-keep.
  void spareBest();
  void sayRemarks();

  struct Origin {
    engine::Manifest manifest;
    std::string folder, description;
  };

  const RunFlags &flags;
  std::optional<Origin> origin;                         ///< the checkpoint to resume from; nothing: training starts at step 0
  std::shared_ptr<const engine::CheckpointStore> store; ///< that checkpoint, until it has been read
  std::vector<std::string> constants;                   ///< names of the model's constants
  std::unique_ptr<engine::CheckpointWriter> writer;
  engine::CheckpointOptions options;
  engine::DataPosition position;        ///< position in the data at the first step of this run
  engine::DataSource *source = nullptr; ///< the training's data, once known
  std::optional<engine::BatchShape> batches;
  uint64_t seedInUse = 0;
  std::vector<engine::FailedSaveRecord> failed;
  size_t told = 0;    ///< number of failed saves that `takeFailures` has returned
  int64_t saved = 0;  ///< step of the last save that was started; -1: it failed
  int64_t best = -1;  ///< step of the best checkpoint that `best.json` does not name yet; -1: none
  int64_t named = -1; ///< step of the checkpoint in `best.json`; -1: none
  std::string bestText;
  bool isFirst = false;      ///< this process has rank 0 and writes `best.json`
  bool bestIsBehind = false; ///< `best.json` could not be written, and a warning was printed
  double rate = 0;
};

} // namespace npar::driver
