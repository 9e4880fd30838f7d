// Joins a job, agrees with its processes and leaves it, using the engine's process group.
#include "tools/npar/job/Job.h"

#include "engine/backends/Backends.h"
#include "engine/comm/device/DeviceCommunicator.h"
#include "engine/comm/mpi/MpiModules.h"
#include "engine/comm/tcp/TcpTransport.h"
#include "engine/files/RandomName.h"
#include "engine/job/Agreement.h"
#include "engine/job/HostShare.h"
#include "engine/program/HostPlacement.h"
#include "engine/program/Precision.h"
#include "engine/runtime/MemoryRoom.h"
#include "engine/status/Thrown.h"
#include "tools/npar/job/Guard.h"
#include "tools/npar/job/LateAbort.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/model/MachineFlag.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <set>
#include <thread>
#include <unistd.h>
#include <utility>

namespace npar::driver {

using engine::Result;
using engine::Status;

namespace {

/// Time limit in seconds for waiting on work of unknown duration in another process, such as compiling. The control channel detects whether
/// that process is still alive.
constexpr double forAsLongAsItTakes = 30 * 86400.0;

/// Seconds for a process of a failed job to end in order and write its files. Fewer if another process was lost, because detecting the loss
/// took time already.
constexpr double secondsToEnd = 5, secondsToEndAfterLoss = 1.5;

/// Seconds by which an abort that a library requests is delayed, so that the other processes can find the cause and end.
constexpr double secondsToAbort = 3;

/// Time limit in seconds for the shutdown of a message-passing library, which has none of its own. All work is done by then.
constexpr double secondsToLeave = 5;

/// Seconds to wait for the verdict on why a job failed.
constexpr double secondsToJudge = 2;

/// Seconds after which a process without a connection to process 0 prints its errors itself.
constexpr double secondsForVoice = 1;

/// Extra seconds to join over TCP, where a process itself reports at the time limit which others are missing. After them it is killed.
constexpr double secondsToSayWhoIsMissing = 5;

Result<engine::OpenTransport> openerOf(const engine::Launch &launch, const engine::JobKeyPointer &key, double timeout) {
  if (launch.mpi != "tcp")
    return engine::mpiTransport(launch.mpi);
  std::string name = fmt::format("{} {} {}", launch.run, launch.port, launch.processes);
  return engine::tcpTransport(
      {launch.process, launch.processes, launch.address, launch.addressFrom, launch.port, name, timeout, key, printRemark});
}

/// MPICH's MPI_Finalize over UCX completes this process's own messages and then waits for all others without answering them any more
/// (4.0.2, MPIDI_UCX_mpi_finalize_hook). UCX's TCP carries large messages as emulated writes, which count as complete only when the other
/// side has answered once more (1.13, uct_tcp_ep_flush). The process that comes second waits forever. Active messages need no answer, and
/// within a host they use shared memory instead of the loopback device. A value that the user has set stays. RDMA hardware is not affected,
/// because it is another transport.
void sendLargeMessagesPlainly() { ::setenv("UCX_TCP_PUT_ENABLE", "n", 0); }

/// Refuses flags that only matter between the processes of a job. `why`: why there is one process.
ExitCode refuseFlagsOfJobs(const JobOptions &options, const std::string &why) {
  auto refuse = [&](const std::string &flag, const char *meaning) {
    return fail(ExitCode::Usage, fmt::format("{} has no effect {}: it sets {}", flag, why, meaning));
  };
  if (!options.mpi.empty())
    return refuse("--mpi " + options.mpi, "the MPI library that joins processes");
  if (options.nccl != "auto")
    return refuse("--nccl " + options.nccl, "how GPUs of several processes send each other messages");
  if (options.place)
    return refuse("--place " + *options.place, "the placement of ranks on hosts");
  if (!options.flight.empty())
    return refuse("--flight " + options.flight, "the folder of the processes' flight records");
  if (options.check != "sampled")
    return refuse("--check " + options.check, "how several processes compare what they read");
  return ExitCode::Good;
}

} // namespace

void JobOptions::addTo(CLI::App &app) {
  app.add_flag("--alone", alone, "use this process only, even if a launcher started several");
  app.add_option("--mpi", mpi, "MPI library that joins the processes: mpich or openmpi (default: the launcher's)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"mpich", "openmpi"}));
  app.add_option("--nccl", nccl,
                 "use of NCCL for messages between GPUs of several processes: auto (if each process has its own GPU and NCCL is "
                 "installed), always (an error if impossible), never (messages go through CPU memory)")
      ->type_name("WHEN")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "always", "never"}));
  addPlaceTo(app, place);
  app.add_option("--flight", flight,
                 "folder for flight records, one file per process, for npar autopsy (default: a temporary folder); a "
                 "job that ends normally removes them")
      ->type_name("DIR")
      ->check(notEmpty());
  app.add_option("--check", check,
                 "how the processes of a job check before the first step that they read the same data and weights: sampled (length, "
                 "beginning, end, and 64 blocks chosen by the seed) or full (every byte)")
      ->type_name("HOW")
      ->capture_default_str()
      ->check(CLI::IsMember({"sampled", "full"}));
}

Job::Job() = default;
Job::~Job() = default;

ExitCode Job::find(const JobOptions &asked) {
  options = asked;
  if (options.place)
    if (Result<program::PlaceWords> words = program::readPlace(*options.place); !words.ok())
      return fail(ExitCode::Usage, words.status().message());
  if (options.alone && !options.mpi.empty())
    return fail(ExitCode::Usage, "--alone and --mpi cannot be used together");
  if (options.alone)
    return refuseFlagsOfJobs(options, "with --alone");
  Result<engine::Launch> found = engine::findLaunch([](const char *name) { return std::getenv(name); });
  if (!found.ok())
    return fail(found.status());
  launch = *found;
  if (!launch.incomplete.empty())
    return fail(ExitCode::BadInput, launch.incomplete);
  if (launch.launcher.empty()) // a launcher may use the command line of a job for one process too
    return refuseFlagsOfJobs(options, "with one process; no launcher started more");
  if (!options.mpi.empty())
    launch.mpi = options.mpi;
  if (isAlone())
    return ExitCode::Good;
  keepErrors(isVoice());
  if (!isVoice())
    Waiting::silence();
  return ExitCode::Good;
}

Status Job::open() {
  std::signal(SIGUSR1, SIG_IGN);
  if (launch.mpi == "tcp") {
    Result<engine::JobKeyPointer> found = engine::findJobKey([](const char *name) { return std::getenv(name); });
    if (!found.ok())
      return found.status();
    key = *found;
  }
  if (launch.mpi != "tcp")
    sendLargeMessagesPlainly(); // before MPI starts
  Result<engine::OpenTransport> transport = openerOf(launch, key, timeout);
  if (!transport.ok())
    return Status(transport.status().code(),
                  fmt::format("{} has started {} processes: {}", launch.launcher, launch.processes, transport.status().message()));
  Result<std::shared_ptr<engine::ProcessGroup>> opened = [&] { // waits for all processes without a limit of its own
    HardExit limit([this] {
      takeOver();
      sayError(fmt::format("{} has started {} processes, but not all of them joined within {:g} s (--timeout){}", launch.launcher,
                           launch.processes, timeout, isVoice() ? "" : fmt::format(": process {} waited for them", process())));
    });
    const double grace = (launch.mpi == "tcp" ? secondsToSayWhoIsMissing : 0) + (isVoice() ? 0 : secondsForVoice);
    limit.arm(timeout + grace, static_cast<int>(ExitCode::Timeout));
    return engine::ProcessGroup::open(*transport);
  }();
  // With this signal MPICH's launcher tells survivors that a process is gone. The library has installed a handler that npar does not need.
  std::signal(SIGUSR1, SIG_IGN);
  if (!opened.ok())
    return launch.mpi == "tcp" ? Status(opened.status().code(), fmt::format("{} has started {} processes: {}", launch.launcher,
                                                                            launch.processes, opened.status().message()))
                               : opened.status();
  group = *opened;
  if (group->processes() == launch.processes && group->process() == launch.process)
    return {};
  std::string seen = group->processes() == 1 ? "found no other process" : fmt::format("found {} of them", group->processes());
  return Status::badInput(fmt::format("{} has started {} processes, and {} in this one {}: it is the mpiexec of another MPI; start with "
                                      "that of {}, as npar launch does, or choose with --mpi",
                                      launch.launcher, launch.processes, group->transportName(), seen, group->transportName()));
}

ExitCode Job::join(double timeoutSeconds, bool json) {
  timeout = timeoutSeconds;
  if (isAlone())
    return ExitCode::Good;
  if (Status status = open(); !status.ok()) {
    group.reset();
    parted = true;
    return fail(status);
  }
  if (ExitCode code = introduce(); code != ExitCode::Good)
    return code;
  Status status = openControl(json);
  return status.ok() ? ExitCode::Good : fail(status);
}

Status Job::openControl(bool json) {
  hardExit = std::make_unique<HardExit>([this] {
    if (leaving)
      printRemark(fmt::format("process {}: {} did not confirm its end within {:g} s; nothing is lost", process(), group->transportName(),
                              secondsToLeave));
  });
  engine::ControlOptions wanted;
  wanted.process = process(), wanted.processes = processes(), wanted.timeoutSeconds = timeout;
  wanted.host = introductions[process()].host, wanted.address = group->address(), wanted.key = key;
  wanted.onVerdict = [this, json](const engine::FailureReport &failure) { report(failure, json); };
  Result<std::unique_ptr<engine::ControlChannel>> opened =
      engine::ControlChannel::open(wanted, [this](const std::vector<uint8_t> &own) { return group->gather(own, timeout); });
  if (!opened.ok())
    return opened.status();
  control = std::move(*opened);
  abortLate(secondsToAbort);
  flight = options.flight;
  if (flight.empty()) { // process 0 invents a name and sends it
    std::string token = isVoice() ? files::randomName() : "";
    Result<std::vector<std::vector<uint8_t>>> tokens = gather({token.begin(), token.end()});
    if (!tokens.ok())
      return tokens.status();
    flight = engine::flightFolderOf({tokens->front().begin(), tokens->front().end()});
  }
  Result<std::unique_ptr<engine::FlightRecord>> created =
      engine::FlightRecord::create({flight, process(), processes(), wanted.host, options.flight.empty()});
  if (std::lock_guard<std::mutex> lock(reporting); created.ok())
    record = std::move(*created);
  if (!created.ok()) // for instance a full disk, which must not fail the run
    printRemark("no flight record is written: " + created.status().message());
  control->record(record.get());
  watches = std::make_unique<engine::SessionWatches>(record.get());
  tellGuard(timeout);
  return {};
}

/// Runs on the control channel's thread, whatever the other threads of this process are waiting for.
void Job::report(const engine::FailureReport &failure, bool json) {
  std::lock_guard<std::mutex> lock(reporting);
  hardExit->arm(failure.lost.empty() ? secondsToEnd : secondsToEndAfterLoss, static_cast<int>(failure.code));
  if (record)
    record->verdict(failure);
  if (failure.speaker == process() && !std::exchange(reported, true)) { // the judge and its successor can reach the same verdict
    takeOver();
    sayError(failure.text() + (record ? fmt::format("\nnpar: help: npar autopsy {} shows what the ranks did last", flight) : ""));
    if (json) {
      printJson(OrderedJson::parse(failure.toJson()), json::Form::OneLine);
      std::cout.flush();
    }
  }
}

void Job::phase(const std::string &what) const {
  if (control)
    control->phase(what);
}

ExitCode Job::introduce() {
  Result<program::ProductOrder> order = engine::productOrder("cpu", program::ProductOrder::Fastest);
  Result<job::Introduction> own = order.ok() ? job::introduceSelf(*order) : order.status();
  Result<std::vector<std::vector<uint8_t>>> all = gather(own.ok() ? job::pack(*own) : std::vector<uint8_t>());
  if (!all.ok())
    return fail(all.status());
  if (!own.ok())
    return fail(own.status());
  Result<std::vector<job::Introduction>> read = job::readIntroductions(*all);
  if (!read.ok())
    return fail(read.status());
  introductions = std::move(*read);
  Status alike = job::checkAlike(introductions);
  return alike.ok() ? ExitCode::Good : fail(alike);
}

Result<std::vector<std::vector<uint8_t>>> Job::gather(const std::vector<uint8_t> &own) const {
  return group ? group->gather(own, timeout) : std::vector<std::vector<uint8_t>>{own};
}

ExitCode Job::refuseOthers(const std::string &command) const {
  return isAlone() ? refuseFlagsOfJobs(options, "on " + command + ", which runs in one process")
                   : fail(ExitCode::Usage,
                          fmt::format("{} runs in one process, but {} has started {}: start it without the launcher, or give --alone "
                                      "to run it in each of them",
                                      command, launch.launcher, launch.processes));
}

ExitCode Job::agree(ExitCode own) {
  if (!group)
    return own;
  std::vector<std::string> errors = takeErrors();
  Result<std::vector<std::vector<uint8_t>>> all =
      group->gather(pack(job::Verdict{static_cast<engine::Code>(static_cast<int>(own)), errors}), forAsLongAsItTakes);
  if (!all.ok()) {
    for (const std::string &text : errors) // no other process has them
      printError(text);
    return own == ExitCode::Good ? fail(all.status()) : own;
  }
  job::Verdict agreed = job::agreeOnPacked(*all, job::namesOf(introductions, all->size()));
  for (const std::string &text : agreed.errors)
    sayError(text);
  settled = agreed.code != engine::Code::Ok;
  return static_cast<ExitCode>(static_cast<int>(agreed.code));
}

Status Job::agree(const Status &own) { return statusOf(agree(driver::reported(own))); }

Result<ProgramPointer> Job::share(const std::function<Result<ProgramPointer>()> &make, Ranks ranks) {
  if (isAlone()) {
    Result<ProgramPointer> made = make();
    if (made.ok() && options.place && ranks == Ranks::Shared) // no effect with one process, but its axes must exist
      if (auto order = program::placeOrder((*made)->root(), *program::readPlace(*options.place)); !order.ok())
        return order.status();
    return made;
  }
  Result<ProgramPointer> made = isVoice() ? make() : Status();
  std::vector<uint8_t> bytes;
  if (made.ok()) {
    if (auto placed = ranksOf((*made)->root()); ranks == Ranks::Shared && !placed.ok())
      made = placed.status();
    else
      bytes = (*made)->data();
  }
  TRY(std::vector<uint8_t> sent, group->broadcast(std::move(bytes), forAsLongAsItTakes));
  if (sent.empty()) // process 0 has no program, and reports why
    return agree(made.status());
  if (!isVoice())
    made = program::LoadedProgram::examineBytes(std::move(sent), "the program of process 0");
  TRY_STATUS(agree(made.status()));
  return made;
}

Result<std::string> Job::decide(const std::function<Result<std::string>()> &make) {
  if (isAlone())
    return make();
  Result<std::string> made = isVoice() ? make() : std::string();
  std::vector<uint8_t> bytes = made.ok() ? std::vector<uint8_t>(made->begin(), made->end()) : std::vector<uint8_t>();
  TRY(std::vector<uint8_t> sent, group->broadcast(std::move(bytes), forAsLongAsItTakes));
  TRY_STATUS(agree(made.status()));
  return std::string(sent.begin(), sent.end());
}

Result<std::vector<std::vector<int64_t>>> Job::ranksOf(const program::Program &program) const {
  return job::ranksOfProcesses(introductions, program, options.place);
}

std::vector<int64_t> Job::ranksOnHost(const program::Program &program) const {
  return isAlone() ? std::vector<int64_t>() : job::ranksOnHostOf(introductions, process(), program, options.place);
}

engine::Crew Job::crew(int threads, const std::string &backend) const {
  return isAlone() ? Processes::crew(threads, backend) : job::crewOf(introductions, process(), threads, backend);
}

DeviceSharers Job::deviceSharers() const {
  if (isAlone())
    return {};
  std::set<std::string> hosts;
  for (const job::Introduction &each : introductions)
    hosts.insert(each.host);
  return {crew(1, "cpu").processes, static_cast<int64_t>(hosts.size()), false};
}

Result<int> Job::threads(int asked) const { return isAlone() ? asked : job::workersOf(introductions, process(), asked); }

Status Job::checkMemory(const std::vector<ProgramPointer> &programs, int threads) const {
  engine::MemoryRequest request;
  request.programs = programs, request.crew = crew(threads, "cpu");
  return engine::checkRoom(request, "shrink the model, or use fewer ranks").status();
}

program::ProductOrder Job::fastestOrder() const { return isAlone() ? program::ProductOrder::Fastest : job::agreedOrder(introductions); }

/// Reports, once, if processes that differ multiply in another order than some of them would alone.
void Job::remarkOnOrder(const program::Program &program, const engine::SessionOptions &asked) {
  using program::ProductOrder;
  bool open = asked.productOrder == ProductOrder::Fastest && program.products() == ProductOrder::Fastest && asked.backend == "cpu";
  if (!isVoice() || !open || !program::multipliesBf16(program) || std::exchange(toldOrder, true))
    return;
  for (size_t i = 1; i < introductions.size(); ++i)
    if (introductions[i].products != introductions[0].products)
      return printRemark(fmt::format("{} multiplies bf16 fastest in the {} order, {} in the {} order: all take the portable order",
                                     nameOf(i), introductions[i].products, nameOf(0), introductions[0].products));
}

Result<std::unique_ptr<engine::Session>> Job::createSession(const ProgramPointer &program, const engine::SessionOptions &asked) {
  if (isAlone())
    return engine::Session::create(program, asked);
  remarkOnOrder(program->root(), asked);
  engine::SessionOptions sessionOptions = asked;
  sessionOptions.fastestOrder = fastestOrder();
  Result<std::vector<std::vector<int64_t>>> placed = ranksOf(program->root());
  if (!placed.ok())
    return placed.status();
  sessionOptions.ranks = (*placed)[process()];
  for (uint32_t other = 0; other < process(); ++other)
    sessionOptions.process += introductions[other].host == introductions[process()].host;
  sessionOptions.processes = crew(1, "cpu").processes;
  engine::SessionParts parts;
  parts.communicator = [this](engine::Backend &backend) -> std::shared_ptr<engine::Communicator> {
    std::shared_ptr<engine::Communicator> byProcessors = group->communicator(backend, *control);
    if (options.nccl == "never" || (options.nccl == "auto" && !backend.network()))
      return byProcessors;
    engine::DeviceLinkOptions link;
    link.timeoutSeconds = timeout, link.required = options.nccl == "always";
    link.remark = [this](const std::string &why) {
      if (isVoice())
        printRemark(why + "; messages between GPUs go through CPU memory");
    };
    return std::make_shared<engine::DeviceCommunicator>(std::move(byProcessors), backend, std::move(link));
  };
  parts.observer = &watches->next();
  control->watch(watches.get());
  Result<std::unique_ptr<engine::Session>> session = engine::createSession(program, sessionOptions, std::move(parts));
  control->watch(watches.get()); // its ranks are known only now
  return session;
}

ExitCode Job::end(ExitCode code) {
  if (!group) {
    if (parted)
      sayInPerson();
    sayErrors();
    return code;
  }
  std::optional<engine::FailureReport> failure =
      control ? control->verdict(settled || code == ExitCode::Good ? 0 : secondsToJudge) : std::nullopt;
  if (!failure && !settled)
    code = agree(code);
  if (!failure && hardExit) {
    std::cout.flush();
    leaving = true;
    hardExit->arm(secondsToLeave, static_cast<int>(code));
  }
  if (!failure && group->leave().ok()) {
    if (control)
      control->record(nullptr);
    control.reset();
    if (record)
      record->discard();
    hardExit.reset(); // the channel, which could arm it, is gone
    return code;
  }
  // The library's shutdown would wait for processes that are gone.
  std::cout.flush();
  if (!failure)
    sayInPerson();
  else if (failure->speaker == process())
    control->endStopped(); // no other process would kill the stopped ones
  else
    std::this_thread::sleep_for(std::chrono::milliseconds(500)); // a launcher may kill the speaker as soon as one process ends
  ::_exit(failure ? static_cast<int>(failure->code) : static_cast<int>(code));
}

void Job::sayInPerson() {
  std::vector<std::string> errors = takeErrors();
  if (errors.empty())
    return;
  if (!isVoice()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(secondsForVoice));
    takeOver();
  }
  for (const std::string &text : errors)
    sayError(isVoice() ? text : text + fmt::format("\nnpar: reported by process {}", process()));
}

/// The exit code of the body. Converts exceptions to errors, and tells the other processes why this one cannot continue.
static ExitCode outcomeOf(const std::function<ExitCode(Job &)> &body, Job &job, const std::function<void(const Status &)> &tell) {
  auto fails = [&](const Status &status) {
    tell(status);
    return fail(status);
  };
  try {
    return body(job);
  } catch (...) {
    return fails(engine::statusOfThrown());
  }
}

ExitCode inJob(const JobOptions &options, const std::function<ExitCode(Job &)> &body) {
  Job job;
  if (ExitCode code = job.find(options); code != ExitCode::Good)
    return code;
  return job.end(outcomeOf(body, job, [&job](const Status &status) {
    if (job.control)
      job.control->tell(status);
  }));
}

} // namespace npar::driver
