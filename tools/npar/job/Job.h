// The processes that a launcher has started together, as a command sees them: who is here, what all agree on, and where sessions of all
// come from.
#pragma once

#include "engine/comm/process/Launcher.h"
#include "engine/comm/process/ProcessGroup.h"
#include "engine/control/ControlChannel.h"
#include "engine/control/HardExit.h"
#include "engine/control/SessionWatches.h"
#include "engine/job/ClockOffsets.h"
#include "engine/job/Introduction.h"
#include "engine/runtime/MemoryNeed.h"
#include "engine/runtime/SessionParts.h"
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

/// Of a command that a plain shell has started there is one process: everything here then does nothing, or what it says for that one alone.
///
/// All processes of a job run the same command and call the same of these, in the same order. Process 0 is the voice: standard output,
/// progress, remarks, logs and summaries are its own. Errors are kept where they arise, until all processes agree on what became of a
/// phase; then the voice says them, each once. ExitCode and Outcome are the same everywhere after `join`.
class Job {
public:
  ~Job();
  Job(const Job &) = delete;
  Job &operator=(const Job &) = delete;

  bool isAlone() const { return launch.isAlone(); }
  bool isVoice() const { return launch.process == 0; }
  uint32_t process() const { return launch.process; }
  uint32_t processes() const { return launch.processes; }
  /// For a command that works in one process: refuses to be one of several.
  ExitCode refuseOthers(const std::string &command) const;

  /// Opens the MPI of the launcher, waits for the other processes, and refuses those that are of another npar, command line or processor.
  /// Nothing sees the machine before: what only looks at flags stands before this call, everything else after it. From now on the processes
  /// watch over each other: when one fails, is gone or has not answered for `timeoutSeconds`, one of the others says why, with `json` on
  /// standard output too, and all of them end.
  ExitCode join(double timeoutSeconds, bool json);

  /// All processes meet here with what became of a phase: the code of the first that failed, whose errors, and those of others, are said
  /// now.
  ExitCode agree(ExitCode own);

  /// What this process does from now on outside of training steps, such as "saving a checkpoint": for reports.
  void phase(const std::string &what) const;

  /// A program that process 0 makes, and sends, whatever the checks of Verify.h say of it. Refuses a world that these processes cannot
  /// share evenly, unless each is to run all of it.
  enum class Ranks { Shared, AllInEach };
  Outcome<ProgramPointer> shareProgram(const std::function<Outcome<ProgramPointer>()> &make, Ranks ranks = Ranks::Shared);

  /// The ranks of all processes on this process's host; empty when alone: all.
  std::vector<int64_t> ranksOnHost(const program::Program &program) const;
  /// As many workers as are asked for, which the host must have processors for; 0: a fair share of them.
  Outcome<int> threads(int asked) const;
  /// All processes on this process's host, with so many workers each (0: the machine's).
  engine::Crew crew(int threads, const std::string &backend = "cpu") const;
  /// A session with the ranks of this process, which meets those of the others.
  engine::Result<std::unique_ptr<engine::Session>> createSession(ProgramPointer program, engine::SessionOptions options);
  /// Gathers these values from the ranks of all processes' sessions, in ascending order of rank.
  engine::Result<std::vector<engine::ArenaUse>> arenaUse(const engine::Session &session) const;
  /// Of all processes' clocks (`engine::SystemClock`) to that of process 0.
  engine::Result<std::vector<job::ClockOffset>> measureClocks() const;
  /// "process 2 on 'b'".
  std::string nameOf(size_t process) const {
    return process < introductions.size() ? job::nameOf(introductions, process) : "process " + std::to_string(process);
  }
  /// Lets process 0 decide something that depends on files or on the machine, and gives its text to all. The others do not call `make`.
  Outcome<std::string> decide(const std::function<Outcome<std::string>()> &make);
  program::FingerprintKind fingerprints() const { return options.fingerprints(); }
  /// Collects one value from each process, ordered by process.
  engine::Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own) const;

private:
  friend ExitCode inJob(const JobOptions &options, const std::function<ExitCode(Job &)> &body);
  Job();
  ExitCode find(const JobOptions &options);
  engine::Status open();
  ExitCode introduce();
  engine::Status openControl(bool json);
  void report(const engine::FailureReport &failure, bool json);
  /// By process, as --place or the plan says: of equal numbers, else why that cannot be.
  engine::Result<std::vector<std::vector<int64_t>>> ranksOf(const program::Program &program) const;
  /// Says what is kept, also where another process is the voice, after that one has had its time: it may be what is missing.
  void sayInPerson();
  /// Takes leave of the others where they are still there; ends the process where they are not.
  ExitCode end(ExitCode code);

  JobOptions options;
  engine::Launch launch;
  engine::JobKeyPointer key;                       ///< null: the processes have no secret, or MPI has started them
  std::string flight;                              ///< the folder of flight records
  std::shared_ptr<engine::ProcessGroup> group;     ///< null: alone, or not joined yet
  std::unique_ptr<engine::FlightRecord> record;    ///< may be null
  std::unique_ptr<engine::SessionWatches> watches; ///< one for each session
  std::unique_ptr<engine::HardExit> hardExit;      ///< for when the job has failed, and for a farewell that does not end
  std::atomic<bool> leaving = false;               ///< the farewell has begun
  std::unique_ptr<engine::ControlChannel> control;
  std::vector<job::Introduction> introductions; ///< by process
  double timeout = 300;
  bool settled = false;  ///< all have agreed that the command failed, and it was said why
  bool parted = false;   ///< the others were not met, or are gone: this process says itself why it ends
  std::mutex reporting;  ///< held while the control channel reports, and while the record comes
  bool reported = false; ///< this process has said who failed
};

/// Runs a command as part of the job that a launcher has started this process for.
ExitCode inJob(const JobOptions &options, const std::function<ExitCode(Job &)> &body);

} // namespace npar::driver
