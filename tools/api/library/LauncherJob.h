// The processes that a launcher such as torchrun started together, seen from a host program in one of them. They connect over TCP. Unlike
// the driver's Job it never ends the process, prints nothing and handles no signal: a failure of one process is an error in all.
#pragma once

#include "engine/comm/process/Launcher.h"
#include "engine/comm/process/ProcessGroup.h"
#include "engine/control/ControlChannel.h"
#include "engine/control/SessionWatches.h"
#include "engine/job/Call.h"
#include "engine/job/HostShare.h"
#include "engine/job/Introduction.h"
#include "engine/job/Processes.h"
#include "engine/status/Observer.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace npar::api {

class LauncherJob final : public job::Processes {
public:
  /// Joins the other processes, or returns the job that a trainer of this process has joined and not left. Null: the environment has no
  /// variables of a launcher, or those of a single process. Usage: the launcher's processes need MPI.
  static engine::Result<std::shared_ptr<LauncherJob>> join(double timeoutSeconds, engine::Observer &observer);
  /// Leaves in order if the other processes do so at about the same time.
  ~LauncherJob() override;
  LauncherJob(const LauncherJob &) = delete;
  LauncherJob &operator=(const LauncherJob &) = delete;

  bool isAlone() const override { return false; }
  bool isFirst() const override { return launch.process == 0; }
  void phase(const std::string &what) const override { control->phase(what); }
  engine::Status agree(const engine::Status &own) override;
  engine::Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own) const override;
  engine::Result<std::string> decide(const std::function<engine::Result<std::string>()> &make) override;
  engine::Result<int> threads(int asked) const override { return job::workersOf(introductions, launch.process, asked); }
  engine::Crew crew(int threads, const std::string &backend) const override {
    return job::crewOf(introductions, launch.process, threads, backend);
  }
  std::vector<int64_t> ranksOnHost(const program::Program &program) const override {
    return job::ranksOnHostOf(introductions, launch.process, program, std::nullopt);
  }
  program::ProductOrder fastestOrder() const override { return job::agreedOrder(introductions); }
  engine::Result<std::unique_ptr<engine::Session>> createSession(const program::ProgramPointer &program,
                                                                 const engine::SessionOptions &options) override;

  uint32_t process() const { return launch.process; }
  uint32_t processes() const { return launch.processes; }
  /// "process 2 on 'b'".
  const std::string &nameOf(size_t process) const { return names[process]; }
  /// Begins a call that all processes make together: returns once they have compared their calls (agreeOnCall), before any data move. An
  /// error is one in all processes, after which they can make other calls. One that waits for longer than the time limit ends the job.
  engine::Status begin(job::Call call);
  /// Held from `begin` to the end of the call: all trainers of the job share one order of calls. An observer of a call may begin another
  /// one.
  std::unique_lock<std::recursive_mutex> oneCallAtATime() { return std::unique_lock<std::recursive_mutex>(calling); }
  /// The number of a new trainer, from 1, for messages. Call it inside the call that creates the trainer.
  uint32_t countTrainer() { return ++trainers; }
  uint32_t trainersCreated() const { return trainers; }
  /// Ends the job in all processes: this one cannot end its call as the others do.
  void abandon(const engine::Status &status) { control->tell(status); }
  /// BadInput, in all processes, unless the bytes are equal in all of them. `what`: what they are, such as "the program".
  engine::Status checkSame(const std::vector<uint8_t> &own, const std::string &what);
  /// The reason why the job has failed, which is the same in all processes; `status` if it has not.
  engine::Status causeOf(const engine::Status &status) const;

private:
  LauncherJob(engine::Launch launch, double timeout) : launch(std::move(launch)), timeout(timeout) {}
  engine::Status open(engine::Observer &observer);
  engine::Status introduce();
  engine::Status openControl();
  /// Gathers what processes contribute to one call. `packed`: a message of job/Call.h.
  engine::Result<std::vector<std::vector<uint8_t>>> exchange(const std::vector<uint8_t> &packed, double timeoutSeconds) const;
  /// The same; if it fails the job ends in all processes.
  engine::Result<std::vector<std::vector<uint8_t>>> exchangeOrEnd(const std::vector<uint8_t> &packed, double timeoutSeconds) const;
  /// Gathers inside the current call.
  engine::Result<std::vector<std::vector<uint8_t>>> inside(const std::vector<uint8_t> &own, double timeoutSeconds) const;

  engine::Launch launch;
  double timeout;
  engine::JobKeyPointer key; ///< null: the processes share no secret
  std::vector<job::Introduction> introductions;
  std::vector<std::string> names; ///< of the processes
  std::shared_ptr<engine::ProcessGroup> group;
  std::unique_ptr<engine::SessionWatches> watches; ///< one for each session
  std::unique_ptr<engine::ControlChannel> control;
  job::Call current; ///< the call that has begun last
  uint32_t trainers = 0;
  std::recursive_mutex calling; ///< held during a call
};

} // namespace npar::api
