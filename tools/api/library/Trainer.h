// Defines a trainer: the session of a program, the steps done, and answers for the host.
#pragma once

#include "tools/api/StopHandle.h"
#include "tools/api/Texts.h"
#include "tools/api/library/Fence.h"
#include "tools/api/library/Handles.h"
#include "tools/api/library/LauncherJob.h"

#include "engine/runtime/BatchShape.h"
#include "engine/runtime/Session.h"
#include "engine/training/Evaluation.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace npar::api {

/// Owned by a trainer and by all views of its parameters.
struct TrainerMemory {
  program::ProgramPointer program;
  std::shared_ptr<LauncherJob> job; ///< null: this process is alone
  std::unique_ptr<engine::Session> session;
};

} // namespace npar::api

struct npar_trainer {
  explicit npar_trainer(npar_observer observer) : observer(observer) {}

  std::shared_ptr<npar::api::TrainerMemory> memory;
  std::shared_ptr<const npar::api::KeptRequest> request; ///< of the program; null: it was opened
  std::string origin;                                    ///< npar_program::origin
  std::string weights;                                   ///< path of the last weights that were loaded
  npar::api::HostObserver observer;                      ///< hears what the session says while it lives
  npar::engine::SessionOptions options;                  ///< of the session; sessions for evaluation and generation use them too
  npar::engine::BatchShape shape;
  int64_t done = 0;
  std::optional<std::pair<uint64_t, uint64_t>> folder; ///< of its checkpoints, the last one: device and number
  std::map<std::string, std::string> files;            ///< of the host, in the checkpoint that was resumed from
  npar_stop stop;                                      ///< also of compilations for evaluation and generation
  std::atomic<bool> busy{false};                       ///< a call is in progress
  std::atomic<int> users{1};                           ///< the handle, and calls in progress
  npar::job::Processes alone;
  std::unique_lock<std::recursive_mutex> order;           ///< of the job's calls, held during one that has begun
  uint32_t number = 0;                                    ///< of the job's trainers; 0: this process is alone
  std::unique_ptr<npar::training::Evaluation> evaluation; ///< of the steps of a program for evaluation; null: none yet
  int64_t evaluated = 0;                                  ///< samples of `evaluation`
  npar::engine::StepResult last;                          ///< whose losses `named` point to
  std::vector<npar_named_value> named;
  std::vector<npar_piece> pieces;                        ///< the last that were given
  std::vector<std::vector<int64_t>> sizes;               ///< of `pieces`
  std::map<std::string, std::vector<int64_t>> viewSizes; ///< shape and strides of views, by parameter

  const npar::program::Program &root() const { return memory->program->root(); }
  npar::engine::Session &session() const { return *memory->session; }
  /// The processes that share the ranks.
  npar::job::Processes &processes() { return memory->job ? static_cast<npar::job::Processes &>(*memory->job) : alone; }
  /// Usage if other processes have some of the ranks. `name`: the function that was called; `instead`: what to do.
  npar::engine::Status checkAlone(const char *name, const char *instead) const;
  /// Begins a call whose arguments are checked: `refusal` is the reason why one is wrong. If other processes have some of the ranks, waits
  /// until all of them make a call, and fails unless it is this one (LauncherJob::begin).
  npar::engine::Status begin(npar::job::Call call, const npar::engine::Status &refusal = {});
  /// Ends a call that can fail in one process alone: if it does, it fails in all. `changes`: the parameters of the processes may differ
  /// after a failure, which therefore ends the job.
  npar::engine::Status end(const npar::engine::Status &own, bool changes);
  /// The reason why the job has failed, if `status` is one of its errors (LauncherJob::causeOf).
  npar::engine::Status causeOf(const npar::engine::Status &status) const { return isShared() ? memory->job->causeOf(status) : status; }
  bool isShared() const { return memory->job != nullptr; }
  /// Remembers a folder whose checkpoints this trainer has resumed from or written: only there it may add more.
  void usesFolder(const std::string &path);
  bool hasUsedFolder(const std::string &path) const;
  /// Takes a request to stop, which ends only one piece of work.
  bool takesStop() { return stop.requested.exchange(false); }
  /// A step's result for the host; its losses stay valid until the next call.
  npar_step_result resultOf(const npar::engine::StepResult &result, int64_t step, double seconds);
};

namespace npar::api {

void release(npar_trainer *trainer);

/// Runs the body of a call. An exception of one that has begun ends the job: other processes wait for the rest of it.
template <typename Body> engine::Status guarded(npar_trainer &trainer, Body body) {
  try {
    return body(trainer);
  } catch (...) {
    if (trainer.order.owns_lock())
      trainer.memory->job->abandon(engine::statusOfThrown());
    throw;
  }
}

/// A call with a trainer: refuses a second one at the same time, and keeps the trainer until it ends.
template <typename Body> npar_code withTrainer(npar_trainer *trainer, const char *name, npar_error **error, Body body) noexcept {
  if (!trainer)
    return fenced(error, [&] { return needs(nullptr, name, "trainer"); });
  ++trainer->users;
  npar_code code = fenced(error, [&]() -> engine::Status {
    if (trainer->busy.exchange(true))
      return engine::Status::usage(std::string(name) +
                                   ": another call with this trainer is in progress; a trainer is for one thread at a time");
    struct Free {
      npar_trainer *trainer;
      ~Free() {
        trainer->order = {};
        trainer->busy = false;
      }
    } free{trainer};
    engine::Status status = guarded(*trainer, body);
    if (status.code() == engine::Code::Stopped)
      trainer->takesStop(); // a compilation only looks at it
    return status;
  });
  release(trainer);
  return code;
}

} // namespace npar::api
