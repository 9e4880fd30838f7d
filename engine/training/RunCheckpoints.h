// The checkpoints of one training run: finds the one to resume from, decides when to save, and records data and model in them.
#pragma once

#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/CheckpointWriter.h"
#include "engine/checkpoint/OtherSettings.h"
#include "engine/data/DataSource.h"
#include "engine/job/AgreedCheckpoint.h"
#include "engine/logging/LogFormat.h"
#include "engine/status/Observer.h"
#include "engine/training/RunClock.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace npar::training {

/// Says which checkpoints a run writes, and whether it resumes from one.
struct CheckpointPlan {
  std::string folder;                         ///< the folder of checkpoints; empty: none are written
  Interval every;                             ///< between two of them; not given: only at the end
  int64_t keep = 0;                           ///< how many stay; 0: all
  bool resume = false;                        ///< continue from the newest checkpoint of the folder
  std::optional<uint64_t> seed;               ///< of the command line
  RunClock *clock = nullptr;                  ///< of the run, which `goOn` starts; null: nothing runs
  std::optional<engine::GivenSettings> given; ///< of the command line, to compare with the checkpoint's; nothing: a compiled program
  bool quiet = false;                         ///< remarks on what went wrong only
};

/// The texts that a model was read from and the arguments that selected it, for a copy in every checkpoint.
struct KeptModel {
  std::vector<std::pair<std::string, std::string>> texts; ///< see CheckpointOptions
  engine::ModelCall call;
  std::vector<std::string> constants; ///< names of the model's constants
};

/// Without a folder every function does nothing and succeeds. A function that takes the processes must be called by all of them together.
class RunCheckpoints {
public:
  /// `observer` hears of remarks and warnings.
  RunCheckpoints(CheckpointPlan plan, engine::Observer &observer) : plan(std::move(plan)), observer(observer) {}

  bool wanted() const { return !plan.folder.empty(); }
  /// Checks, before anything is compiled, that the folder can be written. Refuses a folder with checkpoints unless --resume is given, so
  /// that two trainings do not mix.
  engine::Status look() const;
  /// Selects, with --resume, the newest intact checkpoint that the first process finds; all other processes must find the same one.
  engine::Status choose(job::Processes &processes);
  /// Keeps the model's texts in every checkpoint, with config.json and tokenizer (FolderFiles.h) of the folder `weights`, which may be a
  /// checkpoint; a resumed training keeps those of its checkpoint. Call it after `choose`.
  /// `parts`: what replaced a part of the weights.
  void keepModel(KeptModel model, const std::string &weights, const std::vector<std::string> &parts = {});
  /// Keeps the files of the tokenizer with which texts are read, in place of one from the folder of the weights. Call it after `keepModel`.
  void keepTokenizer(const std::string &path);

  /// Stores small files of a host program in the checkpoints. Call it after `keepModel`.
  void keepFiles(const std::vector<std::pair<std::string, std::string>> &files);
  /// Keeps settings that the run has chosen by trying in the checkpoints from now on.
  void keepTuned(std::vector<std::string> settings) { tuned = std::move(settings); }
  /// The settings that the resumed training has chosen by trying, if it was started with the settings and the plan in `given`.
  std::vector<std::string> tunedBefore(const std::vector<std::string> &given, const std::string &plan) const;

  /// True if the training resumes from a checkpoint.
  bool resumes() const { return origin.has_value(); }
  /// The folder whose model, configuration and tokenizer the run starts with: the checkpoint's when resuming, else `weights`.
  std::string startFolder(const std::string &weights) const { return origin ? origin->folder : weights; }
  /// The first step of this run.
  int64_t firstStep() const { return origin ? static_cast<int64_t>(origin->manifest.step) : 0; }
  /// The order of products of bf16 in the checkpoint to resume from; empty without one, or if it names none.
  std::string productsBefore() const { return origin ? origin->manifest.products : ""; }
  /// Seed for parameters, dropout and data order. A resumed training keeps the seed of its checkpoint.
  uint64_t seed(const program::Program &program) const;
  /// Refuses a program of another model, or other data than the checkpoint's. Moves `data`, which must outlive this object, to the position
  /// where the checkpoint stopped, and starts the run's clock there.
  engine::Status goOn(const program::Program &program, engine::DataSource &data, const engine::BatchShape &shape);
  /// Bytes of a snapshot of these ranks, or of all ranks if the list is empty; 0 without checkpoints.
  uint64_t snapshotBytes(const program::Program &program, const std::vector<int64_t> &ranks) const;
  /// Locks the folder, allocates the snapshot, and when resuming loads the session from the checkpoint. If that is damaged, an older
  /// checkpoint is used instead.
  engine::Status open(job::Processes &processes, engine::Session &session, program::ProgramPointer program);

  /// Call it after each finished step; `done` counts all steps. Polls a running save and starts the next one if it is due. A failed save is
  /// reported and remembered, but training continues: an error returned here ends the training.
  engine::Status afterStep(int64_t done, double rate);
  /// Call it at the end of training, whatever the reason. Saves a last checkpoint, unless it exists already or `sound` is false, and waits
  /// until all are written. Here a failed save is an error.
  engine::Status atEnd(int64_t done, bool sound);
  /// Saves a checkpoint, even of step 0, and waits until it is complete. `rate`: the last learning rate. A failed save is an error.
  engine::Status saveNow(int64_t done, double rate);
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
  engine::Status moveData(const program::Program &program, engine::DataSource &data);
  engine::Status takeNewest(job::Processes &processes, uint64_t below, const engine::Status &damage);
  engine::Status fill(job::Processes &processes, engine::Session &session, const program::Program &program);
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

  CheckpointPlan plan;
  engine::Observer &observer;
  std::optional<Origin> origin;                         ///< the checkpoint to resume from; nothing: training starts at step 0
  std::shared_ptr<const engine::CheckpointStore> store; ///< that checkpoint, until it has been read
  std::vector<std::string> constants;                   ///< names of the model's constants
  std::vector<std::string> tuned;                       ///< settings chosen by trying
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

} // namespace npar::training
