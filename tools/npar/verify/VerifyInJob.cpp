// Connects the library with the job, the flags and the terminal.
#include "tools/npar/verify/VerifyInJob.h"

#include "engine/readable/TableRow.h"
#include "engine/runtime/MemoryRoom.h"
#include "engine/status/Thrown.h"
#include "tools/lib/verify/VerifyPlan.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <iostream>
#include <thread>

namespace npar::driver {

namespace {

/// This process alone, with the memory of this machine.
class AloneHere final : public job::Processes {
public:
  engine::Status checkMemory(const std::vector<ProgramPointer> &programs, int threads) const override {
    engine::MemoryRequest request;
    request.programs = programs, request.crew = crew(threads, "cpu");
    if (engine::Status status = engine::checkRoom(request, "shrink the model, or use fewer ranks").status(); !status.ok())
      return engine::Status::printed(static_cast<engine::Code>(static_cast<int>(fail(status))), "this needs more memory than is available");
    return {};
  }
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
  if (!report.ok())
    (void)fail(report.status());
  return report;
}

/// Prints the report as a table or as JSON. CheckFailed if a check failed.
ExitCode print(const verify::VerifyReport &report, bool asJson) {
  ExitCode code = report.good() ? ExitCode::Good : ExitCode::CheckFailed;
  if (asJson) {
    printJson(verify::jsonOf(report));
    return code;
  }
  std::cout << fmt::format("{} under plan {}: {} ranks, {} parameters\n", report.model, report.plan, report.ranks, report.parameters);
  for (const verify::Check &check : report.checks) {
    std::string error = check.maxRelativeError ? fmt::format("{:.1e}", *check.maxRelativeError) : "";
    std::cout
        << readable::TableRow(2).left(check.ok ? "ok" : "FAILED", 8).left(check.name, 26).right(error, 8).text("  " + check.detail).str();
  }
  if (report.choices)
    for (const std::string &line : report.choices->lines())
      std::cout << "  " << line << "\n";
  std::cout << (report.good() ? "all checks passed\n" : "some checks failed\n");
  return code;
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
  Outcome<verify::VerifyReport> report = reported(verify::verifyPlan(requestOf(flags), job, terminal()));
  if (!report.ok())
    return report.code();
  if (!flags.json && report->rounding && report->rounding->warning)
    std::cerr << report->rounding->warning->located(report->texts);
  return job.agree(print(*report, flags.json));
}

PlanCheckOptions planChecks(uint64_t seed, int threads, int jobs) {
  PlanCheckOptions options;
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
