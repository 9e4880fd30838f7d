// Connects the library with the job, the flags and the terminal.
#include "tools/npar/verify/VerifyInJob.h"

#include "engine/runtime/WorkerCount.h"
#include "engine/status/Thrown.h"
#include "tools/lib/verify/VerifyPlan.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/train/MemoryCheck.h"
#include "tools/npar/verify/PrintReport.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <iostream>
#include <thread>

namespace npar::driver {

namespace {

/// Status of an error that is already printed, or kept for the job to print.
engine::Status printedError(ExitCode code) {
  return code == ExitCode::Good ? engine::Status() : engine::Status(static_cast<engine::Code>(static_cast<int>(code)), "already printed");
}

ExitCode checkRoom(const std::vector<ProgramPointer> &programs, const engine::Crew &crew) {
  return checkMemory(programs, crew, /*saved=*/false, /*quiet=*/true, "shrink the model, or use fewer ranks");
}

/// The processes of a job, which print errors when they agree on them.
class JobProcesses final : public verify::Processes {
public:
  explicit JobProcesses(Job &job) : job(job) {}
  /// The code of an error that is printed; Good if none is.
  ExitCode printedCode() const { return printed; }

  bool isFirst() const override { return job.isVoice(); }
  engine::Status agree(const engine::Status &own) override {
    return failing(job.agree(own.ok() || printed != ExitCode::Good ? printed : fail(own)));
  }
  engine::Result<ProgramPointer> share(const std::function<engine::Result<ProgramPointer>()> &make, Ranks ranks) override {
    Outcome<ProgramPointer> program =
        job.shareProgram([&] { return reported(make()); }, ranks == Ranks::Shared ? Job::Ranks::Shared : Job::Ranks::AllInEach);
    return program.ok() ? engine::Result<ProgramPointer>(*program) : failing(program.code());
  }
  engine::Result<int> threads(int asked) override {
    Outcome<int> count = job.threads(asked);
    return count.ok() ? engine::Result<int>(*count) : failing(count.code());
  }
  engine::Status checkMemory(const std::vector<ProgramPointer> &programs, int threads) override {
    return failing(checkRoom(programs, job.crew(threads)));
  }
  engine::Result<std::unique_ptr<engine::Session>> createSession(const ProgramPointer &program,
                                                                 const engine::SessionOptions &options) override {
    return job.createSession(program, options);
  }
  engine::Result<std::vector<engine::ArenaUse>> arenaUse(const engine::Session &session) override { return job.arenaUse(session); }

private:
  engine::Status failing(ExitCode code) {
    printed = code;
    return printedError(code);
  }

  Job &job;
  ExitCode printed = ExitCode::Good;
};

/// This process alone, with the memory of this machine.
class AloneHere final : public verify::Processes {
public:
  engine::Status checkMemory(const std::vector<ProgramPointer> &programs, int threads) override {
    ExitCode code = checkRoom(programs, {"cpu", engine::workerCount(threads), 1});
    printed = code != ExitCode::Good;
    return printed ? engine::Status(engine::Code::BadInput, "this needs more memory than is available") : engine::Status();
  }
  bool printed = false;
};

verify::VerifyRequest requestOf(const VerifyFlags &flags) {
  verify::VerifyRequest request;
  request.model = flags.model;
  request.program = flags.program;
  request.seed = flags.seed;
  request.threads = flags.threads;
  request.anySize = flags.full;
  request.explainsRounding = flags.explains;
  request.session.timeoutSeconds = flags.timeout;
  flags.device.applyTo(request.session);
  return request;
}

/// Verifies one plan of many in the process that was made for it.
engine::Result<verify::VerifyReport> verifyAlone(const VerifyFlags &flags) {
  forgetStopSignals();
  Waiting::silence();
  AloneHere alone;
  auto verified = [&]() -> engine::Result<verify::VerifyReport> {
    try {
      return verify::verifyPlan(requestOf(flags), alone, terminal());
    } catch (...) {
      return engine::statusOfThrown();
    }
  };
  engine::Result<verify::VerifyReport> report = verified();
  if (!report.ok() && !alone.printed)
    (void)fail(report.status());
  return report;
}

} // namespace

ExitCode verifyCompiled(const VerifyFlags &flags) {
  if (ExitCode code = reported(flags.model.refuseTextFlags()); code != ExitCode::Good)
    return code;
  Outcome<ProgramPointer> program = reported(program::LoadedProgram::examineFile(flags.model.model));
  if (!program.ok())
    return program.code();
  if (!flags.json && (*program)->root().kind() == program::ProgramKind::Training)
    printRemark("mathematics not checked: give the model file too, as in: npar verify MODEL.npar --program " + flags.model.model);
  return print(verify::reportOf((*program)->root(), verify::checkStructure(**program)), flags.json);
}

ExitCode verifyText(const VerifyFlags &flags, Job &job) {
  JobProcesses processes(job);
  engine::Result<verify::VerifyReport> report = verify::verifyPlan(requestOf(flags), processes, terminal());
  if (!report.ok())
    return processes.printedCode() != ExitCode::Good ? processes.printedCode() : fail(report.status());
  if (!flags.json && report->rounding && report->rounding->warning)
    std::cerr << report->rounding->warning->located(report->texts);
  return job.agree(print(*report, flags.json));
}

verify::PlanCheckOptions planChecks(uint64_t seed, int threads, int jobs) {
  verify::PlanCheckOptions options;
  options.jobs = jobs > 0 ? jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.verify = [seed, threads](const ModelOptions &model) {
    VerifyFlags one;
    one.model = model;
    one.seed = seed;
    one.threads = threads > 0 ? threads : 2; // plans run at the same time; two workers show faults that one would hide
    one.timeout = 60;
    one.full = true;
    one.explains = false;
    return verifyAlone(one);
  };
  options.stop = [](size_t checked, size_t all) -> std::optional<engine::Status> {
    if (const char *signal = stopSignal())
      return engine::Status::runFailed(fmt::format("stopped by {} after {} of {} plans", signal, checked, all));
    if (!standardOutputArrived()) // the command reports that when it ends
      return engine::Status();
    return std::nullopt;
  };
  return options;
}

void letSignalsStopChecks() {
  stopWhenAsked("", /*quiet=*/true);
  std::signal(SIGPIPE, SIG_IGN);
}

} // namespace npar::driver
