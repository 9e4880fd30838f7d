// The checkpoints of one `npar train`: which one it goes on from, when the next is written, and what they say of data and model.
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

/// Without --checkpoint every call does nothing and is good. Errors of the kind ExitCode were printed. What takes the job all processes
/// call together.
class RunCheckpoints {
public:
  explicit RunCheckpoints(const RunFlags &flags) : flags(flags) {}

  bool wanted() const { return !flags.checkpoint.empty(); }
  /// Before anything is compiled: whether the folder could be written. A folder that holds checkpoints without --resume is refused, so that
  /// no two trainings mix.
  ExitCode look() const;
  /// With --resume: the newest whole checkpoint that process 0 finds, which all others must find too.
  ExitCode choose(Job &job);
  /// The texts that the model was read from, which every checkpoint keeps a copy of, and how it was called.
  void keepOrigin(const ModelOrigin &origin);

  /// Whether there is a checkpoint to go on from.
  bool resumes() const { return origin.has_value(); }
  /// The first step of this run.
  int64_t firstStep() const { return origin ? static_cast<int64_t>(origin->manifest.step) : 0; }
  /// Of parameters, dropout and order: the checkpoint's, for a training goes on as it began.
  uint64_t seed(const program::Program &program) const;
  /// Refuses a program of another model, and other data; lets the data, which live as long as this, go on where the checkpoint stopped.
  ExitCode goOn(const program::Program &program, engine::DataSource &data, const engine::BatchShape &shape);
  /// Bytes of a snapshot of these ranks, of all where there are none; 0 without checkpoints.
  uint64_t snapshotBytes(const program::Program &program, const std::vector<int64_t> &ranks) const;
  /// Takes the folder and the snapshot's memory, and with a checkpoint to go on from fills the session. Where that turns out to be damaged
  /// an older one takes its place.
  ExitCode open(Job &job, engine::Session &session, ProgramPointer program);

  /// After a finished step (`done` in all): how a save goes on, and whether the next one is due. A save that fails is told and remembered,
  /// and the training continues: what is returned is the end of it.
  engine::Status afterStep(int64_t done, double rate);
  /// At the end of the training, however it came: one more, unless it is there already or `sound` is false; waits until all are written.
  /// Here the failure of a save is an error.
  engine::Status atEnd(int64_t done, bool sound);
  /// Saves that have failed, for the log: those since the last call.
  std::vector<engine::FailedSaveRecord> takeFailures();
  /// All of them.
  const std::vector<engine::FailedSaveRecord> &failures() const { return failed; }
  /// The checkpoint of this step, which was the best so far, stays whatever --checkpoint-keep says, and `best.json` in the folder names it
  /// with that value as soon as it is whole. Saves it where that has not begun.
  engine::Status keepBest(int64_t done, const std::string &name, double value);
  /// With a checkpoint to go on from: step and value of the best one until then, by what `best.json` says of that name; it stays.
  std::optional<std::pair<int64_t, double>> bestBefore(const std::string &name);
  /// The folder of the newest checkpoint; empty when there is none.
  std::string newest() const;

private:
  ExitCode takeNewest(Job &job, uint64_t below, const engine::Status &damage);
  ExitCode fill(Job &job, engine::Session &session, const program::Program &program);
  engine::Status save(int64_t done);
  engine::Status settle(const engine::Status &outcome, bool atEnd = false);
  /// Names the best checkpoint when it is whole.
  engine::Status nameBest();
  /// Keeps the best checkpoint, and the one that will be it, out of what --checkpoint-keep removes.
  void spareBest();
  void sayRemarks();

  struct Origin {
    engine::Manifest manifest;
    std::string folder, description;
  };

  const RunFlags &flags;
  std::optional<Origin> origin;                         ///< the checkpoint to go on from; none: from the beginning
  std::shared_ptr<const engine::CheckpointStore> store; ///< that one, until it has been read
  std::vector<std::string> constants;                   ///< names of the model's own
  std::unique_ptr<engine::CheckpointWriter> writer;
  engine::CheckpointOptions options;
  engine::DataPosition position;        ///< of the first step of this run
  engine::DataSource *source = nullptr; ///< of the training, once it is known
  std::optional<engine::BatchShape> batches;
  uint64_t seedInUse = 0;
  std::vector<engine::FailedSaveRecord> failed;
  size_t told = 0;    ///< of these, that the log has
  int64_t saved = 0;  ///< the step of the last save that was begun; -1: it has failed
  int64_t best = -1;  ///< step of the best checkpoint that is not named yet; -1: none
  int64_t named = -1; ///< that of `best.json`
  std::string bestText;
  bool isFirst = false;      ///< this process has rank 0, and writes what there is once
  bool bestIsBehind = false; ///< `best.json` could not be written, which was said
  double rate = 0;
};

} // namespace npar::driver
