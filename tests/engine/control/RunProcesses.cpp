// npar_run_processes PROGRAM.npx MPI [steps=N] [timeout=SECONDS] [flight=FOLDER] [KIND=RANK,AT[,SECONDS]]: trains a compiled program on
// random data as one of the processes that a launcher has started, with a fault in it: KIND is fail, delay, drop, skip, duplicate or
// resize, of the operation number AT of this rank. For chaos.py: each process says its number and pid first; process 0 the steps and the
// hash; the speaker of a job that fails its report.
#include "engine/comm/mpi/MpiModules.h"
#include "engine/comm/process/ProcessGroup.h"
#include "engine/control/ControlChannel.h"
#include "engine/control/SessionWatch.h"
#include "engine/data/DataSource.h"
#include "engine/program/Ranks.h"
#include "engine/runtime/SessionParts.h"
#include "tests/engine/comm/FaultyCommunicator.h"
#include "tools/npar/job/HardExit.h"
#include "tools/npar/job/LateAbort.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <thread>
#include <unistd.h>

using namespace npar;
using namespace npar::engine;

namespace {

/// Prints a line at once and whole, even if other processes print; nothing is left in a buffer when the process is killed.
void say(const std::string &line) {
  std::string text = line + "\n";
  [[maybe_unused]] ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
}

[[noreturn]] void end(const Status &status) {
  if (!status.ok())
    say("error " + status.message());
  ::_exit(static_cast<int>(status.code()));
}

std::vector<Fault> faultsOf(const std::map<std::string, std::string> &words) {
  const std::map<std::string, Fault::Kind> kinds = {{"fail", Fault::Fail}, {"delay", Fault::Delay},         {"drop", Fault::Drop},
                                                    {"skip", Fault::Skip}, {"duplicate", Fault::Duplicate}, {"resize", Fault::Resize}};
  std::vector<Fault> faults;
  for (const auto &[name, kind] : kinds)
    if (auto word = words.find(name); word != words.end()) {
      Fault fault;
      fault.kind = kind;
      long long rank = -1, at = -1;
      std::sscanf(word->second.c_str(), "%lld,%lld,%lf", &rank, &at, &fault.seconds);
      fault.rank = rank, fault.at = at;
      faults.push_back(fault);
    }
  return faults;
}

/// The group's communicator with faults before it.
std::shared_ptr<Communicator> faultyCommunicator(ProcessGroup &group, Backend &backend, FailureChannel &failures,
                                                 const std::vector<Fault> &faults) {
  struct Both {
    Both(std::shared_ptr<Communicator> inner, const std::vector<Fault> &faults) : inner(std::move(inner)), faulty(*this->inner, faults) {}
    std::shared_ptr<Communicator> inner;
    FaultyCommunicator faulty;
  };
  auto both = std::make_shared<Both>(group.communicator(backend, failures), faults);
  return {both, &both->faulty};
}

} // namespace

int main(int count, char **arguments) {
  if (count < 3)
    end(Status::badInput("usage: npar_run_processes PROGRAM.npx MPI [steps=N] [timeout=SECONDS] [flight=FOLDER] [KIND=RANK,AT[,SECONDS]]"));
  std::map<std::string, std::string> words = {{"steps", "20"}, {"timeout", "5"}};
  for (int i = 3; i < count; ++i) {
    std::string word = arguments[i];
    words[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  double timeout = std::atof(words["timeout"].c_str());
  const char *host = std::getenv("NPAR_HOST");

  Result<std::shared_ptr<const program::LoadedProgram>> program = program::LoadedProgram::fromFile(arguments[1]);
  if (!program.ok())
    end(program.status());
  ::setenv("UCX_TCP_PUT_ENABLE", "n", 0); // as npar does
  Result<OpenTransport> transport = mpiTransport(arguments[2]);
  if (!transport.ok())
    end(transport.status());
  Result<std::shared_ptr<ProcessGroup>> group = ProcessGroup::open(*transport);
  if (!group.ok())
    end(group.status());
  // MPICH's mpiexec sends this signal when a process is gone; it would end a process that does not ignore it.
  std::signal(SIGUSR1, SIG_IGN);
  uint32_t process = (*group)->process(), processes = (*group)->processes();
  say("process " + std::to_string(process) + " pid " + std::to_string(::getpid()));

  // A process that hangs in a library ends all the same; the speaker's report comes first.
  std::atomic<bool> said{false};
  auto speak = [&](const FailureReport &report) {
    if (report.speaker == process && !said.exchange(true))
      say("report " + report.toJson());
  };
  std::optional<FailureReport> last;
  static driver::HardExit hardExit([&] {
    if (last)
      speak(*last);
  });
  std::unique_ptr<FlightRecord> record;
  ControlOptions control;
  control.process = process, control.processes = processes, control.timeoutSeconds = timeout, control.host = host ? host : "";
  control.onVerdict = [&](const FailureReport &report) {
    last = report;
    hardExit.arm(0.8, static_cast<int>(report.code));
  };
  Result<std::unique_ptr<ControlChannel>> channel =
      ControlChannel::open(control, [&](const std::vector<uint8_t> &own) { return (*group)->gather(own, 60); });
  if (!channel.ok())
    end(channel.status());
  driver::abortLate(3);
  if (words.count("flight")) {
    FlightOptions flight;
    flight.folder = words["flight"], flight.process = process, flight.processes = processes,
    flight.host = (*channel)->peers()[process].name.host;
    Result<std::unique_ptr<FlightRecord>> made = FlightRecord::create(flight);
    if (!made.ok())
      end(made.status());
    record = std::move(*made);
  }
  SessionWatch watch(record.get());
  (*channel)->record(record.get());

  auto fail = [&](const Status &status) {
    std::optional<FailureReport> report = (*channel)->verdict(2);
    if (report)
      speak(*report);
    // mpiexec ends when processes do, and may then lose what the speaker says: the others let it go first.
    if (report && report->speaker != process)
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    (*channel)->endStopped();
    ::_exit(static_cast<int>(report ? report->code : status.code()));
  };
  SessionOptions options;
  options.threads = 1, options.timeoutSeconds = timeout, options.seed = (*program)->root().seed();
  int64_t world = program::worldOf((*program)->root());
  for (int64_t rank = process * world / processes; rank < (process + 1) * world / processes; ++rank)
    options.ranks.push_back(rank);
  SessionParts parts;
  parts.observer = &watch;
  parts.communicator = [&](Backend &backend) { return faultyCommunicator(**group, backend, **channel, faultsOf(words)); };
  Result<std::unique_ptr<Session>> session = createSession(*program, options, std::move(parts));
  if (!session.ok())
    fail(session.status());
  (*channel)->watch(&watch);
  auto data = DataSource::random(options.seed, BatchShape::of((*program)->root()));
  for (int64_t step = 0; step < std::atoll(words["steps"].c_str()); ++step) {
    Result<StepResult> result = (*session)->step(data->batch(step), step);
    if (!result.ok())
      fail(result.status());
    if (process == 0)
      say("step " + std::to_string(step));
  }
  std::string hash = (*session)->parameterHash();
  if (process == 0)
    say("hash " + hash);
  (*channel)->watch(nullptr);
  session->reset();
  // All is done; the library's farewell may hang all the same (MPICH over UCX's TCP does now and then).
  hardExit.arm(3, 0);
  if (Status status = (*group)->leave(); !status.ok())
    end(status);
  (*channel)->record(nullptr);
  channel->reset();
  if (record)
    record->discard();
  ::_exit(0); // as after a failure: no library says farewell twice
}
