// A command's view of the processes that a launcher started together: which processes there are, agreement between them, and sessions that
// span them.
#pragma once

#include "engine/comm/process/Launcher.h"
#include "engine/comm/process/ProcessGroup.h"
#include "engine/control/ControlChannel.h"
#include "engine/control/SessionWatches.h"
#include "engine/job/Introduction.h"
#include "engine/job/Processes.h"
#include "engine/runtime/SessionParts.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/job/HardExit.h"
#include "tools/npar/job/JobOptions.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/terminal/Outcome.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace npar::driver {

/// A command started by a plain shell is a job of one process: functions then work on it alone, or do nothing.
///
/// All processes of a job run the same command and call the same functions in the same order. Process 0 is the voice: only it writes
/// standard output, progress, remarks, logs and summaries. Each process keeps its errors until all agree on the outcome of a phase; then
/// the voice prints each error once. After `join` every ExitCode and Outcome is the same in all processes.
class Job final : public job::Processes {
public:
  ~Job() override;
  Job(const Job &) = delete;
  Job &operator=(const Job &) = delete;

  bool isAlone() const override { return launch.isAlone(); }
  bool isFirst() const override { return isVoice(); }
  bool isVoice() const { return launch.process == 0; }
  uint32_t process() const { return launch.process; }
  uint32_t processes() const { return launch.processes; }
  /// Usage if this process is one of several, or if a flag for jobs is given; for commands that run in one process.
  ExitCode refuseOthers(const std::string &command) const;

  /// Opens the launcher's MPI, waits for the other processes, and refuses processes with another npar, command line or kind of processor.
  /// Only checks of flags belong before this call; whatever depends on files or on the machine must follow it. From now on the processes
  /// watch over each other: when one fails, disappears or does not answer for `timeoutSeconds`, one of the others reports why (with `json`
  /// on standard output too), and all of them end.
  ExitCode join(double timeoutSeconds, bool json);

  /// Synchronizes all processes at the end of a phase. Returns the code of the first process that failed; the voice prints the errors of
  /// all processes.
  ExitCode agree(ExitCode own);
  /// The same for an error that is not printed yet. The result is printed.
  engine::Status agree(const engine::Status &own) override;

  void phase(const std::string &what) const override;
  /// Refuses a world that these processes cannot share evenly, unless each process runs all ranks.
  engine::Result<ProgramPointer> share(const std::function<engine::Result<ProgramPointer>()> &make, Ranks ranks) override;
  engine::Result<int> threads(int asked) const override;
  engine::Crew crew(int threads, const std::string &backend) const override;
  /// The hosts of the job, and its processes on this one.
  DeviceSharers deviceSharers() const;
  std::vector<int64_t> ranksOnHost(const program::Program &program) const override;
  engine::Status checkMemory(const std::vector<ProgramPointer> &programs, int threads) const override;
  program::ProductOrder fastestOrder() const override;
  engine::Result<std::unique_ptr<engine::Session>> createSession(const ProgramPointer &program,
                                                                 const engine::SessionOptions &options) override;
  engine::Result<std::string> decide(const std::function<engine::Result<std::string>()> &make) override;
  engine::Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own) const override;
  /// "process 2 on 'b'".
  std::string nameOf(size_t process) const { return job::nameOf(introductions, process); }
  files::FingerprintKind fingerprints() const { return options.fingerprints(); }

private:
  friend ExitCode inJob(const JobOptions &options, const std::function<ExitCode(Job &)> &body);
  Job();
  ExitCode find(const JobOptions &options);
  engine::Status open();
  ExitCode introduce();
  engine::Status openControl(bool json);
  void report(const engine::FailureReport &failure, bool json);
  engine::Result<std::vector<std::vector<int64_t>>> ranksOf(const program::Program &program) const;
  void remarkOnOrder(const program::Program &program, const engine::SessionOptions &asked);
  /// Prints this process's kept errors even if it is not the voice, after giving the voice, which may be missing, time to report first.
  void sayInPerson();
  /// Leaves the job in order and returns the code if the other processes are still there; otherwise exits the process.
  ExitCode end(ExitCode code);

  JobOptions options;
  engine::Launch launch;
  engine::JobKeyPointer key;                       ///< null: the processes share no secret, or MPI started them
  std::string flight;                              ///< the folder of flight records
  std::shared_ptr<engine::ProcessGroup> group;     ///< null: alone, or not joined yet
  std::unique_ptr<engine::FlightRecord> record;    ///< may be null
  std::unique_ptr<engine::SessionWatches> watches; ///< one for each session
  std::unique_ptr<HardExit> hardExit;              ///< ends the process if it hangs after a failure or while leaving the job
  std::atomic<bool> leaving = false;               ///< this process has begun to leave the job
  std::unique_ptr<engine::ControlChannel> control;
  std::vector<job::Introduction> introductions; ///< by process
  double timeout = 300;
  bool toldOrder = false; ///< the remark on the order of products was printed
  bool settled = false;   ///< all processes agreed that the command failed, and the reason was printed
  bool parted = false;    ///< the other processes never joined or are gone, so this one prints its own errors
  std::mutex reporting;   ///< held while the control channel reports and while `record` is set
  bool reported = false;  ///< this process has reported the failure
};

/// Runs a command as part of the job for which a launcher started this process.
ExitCode inJob(const JobOptions &options, const std::function<ExitCode(Job &)> &body);

} // namespace npar::driver
